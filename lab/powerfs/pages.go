package powerfs

import "syscall"

// pageSize is the unit of memory, of write-back and of the Pages rule; sectorSize is what a disk
// writes whole.
const (
	pageSize   = 4096
	sectorSize = 512
)

// A page is 4096 bytes of a file. The slots that refer to it are counted; one with several is
// copied before it is written. A page of another pool, or of none, belongs to an image: it is never
// written and never counted.
type page struct {
	data *[pageSize]byte // nil while the page is in the spill file
	slot int64           // where it is in the spill file, in pages
	refs int32
	pool *pool
	sum  sumOnce
}

var noBytes [pageSize]byte // what a hole reads as

// bytes returns the page's content, which may be buf: it is valid until buf is used again or the
// page is written. A nil page is a hole.
func (p *page) bytes(buf *[pageSize]byte) (*[pageSize]byte, error) {
	switch {
	case p == nil:
		return &noBytes, nil
	case p.data != nil:
		return p.data, nil
	}
	if err := p.pool.load(buf, p.slot); err != nil {
		return nil, err
	}
	return buf, nil
}

// A content is the bytes of a file at one moment: pages where something was written, holes between
// them. Bytes behind the size are zero in its pages.
type content struct {
	pages map[int64]*page
	size  int64
}

// own returns the page at index, made if missing and copied if shared, for writing.
func (c *content) own(pl *pool, index int64) (*page, error) {
	p := c.pages[index]
	if p != nil && p.pool == pl && p.refs == 1 {
		return p, pl.wake(p)
	}
	fresh, err := pl.alloc()
	if err != nil {
		return nil, err
	}
	if p != nil {
		var buf [pageSize]byte
		b, err := p.bytes(&buf)
		if err != nil {
			pl.drop(fresh)
			return nil, err
		}
		*fresh.data = *b
		pl.drop(p)
	}
	if c.pages == nil {
		c.pages = make(map[int64]*page)
	}
	c.pages[index] = fresh
	return fresh, nil
}

// put refers to p at index, or makes a hole of it if p is nil.
func (c *content) put(pl *pool, index int64, p *page) {
	old := c.pages[index]
	if old == p {
		return
	}
	if p == nil {
		delete(c.pages, index)
	} else {
		if c.pages == nil {
			c.pages = make(map[int64]*page)
		}
		pl.hold(p)
		c.pages[index] = p
	}
	pl.drop(old)
}

// write copies data to off. The size grows if it must.
func (c *content) write(pl *pool, off int64, data []byte) error {
	for at := off; len(data) > 0; {
		p, err := c.own(pl, at/pageSize)
		if err != nil {
			return err
		}
		n := copy(p.data[at%pageSize:], data)
		data, at = data[n:], at+int64(n)
		c.size = max(c.size, at)
	}
	return nil
}

// read fills dst from off, with zeroes behind the size, and returns how many bytes lie before it.
func (c *content) read(dst []byte, off int64) (int, error) {
	if off >= c.size {
		return 0, nil
	}
	dst = dst[:min(int64(len(dst)), c.size-off)]
	var buf [pageSize]byte
	for n := 0; n < len(dst); {
		at := off + int64(n)
		b, err := c.pages[at/pageSize].bytes(&buf)
		if err != nil {
			return n, err
		}
		n += copy(dst[n:], b[at%pageSize:])
	}
	return len(dst), nil
}

// zero clears n bytes from off within the size. Whole pages become holes.
func (c *content) zero(pl *pool, off, n int64) error {
	end := min(off+n, c.size)
	for _, index := range c.between(off, end) {
		from, to := max(off-index*pageSize, 0), min(end-index*pageSize, pageSize)
		if from == 0 && (to == pageSize || end == c.size) {
			c.put(pl, index, nil)
			continue
		}
		p, err := c.own(pl, index)
		if err != nil {
			return err
		}
		clear(p.data[from:to])
	}
	return nil
}

// resize cuts the content to size, or lets it grow by a hole.
func (c *content) resize(pl *pool, size int64) error {
	if size < c.size {
		if err := c.zero(pl, size, c.size-size); err != nil {
			return err
		}
	}
	c.size = size
	return nil
}

// between returns the indexes of the pages, holes excepted, that hold bytes of [off, end), in no
// order. It costs the smaller of the pages there are and the pages there could be: sparse files are
// gigabytes long.
func (c *content) between(off, end int64) []int64 {
	if off >= end {
		return nil
	}
	first, last := off/pageSize, (end-1)/pageSize
	var found []int64
	if last-first < int64(len(c.pages)) {
		for index := first; index <= last; index++ {
			if c.pages[index] != nil {
				found = append(found, index)
			}
		}
		return found
	}
	for index := range c.pages {
		if first <= index && index <= last {
			found = append(found, index)
		}
	}
	return found
}

// free gives all pages back.
func (c *content) free(pl *pool) {
	for _, p := range c.pages {
		pl.drop(p)
	}
	c.pages, c.size = nil, 0
}

// errDamaged is what processes see when the spill file cannot be read or written.
const errDamaged = syscall.EIO
