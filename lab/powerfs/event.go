package powerfs

// An event is a change to a file's bytes that its own sync has not made durable yet.
type event struct {
	seq  uint64
	kind eventKind
	off  int64
	n    int64 // bytes; for resized the new size
	data []byte
	file *inode
	// it is a write of zeroes with which a truncation or a hole begins or ends within a page: it
	// lets no file grow
	clears bool
	dead   bool // it is durable, or nobody can see it any more
}

type eventKind uint8

const (
	wrote   eventKind = iota
	resized           // truncate, and an allocation that lets the file grow
	zeroed            // punch hole, zero range
)

// journaled says that the event is metadata, which the journal of an ordered file system commits in
// order with all other metadata.
func (e *event) journaled() bool { return e.kind != wrote }

// apply does to c what the event did.
func (e *event) apply(pl *pool, c *content) error {
	switch e.kind {
	case wrote:
		return c.write(pl, e.off, e.data)
	case zeroed:
		return c.zero(pl, e.off, e.n)
	}
	return c.resize(pl, e.n)
}

// touches reports whether the event changes bytes of the page at index.
func (e *event) touches(index int64) bool {
	from, to := index*pageSize, (index+1)*pageSize
	if e.kind == resized {
		return e.n < to
	}
	return e.off < to && from < e.off+e.n
}

// sectors returns which sectors of the page at index the event changes, one bit each.
func (e *event) sectors(index int64) uint32 {
	lo, hi := e.span(index)
	if lo >= hi {
		return 0
	}
	return 1<<((hi-1)/sectorSize+1) - 1<<(lo/sectorSize)
}

// span returns from where to where the event changes the page at index; nothing if that is not
// before.
func (e *event) span(index int64) (lo, hi int64) {
	from := index * pageSize
	if e.kind == resized {
		return max(e.n-from, 0), pageSize
	}
	return max(e.off-from, 0), min(e.off+e.n-from, pageSize)
}

// applyPage does to the page at index what the event did. Only the first limit bytes of a write are
// done.
func (e *event) applyPage(b *[pageSize]byte, index, limit int64) {
	from := index * pageSize
	switch e.kind {
	case wrote:
		data := e.data[:min(limit, int64(len(e.data)))]
		if e.off >= from {
			if e.off < from+pageSize {
				copy(b[e.off-from:], data)
			}
		} else if skip := from - e.off; skip < int64(len(data)) {
			copy(b[:], data[skip:])
		}
	case zeroed, resized:
		if lo, hi := e.span(index); lo < hi {
			clear(b[lo:hi])
		}
	}
}

// resizes returns the size that a file of the given size has after the event, of which a write has
// done its first limit bytes.
func (e *event) resizes(size, limit int64) int64 {
	switch {
	case e.kind == resized:
		return e.n
	case e.kind == wrote && min(limit, e.n) > 0 && !e.clears:
		return max(size, e.off+min(limit, e.n))
	}
	return size
}

// log remembers the event. It is called after the change was done to the live content.
func (d *Disk) log(n *inode, e event) error {
	e.seq, e.file = d.seq, n
	kept := &e
	n.events = append(n.events, kept)
	d.order = append(d.order, kept)
	d.logged += int64(len(e.data)) + eventCost
	for d.logged > d.logLimit {
		if err := d.fold(); err != nil {
			return err
		}
	}
	return nil
}

const eventCost = 128 // bytes of memory that an event takes beside its data

// fold bounds the log: it takes its oldest event and applies it to its file's base. Such an event
// survives together with all others that were folded, or not at all.
func (d *Disk) fold() error {
	e := d.order[0]
	d.order[0] = nil
	d.order = d.order[1:]
	if e.dead {
		d.deadEvents--
		return nil
	}
	n := e.file
	if err := d.applyToBase(n, e); err != nil {
		return err
	}
	if e.journaled() {
		// The journal is written every few seconds on a real system. So much has been written since
		// that this is over.
		if err := e.apply(&d.pool, &n.durable); err != nil {
			return err
		}
	}
	n.folded = e.seq
	n.events = n.events[1:]
	d.logged -= int64(len(e.data)) + eventCost
	return nil
}

// applyToBase applies e to the pages that the later events of n build on.
func (d *Disk) applyToBase(n *inode, e *event) error {
	if n.base == nil {
		n.base, n.baseSize = make(map[int64]*page), n.durable.size
	}
	c := content{pages: make(map[int64]*page), size: n.baseSize}
	for index := range n.dirty {
		if !e.touches(index) {
			continue
		}
		p, ok := n.base[index]
		if ok {
			delete(n.base, index) // its reference moves to c
		} else if p = n.durable.pages[index]; p != nil {
			d.pool.hold(p)
		}
		if p != nil {
			c.pages[index] = p
		}
		n.base[index] = nil
	}
	err := e.apply(&d.pool, &c)
	for index, p := range c.pages {
		n.base[index] = p
	}
	n.baseSize = c.size
	return err
}

// dropEvents forgets the events of n until one.
func (d *Disk) dropEvents(n *inode, until uint64) {
	behind := 0
	for _, e := range n.events {
		if e.seq > until {
			break
		}
		behind++
		e.dead = true
		d.logged -= int64(len(e.data)) + eventCost
		e.data = nil
		d.deadEvents++
	}
	if n.events = n.events[behind:]; len(n.events) == 0 {
		n.events = nil
	}
	if d.deadEvents > 1024 && d.deadEvents > len(d.order)/2 {
		kept := d.order[:0]
		for _, e := range d.order {
			if !e.dead {
				kept = append(kept, e)
			}
		}
		clear(d.order[len(kept):])
		d.order, d.deadEvents = kept, 0
	}
}
