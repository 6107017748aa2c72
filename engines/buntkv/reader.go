package buntkv

import (
	"sync"
	"unsafe"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads in a transaction of BuntDB's.
type reader struct {
	tx   *buntdb.Tx
	gate *gate
	free []*cursor
}

var _ driver.Lener = (*reader)(nil)

// readers are those that were closed. kv uses none after its end.
var readers = sync.Pool{New: func() any { return new(reader) }}

func (r *reader) Get(dst, key []byte) ([]byte, error) {
	v, err := r.tx.Get(borrowed(key), true)
	if err == buntdb.ErrNotFound {
		return dst, driver.NotFound
	}
	return append(dst, v...), err
}

func (r *reader) Len(key []byte) (int, error) {
	v, err := r.tx.Get(borrowed(key), true)
	if err == buntdb.ErrNotFound {
		return 0, driver.NotFound
	}
	return len(v), err
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
	err := r.gate.endRead()
	r.tx, r.gate = nil, nil
	readers.Put(r)
	return err
}

// borrowed returns b as a string without copying. It serves look-ups, where BuntDB keeps nothing.
func borrowed(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
