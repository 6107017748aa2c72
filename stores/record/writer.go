package record

import (
	"unsafe"
)

// Writer is a transaction of a collection. It sees its own writes, lives as long as the function it was given to and is
// used by one goroutine at a time.
type Writer[T any] struct {
	Reader[T]
	w       BackendWriter
	encoder encoder[T]
	old     T    // what is stored of the record that is being changed
	damaged bool // old could not be decoded
	changes []indexChange
}

func (c *Collection[T]) writer(b BackendWriter) (*Writer[T], error) {
	if c.traits.Shared {
		if err := c.changed(b); err != nil {
			return nil, err
		}
	}
	w := &Writer[T]{w: b, encoder: encoder[T]{c: c}}
	w.Reader = *c.reader(b)
	return w, nil
}

// encoder makes rows, in memory that is used again.
type encoder[T any] struct {
	c        *Collection[T]
	key, buf []byte
	row      [][]byte
}

// put writes v where nothing of what is stored is needed.
func (e *encoder[T]) put(b BackendPutter, v *T) error {
	m := memory{rec: unsafe.Pointer(v)}
	e.key = e.c.plan.appendID(e.key[:0], m)
	return e.write(b, e.key, m)
}

func (e *encoder[T]) write(b BackendPutter, id []byte, m memory) (err error) {
	if e.row == nil {
		e.row = make([][]byte, e.c.plan.width())
	}
	if e.buf, err = e.c.plan.encode(e.buf, e.row, m); err != nil {
		return err
	}
	return b.PutRow(id, e.row, e.c.plan.stale)
}

// Put stores v under its id, whether or not there was a record before. A unique index in which another record has the
// same values is a Conflict, and nothing is changed.
func (w *Writer[T]) Put(v *T) error {
	if !w.c.plan.carries() {
		return w.encoder.put(w.w, v)
	}
	m := memory{rec: unsafe.Pointer(v), extra: w.c.plan.newExtra()}
	w.key = w.c.plan.appendID(w.key[:0], m)
	found, err := w.stored(w.key, m.extra)
	if err != nil {
		return err
	}
	if w.damaged {
		m.extra = w.c.plan.newExtra()
	}
	return w.replace(w.key, found, m)
}

// stored reads what is stored under an id's key to w.old and, unless it is nil, extra. A record that cannot be decoded is
// found and damaged: it can be replaced and deleted.
func (w *Writer[T]) stored(id []byte, extra unsafe.Pointer) (found bool, err error) {
	w.damaged = false
	if w.buf, err = w.b.Row(w.buf, w.row, id); err != nil {
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
	if err := w.encoder.write(w.w, id, m); err != nil {
		return err
	}
	return w.writeIndexes(id)
}

// Delete removes the record with an id. That it is absent is no error.
func (w *Writer[T]) Delete(id ID) error {
	if err := w.c.plan.idKind().check("delete", id); err != nil {
		return err
	}
	w.key = id.AppendKey(w.key[:0])
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
	return w.w.DeleteRow(w.key)
}
