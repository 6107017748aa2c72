package buntkv

import (
	"context"
	"unsafe"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads in a transaction of BuntDB's.
type reader struct {
	tx   *buntdb.Tx
	gate *gate
}

var _ driver.Lener = (*reader)(nil)
var _ driver.Renewer = (*reader)(nil)

// Renew lets nobody write until it is closed.
func (r *reader) Renew(ctx context.Context) (err error) {
	r.tx, err = r.gate.read(ctx)
	return err
}

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
	c := cursors.Get().(*cursor)
	c.reader = r
	return c, c.Reopen(&rng)
}

func (r *reader) Close() error {
	r.tx = nil
	return r.gate.endRead()
}

// borrowed returns b as a string without copying. It serves look-ups, where BuntDB keeps nothing.
func borrowed(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
