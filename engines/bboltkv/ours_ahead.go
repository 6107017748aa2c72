package bboltkv

import (
	"bytes"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// most is how many pairs a cursor reads at once, but the first time half of that, under one
// protection against damaged pages: around each step it would cost a sixth of the step, and around
// the program's loop it would hold for a goroutine that has moved on.
const most = 8

// long is how many bytes a walk through much of the file has read. Two calls of the system, of the
// beginning and the end of each, cost as much as 300 pairs.
const long = 512 << 10

// walk counts the long walks. bbolt tells the kernel that its map is read at random, so that each
// page that is not in memory is a read of its own: 24 MB/s, where with what the kernel reads ahead
// by itself it was 459. So it is told otherwise while there are such walks.
func (f *file) walk(tx *bolt.Tx, by int32) {
	if n := f.walks.Add(by); n == 0 || n == by {
		readAhead(tx.DB().Info().Data, tx.Size(), n > 0)
	}
}

// rest is called when a walk is over, for now or for good.
func (c *cursor) rest() {
	if c.total >= long {
		c.file.walk(c.c.Bucket().Tx(), -1)
	}
	c.total = 0
}

func (c *cursor) Next() (key, value []byte, err error) { return c.Ahead.Next(c.Chunk) }

// Chunk reads ahead, and touches the end of each pair: a damaged length reaches beyond the end of
// the file. It passes over buckets within this one, which another program made: they have no value.
func (c *cursor) Chunk() (pairs []driver.Pair, err error) {
	if c.c == nil {
		return nil, nil
	}
	defer recovered(&err, protect())
	n, read, room, bound, reverse := 0, 0, most, c.bound, c.r.Reverse
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
		read += len(k)
		if len(v) > 0 && !c.r.KeysOnly {
			read += len(v)
			c.touched = v[len(v)-1] // which lies behind the key
		} else {
			c.touched = k[len(k)-1]
		}
	}
	if c.total += read; n == 0 {
		c.rest()
	} else if c.total >= long && c.total-read < long {
		c.file.walk(c.c.Bucket().Tx(), 1)
	}
	return c.pairs[:n], nil
}
