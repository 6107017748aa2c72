package memkv

import (
	"bytes"

	"github.com/assaydb/assay/kv/driver"
)

// reader reads the state under root. A reader of a snapshot is used again after Close.
type reader struct {
	root *node
	free *cursor // closed cursors, to be used again
}

var _ driver.Reader = (*reader)(nil)

func (r *reader) Get(dst, key []byte) ([]byte, error) {
	n := r.root.get(key)
	if n == nil {
		return dst, driver.NotFound
	}
	return append(dst, n.value...), nil
}

func (r *reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	c := r.free
	if c == nil {
		c = &cursor{owner: r}
	} else {
		r.free = c.next
	}
	c.bound, c.reverse = rg.End, rg.Reverse
	if c.reverse {
		c.bound = rg.Start
		c.seekBelow(r.root, rg.End)
	} else {
		c.seekFrom(r.root, rg.Start)
	}
	return c, nil
}

func (r *reader) Close() error {
	r.root = nil
	readers.Put(r)
	return nil
}

// cursor walks over the tree that its reader had when the cursor was made. Later writes do not disturb it.
type cursor struct {
	owner   *reader
	next    *cursor // in owner.free
	reverse bool
	bound   []byte  // where the walk ends: the range's End, in reverse its Start; nil is open
	path    []*node // nodes whose pair, and whose farther subtree, are still to come; the nearest is the last
}

var _ driver.Cursor = (*cursor)(nil)

// seekFrom sets the path to the pairs with keys from start on.
func (c *cursor) seekFrom(n *node, start []byte) {
	for n != nil {
		if bytes.Compare(n.key, start) >= 0 {
			c.path = append(c.path, n)
			n = n.left
		} else {
			n = n.right
		}
	}
}

// seekBelow sets the path to the pairs with keys below end, nil being above every key.
func (c *cursor) seekBelow(n *node, end []byte) {
	for n != nil {
		if end == nil || bytes.Compare(n.key, end) < 0 {
			c.path = append(c.path, n)
			n = n.right
		} else {
			n = n.left
		}
	}
}

func (c *cursor) Next() (key, value []byte, err error) {
	last := len(c.path) - 1
	if last < 0 {
		return nil, nil, nil
	}
	n := c.path[last]
	c.path = c.path[:last]
	if c.reverse {
		if bytes.Compare(n.key, c.bound) < 0 {
			return c.end()
		}
		c.seekBelow(n.left, nil)
	} else {
		if c.bound != nil && bytes.Compare(n.key, c.bound) >= 0 {
			return c.end()
		}
		c.seekFrom(n.right, nil)
	}
	return n.key, n.value, nil
}

func (c *cursor) end() (key, value []byte, err error) {
	c.path = c.path[:0]
	return nil, nil, nil
}

func (c *cursor) Close() error {
	clear(c.path[:cap(c.path)])
	c.path, c.bound = c.path[:0], nil
	c.next, c.owner.free = c.owner.free, c
	return nil
}
