package record

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/assaydb/assay/kv"
)

// Writer is a transaction of a collection. It sees its own writes, lives as long as the function it
// was given to and is used by one goroutine at a time.
type Writer[T any] struct {
	Reader[T]
	tx      *kv.Tx
	fail    func(error) // has the transaction end with an error after which a change may be half done
	encoder encoder[T]
	old     T          // what is stored of the record that is being changed
	damaged bool       // old could not be decoded
	entries [][][]byte // of the record before and after, for each index
	changes []indexChange
}

func (c *Collection[T]) writer(tx *kv.Tx, fail func(error)) (*Writer[T], error) {
	if err := c.changed(tx.Snapshot); err != nil {
		return nil, err
	}
	w := &Writer[T]{tx: tx, fail: fail, encoder: encoder[T]{c: c}}
	w.Reader = *c.reader(tx.Snapshot)
	return w, nil
}

// encoder makes the pairs of records, in memory that is used again.
type encoder[T any] struct {
	c            *Collection[T]
	id, key, buf []byte
}

// put writes v where nothing of what is stored is needed.
func (e *encoder[T]) put(to putter, v *T) error {
	m := memory{rec: unsafe.Pointer(v)}
	if err := e.c.plan.checkID(m); err != nil {
		return err
	}
	e.id = e.c.plan.appendID(e.id[:0], m)
	return e.write(to, e.id, m)
}

func (e *encoder[T]) write(to putter, id []byte, m memory) (err error) {
	p := e.c.plan
	if e.buf, err = p.codec.encode(e.buf[:0], m); err != nil {
		return err
	}
	e.key = join(e.key, rowPrefix, id)
	if err := to.Put(e.key, e.buf); err != nil {
		return err
	}
	for i := range p.hot {
		if err := e.writeHot(to, &p.hot[i], id, p.hot[i].at(m)); err != nil {
			return err
		}
	}
	return nil
}

// writeHot writes the pair of a hot field, or removes it if it is none now.
func (e *encoder[T]) writeHot(to putter, h *hotField, id []byte, p unsafe.Pointer) (err error) {
	e.key = join(e.key, h.prefix, id)
	if !h.written {
		return to.Delete(e.key)
	}
	if e.buf, err = e.c.plan.codec.part(e.buf[:0], &h.slot, p); err != nil {
		return err
	}
	return to.Put(e.key, e.buf)
}

// ended returns err, after which the transaction must not be committed, unless it is an answer by
// which nothing changed.
func (w *Writer[T]) ended(err error) error {
	if err != nil && kv.KindOf(err) != kv.Conflict && !isNotFound(err) {
		w.fail(err)
	}
	return err
}

// Put stores v under its id, whether or not there was a record before. A unique index in which
// another record has the same values is a Conflict, and nothing is changed. An id that is 0 or ""
// is Invalid, unless [Options.ZeroID] is set.
func (w *Writer[T]) Put(v *T) error { return w.ended(w.put(v, always)) }

// Insert stores v if there is no record with its id; one that there is is a Conflict, and a
// [Duplicate]. An id that is 0 is set to a number above the largest that there is and every one
// that Insert ever chose, at least 1, unless [Options.ZeroID] is set. The number is as durable as
// the transaction: one that is rolled back, or lost, may be chosen again.
func (w *Writer[T]) Insert(v *T) error {
	m := memory{rec: unsafe.Pointer(v)}
	if !w.c.plan.forgotten(m) || w.c.plan.idKind() == textID {
		return w.ended(w.put(v, ifAbsent))
	}
	err := w.assign(m)
	if err == nil {
		err = w.put(v, ifAbsent)
	}
	if err == nil {
		err = w.tx.Put(sequenceKey, kv.AppendUint64(nil, w.c.plan.idOf(m).n))
	}
	if err != nil {
		w.c.plan.forget(m)
	}
	return w.ended(err)
}

// Replace stores v in the place of the record with its id. That there is none is NotFound.
func (w *Writer[T]) Replace(v *T) error { return w.ended(w.put(v, ifPresent)) }

// condition says when a record is stored.
type condition uint8

const (
	always condition = iota
	ifAbsent
	ifPresent
)

// assign sets the id in m to the next number.
func (w *Writer[T]) assign(m memory) error {
	last := ID{kind: w.c.plan.idKind()}
	for k := range w.s.Keys(under(rowPrefix, kv.Range{Reverse: true})) {
		last, _, _ = last.kind.cutID(k[len(rowPrefix):])
		break
	}
	chosen, err := w.s.Get(sequenceKey)
	if err != nil && !isNotFound(err) {
		return err
	}
	n, _ := kv.LastUint64(chosen)
	full, k := n == math.MaxUint64 || last.n == math.MaxUint64, w.c.plan.id.kind
	at := unsafe.Add(m.rec, w.c.plan.id.offset)
	if k.signed() {
		next := max(last.Int64(), int64(n), 0)
		full = next == math.MaxInt64
		err = storeInt(k, at, next+1)
	} else {
		err = storeUint(k, at, max(last.n, n)+1)
	}
	if full || err != nil {
		return &kv.Error{Op: "insert", Kind: kv.TooLarge, Err: fmt.Errorf("no id follows %v and %d", last, n),
			Hint: "choose ids"}
	}
	return nil
}

// put stores v if there is a record, or none, as the condition wants it.
func (w *Writer[T]) put(v *T, when condition) error {
	m := memory{rec: unsafe.Pointer(v)}
	if err := w.c.plan.checkID(m); err != nil {
		return err
	}
	carries := w.c.plan.carries()
	if !carries && when == always {
		return w.encoder.put(w.tx, v)
	}
	m.extra = w.c.plan.newExtra()
	w.key = w.c.plan.appendID(w.key[:0], m)
	found, err := w.stored(w.key, m.extra)
	switch {
	case err != nil:
		return err
	case found && when == ifAbsent:
		return duplicate("insert", fmt.Sprintf("there is a record %v", w.c.plan.idOf(m)),
			Duplicate{Owner: w.c.plan.idOf(m)},
			"choose another id, or use Put")
	case !found && when == ifPresent:
		return &kv.Error{Op: "replace", Kind: kv.NotFound, Err: fmt.Errorf("record %v", w.c.plan.idOf(m)),
			Hint: "use Insert or Put"}
	case !carries:
		return w.encoder.put(w.tx, v)
	}
	if w.damaged {
		m.extra = w.c.plan.newExtra()
	}
	return w.replace(w.key, found, m)
}

// stored reads what is stored under an id's key to w.old and, unless it is nil, extra. A record
// that cannot be decoded is found and damaged: it can be replaced and deleted.
func (w *Writer[T]) stored(id []byte, extra unsafe.Pointer) (found bool, err error) {
	w.damaged = false
	if err := w.load(id); err != nil {
		if isNotFound(err) {
			err = nil
		}
		return false, err
	}
	w.damaged = w.decode(&w.old, extra) != nil
	return true, nil
}

// replace writes m in the place of w.old, if that was found.
func (w *Writer[T]) replace(id []byte, found bool, m memory) error {
	var old unsafe.Pointer
	if found {
		old = unsafe.Pointer(&w.old)
	}
	if err := w.planIndexes(id, old, m.rec); err != nil {
		return err
	}
	if err := w.encoder.write(w.tx, id, m); err != nil {
		return err
	}
	return w.writeIndexes(id)
}

// Delete removes the record with an id. That it is absent is no error.
func (w *Writer[T]) Delete(id ID) error {
	if err := w.c.plan.idKind().check("delete", id); err != nil {
		return w.ended(err)
	}
	w.key = id.AppendKey(w.key[:0])
	return w.ended(w.remove())
}

// remove deletes the record whose id's key is in w.key.
func (w *Writer[T]) remove() error {
	if len(w.c.plan.indexes) > 0 {
		found, err := w.stored(w.key, nil)
		if err != nil || !found {
			return err
		}
		if err := w.planIndexes(w.key, unsafe.Pointer(&w.old), nil); err != nil {
			return err
		}
		if err := w.writeIndexes(w.key); err != nil {
			return err
		}
	}
	for i := range w.c.plan.hot {
		w.full = join(w.full, w.c.plan.hot[i].prefix, w.key)
		if err := w.tx.Delete(w.full); err != nil {
			return err
		}
	}
	w.full = join(w.full, rowPrefix, w.key)
	return w.tx.Delete(w.full)
}
