package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv" // the reference
	"github.com/assaydb/assay/observe/capture"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// state is what a store holds, as a digest.
type state struct {
	pairs  int
	digest capture.Digest // of lengths and values
	keys   capture.Digest
}

// player does units on one store.
type player struct {
	t     *Trace
	db    *kv.DB
	class func(kv.Durability) kv.Durability // at which a commit is made
	check func(u *unit, s *step, found finding) error
	batch kv.Batch
	buf   []byte
	want  []byte
}

// finding is what a step found.
type finding struct {
	value capture.Value
	walk  capture.Steps
	keys  capture.Digest
}

// load fills an empty store with what the recorded one held at the start.
func (p *player) load(ctx context.Context, d kv.Durability) error {
	p.batch.Reset()
	for i := range p.t.pairs {
		r := &p.t.pairs[i]
		p.batch.Put(r.Key, p.bytes(r.Value))
		if p.batch.Len() < 1000 && p.batch.Size() < 1<<20 && i < len(p.t.pairs)-1 {
			continue
		}
		if err := p.db.Write(ctx, d, &p.batch); err != nil {
			return err
		}
		p.batch.Reset()
	}
	return nil
}

// bytes returns a value; it holds until the next call.
func (p *player) bytes(v capture.Value) []byte {
	if v.Bytes != nil || p.t.kept {
		return v.Bytes
	}
	p.buf = capture.AppendValue(p.buf[:0], v.Token, v.Len)
	return p.buf
}

// token returns what stands for a value that was read. If it is none that is written here, the
// token is another one.
func (p *player) token(v []byte) uint64 {
	if p.t.kept {
		return uint64(crc32.Checksum(v, castagnoli))
	}
	var all [8]byte
	copy(all[:], v)
	token := binary.LittleEndian.Uint64(all[:])
	if len(v) > 8 {
		if p.want = capture.AppendValue(p.want[:0], token, len(v)); !bytes.Equal(p.want, v) {
			return ^token
		}
	}
	return token
}

// do does a unit.
func (p *player) do(ctx context.Context, u *unit) error {
	switch u.kind {
	case capture.Get:
		s := &u.steps[0]
		v, err := p.db.Append(ctx, p.buf[:0], s.key)
		if v != nil {
			p.buf = v
		}
		return p.found(u, s, v, err)
	case capture.Write:
		p.batch.Reset()
		for _, op := range u.steps[0].ops {
			if op.Delete {
				p.batch.Delete(op.Key)
			} else {
				p.batch.Put(op.Key, p.bytes(op.Value))
			}
		}
		return p.db.Write(ctx, p.class(u.class), &p.batch)
	case capture.Snapshot:
		return p.db.View(ctx, func(s *kv.Snapshot) error { return p.steps(u, s, nil) })
	case capture.Begin:
		return p.db.Update(ctx, p.class(u.class), func(tx *kv.Tx) error { return p.steps(u, tx.Snapshot, tx) })
	case capture.Compact:
		return p.db.Compact(ctx)
	}
	return fmt.Errorf("unit of kind %c", u.kind)
}

// steps does what a view or an update consists of.
func (p *player) steps(u *unit, s *kv.Snapshot, tx *kv.Tx) (err error) {
	open := map[uint64]*kv.Iterator{}
	defer func() {
		for _, it := range open {
			err = errors.Join(err, it.Close())
		}
	}()
	for i := range u.steps {
		st := &u.steps[i]
		switch st.kind {
		case capture.Read:
			v, gerr := s.Append(p.buf[:0], st.key)
			if v != nil {
				p.buf = v
			}
			err = p.found(u, st, v, gerr)
		case capture.Len:
			n, lerr := s.Len(st.key)
			err = p.measured(u, st, n, lerr)
		case capture.Walk:
			err = p.walk(u, st, s, open)
		case capture.Change:
			op := &st.ops[0]
			if op.Delete {
				err = tx.Delete(op.Key)
			} else {
				err = tx.Put(op.Key, p.bytes(op.Value))
			}
		case capture.Delete:
			err = tx.DeleteRange(kv.Range{Start: st.walk.Start, End: st.walk.End})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// found compares a value that was read, or that there was none.
func (p *player) found(u *unit, s *step, v []byte, err error) error {
	switch {
	case errors.Is(err, kv.NotFound):
		return p.check(u, s, finding{value: capture.Value{Absent: true}})
	case err != nil:
		return err
	}
	return p.check(u, s, finding{value: capture.Value{Len: len(v), Token: p.token(v)}})
}

func (p *player) measured(u *unit, s *step, n int, err error) error {
	switch {
	case errors.Is(err, kv.NotFound):
		return p.check(u, s, finding{value: capture.Value{Absent: true}})
	case err != nil:
		return err
	}
	return p.check(u, s, finding{value: capture.Value{Len: n}})
}

// walk does the steps of a cursor: as many as were done, or until it moved.
func (p *player) walk(u *unit, s *step, from *kv.Snapshot, open map[uint64]*kv.Iterator) error {
	w := s.walk
	it := open[w.Cursor]
	switch {
	case !w.Seeks:
		it = from.Iter(kv.Range{Start: w.Start, End: w.End, Reverse: w.Reverse, KeysOnly: w.Keys})
		open[w.Cursor] = it
	case it == nil:
		return fmt.Errorf("cursor %d moves and is not open", w.Cursor)
	default:
		it.Seek(s.key)
	}
	f := finding{walk: capture.Steps{}}
	for f.walk.Count < w.Count || w.Ended {
		if !it.Next() {
			f.walk.Ended = it.Err() == nil
			break
		}
		k := it.Key()
		if f.walk.Count++; f.walk.Count == 1 {
			f.walk.First = bytes.Clone(k)
		}
		if f.keys.Add(k, 0, uint64(crc32.Checksum(k, castagnoli))); w.Keys {
			f.walk.Digest.Add(k, 0, 0)
		} else {
			v := it.Value()
			f.walk.Digest.Add(k, len(v), p.token(v))
		}
		if f.walk.Count == w.Count {
			f.walk.Last = bytes.Clone(k)
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	if w.Closed {
		delete(open, w.Cursor)
		if err := it.Close(); err != nil {
			return err
		}
	}
	return p.check(u, s, f)
}

// now returns what the store holds.
func (p *player) now(ctx context.Context) (now state, err error) {
	err = p.db.View(ctx, func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Range{}) {
			now.pairs++
			now.digest.Add(k, len(v), p.token(v))
			now.keys.Add(k, 0, uint64(crc32.Checksum(k, castagnoli)))
		}
		return s.Err()
	})
	return now, err
}

// refer does everything once in memory, one after the other. What it finds must be what was
// recorded, and is what every engine must find.
func (t *Trace) refer() (err error) {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	p := player{t: t, db: db, class: func(kv.Durability) kv.Durability { return kv.Buffered }}
	at := 0
	p.check = func(u *unit, s *step, f finding) error {
		if u.exact && !s.same(f) {
			return fmt.Errorf("transaction %d: what the program read at key %q is not what it had written", at+1, s.at())
		}
		if s.keys = f.keys; s.walk != nil {
			s.walk.Count, s.walk.Ended, s.walk.Digest = f.walk.Count, f.walk.Ended, f.walk.Digest
			s.walk.First, s.walk.Last = nil, nil // s.keys is of all of them
			return nil
		}
		s.value = f.value
		return nil
	}
	if err := p.load(ctx, kv.Buffered); err != nil {
		return err
	}
	for i, u := range t.units {
		at = i
		if err := p.do(ctx, u); err != nil {
			return err
		}
	}
	t.final, err = p.now(ctx)
	return err
}

// at returns the key that a step begins at.
func (s *step) at() []byte {
	if s.walk != nil && !s.walk.Seeks {
		return s.walk.Start
	}
	return s.key
}

// same reports whether a step found what it should, but for a walk's keys.
func (s *step) same(f finding) bool {
	if w := s.walk; w != nil {
		return w.Count == f.walk.Count && w.Ended == f.walk.Ended && w.Digest == f.walk.Digest &&
			(w.First == nil || bytes.Equal(w.First, f.walk.First)) &&
			(w.Last == nil || bytes.Equal(w.Last, f.walk.Last))
	}
	return s.value.Absent == f.value.Absent && s.value.Len == f.value.Len && s.value.Token == f.value.Token
}

// expect is the check of an engine: what the reference found.
func expect(u *unit, s *step, f finding) error {
	if s.same(f) && s.keys == f.keys {
		return nil
	}
	return &kv.Error{Op: "replay", Kind: kv.Corrupt, Err: fmt.Errorf("at key %q the engine answers %s, recorded was %s",
		s.at(), f.text(s), finding{value: s.value, walk: orNone(s.walk)}.text(s))}
}

func orNone(w *capture.Steps) capture.Steps {
	if w == nil {
		return capture.Steps{}
	}
	return *w
}

// text is a finding in words.
func (f finding) text(s *step) string {
	switch {
	case s.walk != nil:
		return fmt.Sprintf("%d pairs (digest %x)", f.walk.Count, uint64(f.walk.Digest))
	case f.value.Absent:
		return "no value"
	}
	return fmt.Sprintf("%d bytes (digest %x)", f.value.Len, f.value.Token)
}
