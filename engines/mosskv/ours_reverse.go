package mosskv

import (
	"bytes"
	"errors"

	"github.com/assaydb/assay/kv/driver"
)

// reversed gives pairs that were read before, the last first.
type reversed struct{ pairs []driver.Pair }

// reverse reads c to its end and closes it.
func reverse(c driver.Cursor) (_ driver.Cursor, err error) {
	defer func() { err = errors.Join(err, c.Close()) }()
	r := new(reversed)
	for {
		k, v, err := c.Next()
		if err != nil {
			return nil, err
		}
		if k == nil {
			return r, nil
		}
		r.pairs = append(r.pairs, driver.Pair{Key: bytes.Clone(k), Value: bytes.Clone(v)})
	}
}

func (r *reversed) Next() (key, value []byte, err error) {
	last := len(r.pairs) - 1
	if last < 0 {
		return nil, nil, nil
	}
	p := r.pairs[last]
	r.pairs = r.pairs[:last]
	return p.Key, p.Value, nil
}

func (*reversed) Close() error { return nil }
