package buntkv

import (
	"unsafe"

	"github.com/assaydb/assay/kv/driver"
)

// cursor turns BuntDB's iteration, which calls a function for each pair, into one that is asked for
// the next pair: it runs the iteration for a chunk of pairs, stops it, and later starts another one
// where it stopped. Strings of the engine never change, so the chunk needs no copies.
type cursor struct {
	reader               *reader
	take, takeWithin     func(key, value string) bool // keep and keepWithin, bound once
	start, end           string                       // the range
	reverse              bool
	chunk                []pair // as long as the chunk may become
	n                    int    // chunk[:n] is filled
	read                 int    // chunk[read:n] is to come
	from                 string // where the next chunk starts
	fromIsOut, exhausted bool
}

type pair struct{ key, value string }

// The sizes of the first chunk and of the later ones. Finding the start of a chunk costs as much as
// reading some thirty pairs. Programs often read a page of twenty, and one pair more to know whether
// there is another page.
const (
	firstRoom = 21
	laterRoom = 128
)

// firstKey comes before all keys but that of the frames.
const firstKey = "\x00"

func newCursor(r *reader) *cursor {
	c := &cursor{reader: r, chunk: make([]pair, laterRoom)}
	c.take, c.takeWithin = c.keep, c.keepWithin
	return c
}

// open puts the cursor before the first pair of r.
func (c *cursor) open(r driver.Range) {
	c.start, c.end, c.reverse = borrowed(r.Start), borrowed(r.End), r.Reverse
	if c.start == frameKey {
		c.start = firstKey
	}
	c.from, c.fromIsOut = c.start, false
	if c.reverse {
		c.from, c.fromIsOut = c.end, true
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
func (c *cursor) fill() (bool, error) {
	c.n, c.read = 0, 0
	if c.exhausted {
		return false, nil
	}
	tx := c.reader.tx
	var err error
	switch {
	case !c.reverse && c.end == "":
		err = tx.AscendGreaterOrEqual("", c.from, c.take)
	case !c.reverse:
		err = tx.AscendGreaterOrEqual("", c.from, c.takeWithin)
	case c.from == "":
		err = tx.Descend("", c.takeWithin)
	default:
		err = tx.DescendLessOrEqual("", c.from, c.takeWithin)
	}
	if err != nil {
		return false, err
	}
	if c.n > 0 && c.fromIsOut && c.chunk[0].key == c.from {
		c.read = 1
	}
	if c.n < len(c.chunk) {
		c.exhausted = true
	} else {
		c.from, c.fromIsOut = c.chunk[c.n-1].key, true
	}
	c.chunk = c.chunk[:laterRoom]
	return c.read < c.n, nil
}

// keep takes a pair into the chunk and reports whether there is room for another.
func (c *cursor) keep(key, value string) bool {
	n := c.n
	c.chunk[n] = pair{key, value}
	c.n = n + 1
	return n+1 < len(c.chunk)
}

// keepWithin is keep for a walk towards a bound.
func (c *cursor) keepWithin(key, value string) bool {
	if c.reverse {
		return key >= c.start && c.keep(key, value)
	}
	return key < c.end && c.keep(key, value)
}

func (c *cursor) Close() error {
	c.start, c.end, c.from = "", "", ""
	c.reader.free = append(c.reader.free, c)
	return nil
}

// lent returns s as bytes without copying. Whoever changes them changes the stored pair: that is why
// what a cursor returns is only borrowed.
func lent(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
