package bboltkv

// most is how many pairs a cursor reads at once, under one protection against damaged pages:
// around each step it would cost a sixth of the step, and around the program's loop it would hold
// for a goroutine that has moved on.
const most = 4

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

// read reads ahead. It touches the ends of what it read: a damaged length reaches beyond the end of
// the file.
func (c *cursor) read() (err error) {
	defer recovered(&err, protect())
	for c.next, c.n = 0, 0; c.n < most; c.n++ {
		k, v := c.step()
		if k == nil {
			return nil
		}
		c.touched = k[len(k)-1]
		if c.r.KeysOnly {
			v = nil
		} else if len(v) > 0 {
			c.touched = v[len(v)-1]
		}
		c.pairs[c.n].key, c.pairs[c.n].value = k, v
	}
	return nil
}

func (a *ahead) forget() {
	clear(a.pairs[:a.n])
	a.next, a.n = 0, 0
}
