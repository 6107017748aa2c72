package bboltkv

import "bytes"

// most is how many pairs a cursor reads at once, but the first time half of that, under one
// protection against damaged pages: around each step it would cost a sixth of the step, and around
// the program's loop it would hold for a goroutine that has moved on.
const most = 8

// ahead is what a cursor has read ahead.
type ahead struct {
	next, n int // pairs[next:n] are not yet returned
	pairs   [most]struct{ key, value []byte }
	touched byte
}

func (c *cursor) Next() (key, value []byte, err error) {
	if c.next == c.n {
		if err := c.read(); err != nil || c.n == 0 {
			return nil, nil, err
		}
	}
	p := &c.pairs[c.next]
	c.next++
	return p.key, p.value, nil
}

// read reads ahead, and touches the ends of what it read: a damaged length reaches beyond the end of
// the file. It passes over buckets within this one, which another program made: they have no value.
func (c *cursor) read() (err error) {
	defer recovered(&err, protect())
	c.next, c.n = 0, 0
	var k, v []byte
	n, room := 0, most
	if c.begun {
		k, v = c.step()
	} else {
		k, v = c.first()
		c.begun, room = true, most/2
	}
	for ; k != nil && (c.bound == nil || (bytes.Compare(k, c.bound) < 0) != c.r.Reverse); k, v = c.step() {
		if v == nil {
			continue
		}
		c.touched = k[len(k)-1]
		if len(v) > 0 && !c.r.KeysOnly {
			c.touched = v[len(v)-1]
		}
		p := &c.pairs[n]
		p.key, p.value = k, v
		if n++; n == room {
			break
		}
	}
	c.n = n
	return nil
}

func (a *ahead) forget() {
	clear(a.pairs[:a.n])
	a.next, a.n = 0, 0
}
