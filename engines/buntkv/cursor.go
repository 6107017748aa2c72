package buntkv

import (
	"sync"
	"unsafe"

	"github.com/assaydb/assay/kv/driver"
)

// cursor turns BuntDB's iteration, which calls a function for each pair, into one that is asked for
// the next pair: it runs the iteration for a chunk of pairs, stops it, and later starts another one
// where it stopped. Strings of the engine never change, so the chunk needs no copies.
type cursor struct {
	driver.Ahead
	reader     *reader
	take       func(key, value string) bool // keep, bound once
	takeWithin func(key, value string) bool // likewise, of what is within the range
	start, end string                       // the range
	reverse    bool
	from       string // where the chunk starts
	passed     bool   // from was returned, or is out of the range
	exhausted  bool
	room       uint // how long the chunk may become
	n          uint // chunk[:n] is filled
	chunk      [mostRoom]driver.Pair
}

// The sizes of the first chunk and of the largest; each is twice the one before. Finding the start
// of a chunk costs as much as reading some thirty pairs, and programs often read a page of twenty.
// The largest is a power of two, so that an index into the chunk needs no check.
const (
	firstRoom = 20
	mostRoom  = 128
)

var _ driver.Reopener = (*cursor)(nil)

// cursors are those that were closed.
var cursors = sync.Pool{New: func() any {
	c := new(cursor)
	c.take = func(key, value string) bool { return c.keep(key, value) }
	c.takeWithin = func(key, value string) bool { return c.within(key) && c.keep(key, value) }
	return c
}}

// Reopen puts the cursor before the first pair of r, which is never that of the frames.
func (c *cursor) Reopen(r *driver.Range) error {
	c.start, c.end, c.reverse = max(borrowed(r.Start), "\x00"), borrowed(r.End), r.Reverse
	c.from, c.passed = c.start, r.Reverse
	if c.reverse {
		c.from = c.end
	}
	c.room, c.n, c.Ahead, c.exhausted = firstRoom, 0, nil, false
	return nil
}

func (c *cursor) Next() (key, value []byte, err error) { return c.Ahead.Next(c.Chunk) }

// Chunk reads the next chunk.
func (c *cursor) Chunk() (pairs []driver.Pair, err error) {
	if c.exhausted {
		return nil, nil
	}
	if c.n > 0 {
		c.from, c.passed = borrowed(c.chunk[c.n-1].Key), true
	}
	c.n = 0
	take := c.take // without a call of its own it needs no frame
	if c.end != "" || c.reverse {
		take = c.takeWithin
	}
	switch tx := c.reader.tx; {
	case !c.reverse:
		err = tx.AscendGreaterOrEqual("", c.from, take)
	case c.from == "":
		err = tx.Descend("", take)
	default:
		err = tx.DescendLessOrEqual("", c.from, take)
	}
	if err != nil {
		return nil, err
	}
	pairs = c.chunk[:c.n]
	c.exhausted = c.n < c.room
	c.room = min(2*c.room, mostRoom)
	if c.n > 0 && c.passed && string(pairs[0].Key) == c.from {
		pairs = pairs[1:]
	}
	return pairs, nil
}

// within reports whether key is not behind the end of the walk, which has one.
func (c *cursor) within(key string) bool {
	return c.reverse && key >= c.start || !c.reverse && key < c.end
}

// keep takes a pair into the chunk and reports whether there is room for another.
func (c *cursor) keep(key, value string) bool {
	n := c.n
	p := (*lent)(unsafe.Pointer(&c.chunk[n%mostRoom]))
	p.key, p.keyCapacity, p.value, p.valueCapacity = key, len(key), value, len(value)
	c.n = n + 1
	return n+1 < c.room
}

func (c *cursor) Close() error {
	c.reader = nil
	cursors.Put(c)
	return nil
}

// lent is a driver.Pair whose slices are strings, each with its capacity behind it. Whoever changes
// the bytes changes the stored pair: that is why what a cursor returns is only borrowed.
type lent struct {
	key           string
	keyCapacity   int
	value         string
	valueCapacity int
}
