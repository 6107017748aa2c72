package mosskv

import (
	"github.com/couchbase/moss"

	"github.com/assaydb/assay/kv/driver"
)

// cursor walks over a snapshot.
type cursor struct {
	it      moss.Iterator
	started bool
	done    bool
}

var _ driver.Cursor = (*cursor)(nil)

func (c *cursor) Next() (key, value []byte, err error) {
	if c.done {
		return nil, nil, nil
	}
	if c.started {
		err = c.it.Next()
	}
	c.started = true
	if err == nil {
		key, value, err = c.it.Current()
	}
	if err == moss.ErrIteratorDone {
		c.done = true
		return nil, nil, nil
	}
	return key, value, classify(err)
}

func (c *cursor) Close() error { return c.it.Close() }
