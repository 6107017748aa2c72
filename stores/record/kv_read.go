package record

import (
	"bytes"

	"github.com/assaydb/assay/kv"
)

// kvReader reads a snapshot.
type kvReader struct {
	keys
	s *kv.Snapshot
}

func (r *kvReader) Pair(dst, key []byte) ([]byte, error) { return r.s.Append(dst, r.pair(key)) }

func (r *kvReader) Pairs(rg kv.Range, yield func(key, value []byte) bool) error {
	n := len(r.b.prefix)
	full := kv.Range{Start: append(append([]byte(nil), r.b.prefix...), rg.Start...), End: kv.PrefixEnd(r.b.prefix), Reverse: rg.Reverse}
	if rg.End != nil {
		full.End = append(append([]byte(nil), r.b.prefix...), rg.End...)
	}
	for k, v := range r.s.Scan(full) {
		if !yield(k[n:], v) {
			break
		}
	}
	return r.s.Err()
}

func (r *kvReader) Row(buf []byte, row [][]byte, id []byte) ([]byte, error) {
	if len(r.b.columns) == 0 {
		value, err := r.s.Append(buf[:0], r.row(id))
		row[0] = value
		return value[:0], err
	}
	var got rowBuilder
	got.reset(buf, len(row))
	full, n := r.b.rows(kv.Prefix(id))
	for k, v := range r.s.Scan(full) {
		got.add(r.b, k[n+len(id):], v)
	}
	if err := r.s.Err(); err != nil {
		return buf, err
	}
	if got.empty {
		return buf, kv.NotFound
	}
	return got.finish(row), nil
}

func (r *kvReader) Column(dst, id []byte, column int) ([]byte, error) {
	if len(r.b.columns) == 0 {
		return r.s.Append(dst, r.row(id))
	}
	return r.s.Append(dst, r.column(id, column))
}

func (r *kvReader) Rows(rg kv.Range, row [][]byte, yield func(id []byte) bool) error {
	full, n := r.b.rows(rg)
	if len(r.b.columns) == 0 {
		for k, v := range r.s.Scan(full) {
			row[0] = v
			if !yield(k[n:]) {
				break
			}
		}
		return r.s.Err()
	}
	var got rowBuilder
	var id []byte
	for k, v := range r.s.Scan(full) {
		k = k[n:]
		length := r.b.idLength(k)
		if length < 0 {
			return corrupt("key %q is not that of a record", k)
		}
		if id == nil || !bytes.Equal(id, k[:length]) {
			if id != nil {
				got.buf = got.finish(row)
				if !yield(id) {
					return r.s.Err()
				}
			}
			id = append(id[:0], k[:length]...)
			got.reset(got.buf, len(row))
		}
		got.add(r.b, k[length:], v)
	}
	if err := r.s.Err(); err != nil || id == nil {
		return err
	}
	got.finish(row)
	yield(id)
	return nil
}

// ColumnOf reads every pair of the range: a cursor that went to each row's column would cost more than the steps
// between.
func (r *kvReader) ColumnOf(rg kv.Range, column int, yield func(id, value []byte) bool) error {
	full, n := r.b.rows(rg)
	if len(r.b.columns) == 0 {
		for k, v := range r.s.Scan(full) {
			if !yield(k[n:], v) {
				break
			}
		}
		return r.s.Err()
	}
	var id, value []byte
	found, want := false, r.b.columns[column]
	for k, v := range r.s.Scan(full) {
		k = k[n:]
		length := r.b.idLength(k)
		if length < 0 {
			return corrupt("key %q is not that of a record", k)
		}
		if id == nil || !bytes.Equal(id, k[:length]) {
			if id != nil && !yield(id, present(value, found)) {
				return r.s.Err()
			}
			id, found = append(id[:0], k[:length]...), false
		}
		if bytes.Equal(k[length:], want) {
			value, found = append(value[:0], v...), true
		}
	}
	if err := r.s.Err(); err != nil || id == nil {
		return err
	}
	yield(id, present(value, found))
	return nil
}

// present returns value, not nil, if it was found.
func present(value []byte, found bool) []byte {
	switch {
	case !found:
		return nil
	case value == nil:
		return []byte{}
	}
	return value
}

// rowBuilder copies the columns of a row out of a scan.
type rowBuilder struct {
	buf   []byte
	ends  [][2]int // by column; {-1, -1} is absent
	empty bool
}

func (g *rowBuilder) reset(buf []byte, columns int) {
	if cap(buf) == 0 {
		buf = make([]byte, 0, 256)
	}
	g.buf, g.ends, g.empty = buf[:0], g.ends[:0], true
	for range columns {
		g.ends = append(g.ends, [2]int{-1, -1})
	}
}

// add copies a column. One that the header does not name is passed over.
func (g *rowBuilder) add(b *kvBackend, name, value []byte) {
	g.empty = false
	if i, ok := b.byName[string(name)]; ok {
		start := len(g.buf)
		g.buf = append(g.buf, value...)
		g.ends[i] = [2]int{start, len(g.buf)}
	}
}

// finish sets row and returns the memory behind it.
func (g *rowBuilder) finish(row [][]byte) []byte {
	for i, e := range g.ends {
		row[i] = nil
		if e[0] >= 0 {
			row[i] = g.buf[e[0]:e[1]:e[1]]
		}
	}
	return g.buf
}
