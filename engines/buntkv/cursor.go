package buntkv

import (
	"unsafe"

	"github.com/assaydb/assay/kv/driver"
)

// cursor turns BuntDB's iteration, which calls a function for each pair, into one that is asked for
// the next pair: it runs the iteration for a chunk of pairs, stops it, and later starts another one
// where it stopped. Strings of the engine never change, so the chunk needs no copies.
type cursor struct {
	reader     *reader
	take       func(key, value string) bool // keep, bound once
	start, end string                       // the range
	reverse    bool
	chunk      []pair // as long as the chunk may become
	n          int    // chunk[:n] is filled
	read       int    // chunk[read:n] is to come
	from       string // where the next chunk starts
	passed     bool   // from was returned, or is out of the range
	exhausted  bool
}

type pair struct{ key, value string }

// The sizes of the first chunk and of the later ones. Finding the start of a chunk costs as much as
// reading some thirty pairs. Programs often read a page of twenty, and one pair more to know
// whether there is another page.
const (
	firstRoom = 21
	laterRoom = 128
)

func newCursor(r *reader) *cursor {
	c := &cursor{reader: r, chunk: make([]pair, laterRoom)}
	c.take = c.keep
	return c
}

// open puts the cursor before the first pair of r, which is never that of the frames.
func (c *cursor) open(r driver.Range) {
	c.start, c.end, c.reverse = max(borrowed(r.Start), "\x00"), borrowed(r.End), r.Reverse
	c.from, c.passed = c.start, r.Reverse
	if c.reverse {
		c.from = c.end
	}
	c.chunk, c.n, c.read, c.exhausted = c.chunk[:firstRoom], 0, 0, false
}

func (c *cursor) Next() (key, value []byte, err error) {
	if c.read == c.n {
		if more, err := c.fill(); !more {
			return nil, nil, err
		}
	}
	p := &c.chunk[c.read]
	c.read++
	return lent(p.key), lent(p.value), nil
}

// fill reads the next chunk and reports whether there is one.
func (c *cursor) fill() (more bool, err error) {
	c.n, c.read = 0, 0
	if c.exhausted {
		return false, nil
	}
	switch tx := c.reader.tx; {
	case !c.reverse:
		err = tx.AscendGreaterOrEqual("", c.from, c.take)
	case c.from == "":
		err = tx.Descend("", c.take)
	default:
		err = tx.DescendLessOrEqual("", c.from, c.take)
	}
	if err != nil {
		return false, err
	}
	if c.n > 0 && c.passed && c.chunk[0].key == c.from {
		c.read = 1
	}
	if c.exhausted = c.n < len(c.chunk); !c.exhausted {
		c.from, c.passed = c.chunk[c.n-1].key, true
	}
	c.chunk = c.chunk[:laterRoom]
	return c.read < c.n, nil
}

// keep takes a pair of the range into the chunk and reports whether there is room for another.
func (c *cursor) keep(key, value string) bool {
	if c.reverse {
		if key < c.start {
			return false
		}
	} else if c.end != "" && key >= c.end {
		return false
	}
	n := c.n
	c.chunk[n] = pair{key, value}
	c.n = n + 1
	return n+1 < len(c.chunk)
}

func (c *cursor) Close() error {
	c.start, c.end, c.from = "", "", ""
	c.reader.free = append(c.reader.free, c)
	return nil
}

// lent returns s as bytes without copying. Whoever changes them changes the stored pair: that is
// why what a cursor returns is only borrowed.
func lent(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
