package powerfs

import (
	"cmp"
	"errors"
	"syscall"
	"time"
)

// Source says where written bytes come from.
type Source uint8

const (
	FromCall  Source = iota // a write call
	FromCache               // the kernel wrote back pages that a process had mapped and changed
)

// Write writes data to the file at off and returns how much of it. A short write, as at the end of
// the space, is no error. Write-backs are also taken while a cut settles; they never let a file
// grow.
func (d *Disk) Write(id ID, off int64, data []byte, from Source) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.fileOf(id)
	if err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, syscall.EINVAL
	}
	if from == FromCache && d.due() {
		d.decide(d.settling) // the page was changed before the cut: it is taken if there is a settle to take it
	}
	if from == FromCache && (d.power == settling || d.power == on && d.quiet) {
		d.seq++
		d.begin(0, n, "", true)
	} else if err := d.enter(OnWrite, n, ""); err != nil {
		return d.writeInSpite(n, off, data, err)
	} else if d.tape != nil {
		step := &d.tape.steps[len(d.tape.steps)-1]
		step.Off, step.Cache = off, from == FromCache
	}
	if from == FromCache {
		data = data[:max(min(int64(len(data)), n.live.size-off), 0)]
	}
	if data = d.fitting(n, off, data); data == nil {
		d.failed()
		return 0, syscall.ENOSPC
	}
	d.count(n, func(c *Counters) { c.Writes++; c.Bytes += int64(len(data)) })
	return len(data), d.write(n, off, data)
}

// writeInSpite is a write that a fault has hit: half or all of it is done if the fault says so.
func (d *Disk) writeInSpite(n *inode, off int64, data []byte, fault error) (int, error) {
	half := data[:(len(data)+1)/2]
	switch fault := fault.(type) {
	case halfDone:
		return 0, cmp.Or(d.write(n, off, half), error(fault.Errno))
	case allDone:
		return 0, cmp.Or(d.write(n, off, data), error(fault.Errno))
	}
	if fault != errShort {
		return 0, fault
	}
	return len(half), d.write(n, off, half)
}

func (d *Disk) write(n *inode, off int64, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if n.amid != nil {
		close(n.amid)
		n.amid = nil
	}
	if d.allocates(n, off, off+int64(len(data))) {
		n.allocated = d.seq
	}
	before, size := len(n.live.pages), n.live.size
	err := n.live.write(&d.pool, off, data)
	d.used += int64(len(n.live.pages) - before)
	n.soil(off, off+int64(len(data)))
	n.sized = n.sized || n.live.size != size
	n.touch()
	if err != nil {
		return err
	}
	data = append([]byte(nil), data...)
	d.didWrite(n.id, off, data)
	return d.log(n, event{kind: wrote, off: off, n: int64(len(data)), data: data})
}

// allocates reports whether a write to [off, end) resizes the file, or fills what has no blocks on
// the disk yet, nor by a sync that goes on.
func (d *Disk) allocates(n *inode, off, end int64) bool {
	size, pages := n.durable.size, map[int64]*page(nil)
	for _, s := range d.syncing {
		if s.n == n {
			size, pages = s.size, s.pages
		}
	}
	if end > n.live.size || end > size {
		return true
	}
	for index := off / pageSize; index*pageSize < end; index++ {
		p, ok := pages[index]
		if !ok {
			p = n.durable.pages[index]
		}
		if p == nil {
			return true
		}
	}
	return false
}

// fitting returns the part of data that fits on the disk, nil if nothing does.
func (d *Disk) fitting(n *inode, off int64, data []byte) []byte {
	free := d.options.Space/pageSize - d.used
	end := off + int64(len(data))
	if (end-off)/pageSize+2 <= free {
		return data
	}
	for index := off / pageSize; index*pageSize < end; index++ {
		if n.live.pages[index] != nil {
			continue
		}
		if free--; free < 0 {
			if n := index*pageSize - off; n > 0 {
				return data[:n]
			}
			return nil
		}
	}
	return data
}

// Read fills dst from off and returns how many bytes the file had for it.
func (d *Disk) Read(id ID, off int64, dst []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enterRead(); err != nil {
		return 0, err
	}
	n, err := d.fileOf(id)
	if err != nil {
		return 0, err
	}
	if err := d.strikeRead(n, off, len(dst)); err != nil {
		return 0, whole(err)
	}
	read, err := n.live.read(dst, off)
	if err != nil {
		return read, err
	}
	return read, d.wait(d.arm.read(&d.options.Latency, n, off, int64(read)))
}

// Truncate sets the file's size.
func (d *Disk) Truncate(id ID, size int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.fileOf(id)
	if err != nil {
		return err
	}
	if size < 0 {
		return syscall.EINVAL
	}
	if err := d.enter(OnTruncate, n, ""); err != nil {
		return whole(err)
	}
	n.touch()
	return d.change(n, event{kind: resized, n: size})
}

// change does an event that cuts the file, lets it grow, or clears a part of it. That is journaled,
// but for parts of pages, which are cleared as data.
func (d *Disk) change(n *inode, e event) error {
	if e.kind == resized && e.n == n.live.size {
		return nil
	}
	if e.kind == zeroed {
		n.soil(e.off, e.off+e.n)
	} else {
		n.soil(e.n, max(n.live.size, n.durable.size))
		n.sized = true
	}
	id, asked := n.id, e
	d.did(func(p *Disk) error { return p.change(p.inodes[id], asked) })
	before := len(n.live.pages)
	if err := d.clearParts(n, &e); err != nil {
		return err
	}
	if e.kind == zeroed && e.n == 0 {
		return nil
	}
	n.allocated = d.seq
	err := e.apply(&d.pool, &n.live)
	d.used += int64(len(n.live.pages) - before)
	if err != nil {
		return err
	}
	return d.log(n, e)
}

// clearParts clears the parts of pages at the ends of what an event clears, and leaves it the whole
// ones.
func (d *Disk) clearParts(n *inode, e *event) error {
	up := func(at int64) int64 { return (at + pageSize - 1) / pageSize * pageSize }
	if e.kind == resized {
		return d.clearPart(n, e.n, up(e.n))
	}
	off, end := e.off, e.off+e.n
	first, behind := up(off), end/pageSize*pageSize
	if behind < first {
		e.n = 0
		return d.clearPart(n, off, end)
	}
	e.off, e.n = first, behind-first
	return errors.Join(d.clearPart(n, off, first), d.clearPart(n, behind, end))
}

// clearPart clears bytes of a page that is no hole.
func (d *Disk) clearPart(n *inode, from, end int64) error {
	if end = min(end, n.live.size); from >= end || n.live.pages[from/pageSize] == nil {
		return nil
	}
	if d.allocates(n, from, end) {
		n.allocated = d.seq
	}
	zeroes := make([]byte, end-from)
	if err := n.live.write(&d.pool, from, zeroes); err != nil {
		return err
	}
	return d.log(n, event{kind: wrote, off: from, n: end - from, data: zeroes, clears: true})
}

// Allocation is a mode of Fallocate.
type Allocation uint8

const (
	Extend    Allocation = iota // allocate, and let the file grow if the range ends behind it
	KeepSize                    // allocate, also behind the end
	PunchHole                   // give the range back: it reads as zeroes
	ZeroRange                   // let the range read as zeroes, and let the file grow if it ends behind it
	ZeroKeep                    // ZeroRange within the file's size
)

// Fallocate allocates, clears or gives back n bytes from off. Space is checked, and not reserved.
func (d *Disk) Fallocate(id ID, off, n int64, mode Allocation) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, err := d.fileOf(id)
	if err != nil {
		return err
	}
	if off < 0 || n <= 0 || off+n < 0 {
		return syscall.EINVAL
	}
	if err := d.enter(OnAllocate, file, ""); err != nil {
		return whole(err)
	}
	if mode != PunchHole && d.missing(file, off, n) > d.options.Space/pageSize-d.used {
		return syscall.ENOSPC
	}
	file.touch()
	if mode == PunchHole || mode == ZeroRange || mode == ZeroKeep {
		if err := d.change(file, event{kind: zeroed, off: off, n: n}); err != nil {
			return err
		}
	}
	if (mode == Extend || mode == ZeroRange) && off+n > file.live.size {
		return d.change(file, event{kind: resized, n: off + n})
	}
	return nil
}

// missing returns how many pages of the range are holes.
func (d *Disk) missing(file *inode, off, n int64) int64 {
	return (off+n-1)/pageSize - off/pageSize + 1 - int64(len(file.live.between(off, off+n)))
}

// Setting is what Setattr changes; nil fields stay.
type Setting struct {
	Mode               *uint32 // permissions
	UID, GID           *uint32
	Accessed, Modified *time.Time
}

// Setattr changes attributes. They are not part of the crash model: an image has the last mode, and
// no owner or times.
func (d *Disk) Setattr(id ID, s Setting) (Attr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enterRead(); err != nil {
		return Attr{}, err
	}
	n, err := d.inode(id)
	if err != nil {
		return Attr{}, err
	}
	if s.Mode != nil {
		n.mode = n.mode&ModeType | *s.Mode&modePerm
		mode := n.mode
		d.begin(0, n, "", false)
		d.did(func(p *Disk) error { p.inodes[id].mode = mode; return nil })
	}
	if s.UID != nil {
		n.owner.UID = *s.UID
	}
	if s.GID != nil {
		n.owner.GID = *s.GID
	}
	if s.Accessed != nil {
		n.accessed = *s.Accessed
	}
	if s.Modified != nil {
		n.modified = *s.Modified
	}
	n.changed = time.Now()
	return n.attr(), nil
}

// Stat returns the attributes of id.
func (d *Disk) Stat(id ID) (Attr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enterRead(); err != nil {
		return Attr{}, err
	}
	n, err := d.inode(id)
	if err != nil {
		return Attr{}, err
	}
	return n.attr(), nil
}
