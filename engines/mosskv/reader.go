package mosskv

import (
	"github.com/couchbase/moss"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads a snapshot.
type reader struct{ moss.Snapshot }

var _ driver.Reader = (*reader)(nil)

func (r *reader) Get(dst, key []byte) ([]byte, error) {
	v, err := r.Snapshot.Get(key, moss.ReadOptions{NoCopyValue: true})
	if err != nil {
		return dst, classify(err)
	}
	if v == nil {
		return dst, driver.NotFound
	}
	return append(dst, v...), nil
}

func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	it, err := r.StartIterator(rg.Start, rg.End, moss.IteratorOptions{})
	if err != nil {
		return nil, classify(err)
	}
	c := &cursor{it: it}
	if rg.Reverse {
		return reverse(c)
	}
	return c, nil
}
