package bboltkv

import (
	"bytes"

	"github.com/assaydb/assay/kv/driver"
)

// most is how many pairs a cursor reads at once, but the first time half of that, under one
// protection against damaged pages: around each step it would cost a sixth of the step, and around
// the program's loop it would hold for a goroutine that has moved on.
const most = 8

func (c *cursor) Next() (key, value []byte, err error) { return c.Ahead.Next(c.Chunk) }

// Chunk reads ahead, and touches the end of each pair: a damaged length reaches beyond the end of
// the file. It passes over buckets within this one, which another program made: they have no value.
func (c *cursor) Chunk() (pairs []driver.Pair, err error) {
	if c.c == nil {
		return nil, nil
	}
	defer recovered(&err, protect())
	n, room, bound, reverse := 0, most, c.bound, c.r.Reverse
	if !c.begun {
		room = most / 2
	}
	for n < room {
		var k, v []byte
		switch {
		case !c.begun:
			k, v = c.first()
			c.begun = true
		case reverse:
			k, v = c.c.Prev()
		default:
			k, v = c.c.Next()
		}
		if k == nil || bound != nil && (bytes.Compare(k, bound) < 0) == reverse {
			break
		}
		if v == nil {
			continue
		}
		p := &c.pairs[n]
		p.Key, p.Value = k, v
		n++
		if len(v) > 0 && !c.r.KeysOnly {
			c.touched = v[len(v)-1] // which lies behind the key
		} else {
			c.touched = k[len(k)-1]
		}
	}
	return c.pairs[:n], nil
}
