package capture

import (
	"bytes"

	"github.com/assaydb/assay/kv/driver"
)

// cursor records the steps of a walk as one: how many there were, and a digest of what they found.
type cursor struct {
	driver.Cursor
	r      *reader
	number uint64
	rng    driver.Range
	seek   []byte // where this part of the walk began, if it went on
	flags  byte
	count  uint64
	digest Digest
	first  []byte
	last   []byte
}

// Cursor returns a cursor that can Seek where the engine's can. None reads several pairs at once:
// what was read ahead is not what the program asked for.
func (r *reader) Cursor(rng driver.Range) (driver.Cursor, error) {
	inner, err := r.Reader.Cursor(rng)
	if err != nil {
		return nil, err
	}
	r.cursors++
	c := &cursor{Cursor: inner, r: r, number: r.cursors, rng: rng}
	// Copies: kv changes a bound that a Seek made right before it closes the cursor.
	c.rng.Start, c.rng.End = bytes.Clone(rng.Start), bytes.Clone(rng.End)
	if s, ok := inner.(driver.Seeker); ok {
		return &seekCursor{c, s}, nil
	}
	return c, nil
}

func (c *cursor) Next() (key, value []byte, err error) {
	key, value, err = c.Cursor.Next()
	switch {
	case err != nil:
	case key == nil:
		c.flags |= walkEnded
	default:
		c.add(key, value)
	}
	return key, value, err
}

// add counts a pair.
func (c *cursor) add(key, value []byte) {
	if c.count++; c.count == 1 {
		c.first = append(c.first[:0], key...)
	}
	c.last = append(c.last[:0], key...)
	if c.rng.KeysOnly {
		c.digest.Add(key, 0, 0)
		return
	}
	c.digest.Add(key, len(value), c.r.log.token(value))
}

// record puts this part of the walk.
func (c *cursor) record() {
	if !c.r.open(kindWalk) {
		return
	}
	c.r.log.walk(&Steps{Cursor: c.number, Seeks: c.flags&walkSeek != 0, Start: c.rng.Start, End: c.rng.End,
		Reverse: c.rng.Reverse, Keys: c.rng.KeysOnly, Count: c.count, Ended: c.flags&walkEnded != 0,
		Closed: c.flags&walkLast != 0, Digest: c.digest, First: c.first, Last: c.last}, c.seek)
	c.r.log.close()
}

func (c *cursor) Close() error {
	c.flags |= walkLast
	c.record()
	return c.Cursor.Close()
}

// seekCursor is a cursor of an engine whose cursors move.
type seekCursor struct {
	*cursor
	seeker driver.Seeker
}

// Seek ends a part of the walk, and begins another.
func (c *seekCursor) Seek(key []byte) error {
	c.record()
	c.seek = append(c.seek[:0], key...)
	c.flags, c.count, c.digest = walkSeek, 0, 0
	return c.seeker.Seek(key)
}
