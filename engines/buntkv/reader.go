package buntkv

import (
	"unsafe"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// The argument of BuntDB's Begin.
const (
	readOnly  = false
	readWrite = true
)

// reader reads in one BuntDB transaction. Closed readers are used again by later snapshots.
type reader struct {
	tx   *buntdb.Tx
	free []*cursor
}

var _ driver.Reader = (*reader)(nil)

func (r *reader) Get(dst, key []byte) ([]byte, error) {
	v, err := r.tx.Get(borrowed(key))
	if err != nil {
		if err == buntdb.ErrNotFound {
			return dst, driver.NotFound
		}
		return dst, classify(err)
	}
	return append(dst, v...), nil
}

func (r *reader) Cursor(rng driver.Range) (driver.Cursor, error) {
	var c *cursor
	if n := len(r.free); n > 0 {
		c, r.free = r.free[n-1], r.free[:n-1]
	} else {
		c = newCursor(r)
	}
	c.open(rng)
	return c, nil
}

func (r *reader) Close() error {
	err := classify(r.tx.Rollback())
	r.tx = nil
	readers.Put(r)
	return err
}

// borrowed returns b as a string without copying. It serves look-ups, where BuntDB keeps nothing.
func borrowed(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
