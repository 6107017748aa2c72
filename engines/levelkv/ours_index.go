package levelkv

import (
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/kv/overlay"
)

// Get appends the value of key to dst.
func (t *txn) Get(dst, key []byte) ([]byte, error) {
	if err := t.index(); err != nil {
		return dst, err
	}
	if t.own != nil {
		if value, written, err := t.own.Get(dst, key); written {
			return value, err
		}
	}
	return t.reader.Get(dst, key)
}

// Cursor returns a cursor before the first pair of rg.
func (t *txn) Cursor(rg driver.Range) (driver.Cursor, error) {
	if err := t.index(); err != nil {
		return nil, err
	}
	below, err := t.reader.Cursor(rg)
	if t.own == nil || err != nil {
		return below, err
	}
	return t.own.Over(below, rg), nil
}

// index makes the writes so far readable.
func (t *txn) index() error {
	if t.own != nil || t.batch.Len() == 0 {
		return nil
	}
	t.own = overlay.New()
	return classify(t.batch.Replay(t.own))
}
