package powerfs

import (
	"os"

	"github.com/assaydb/assay/kv/driver"
)

// A pool is the memory of one disk's pages. Beyond its limit, pages go to a file, the oldest first.
// The file has no name from the start, so that nothing is left behind however the process ends. Its
// descriptor is closed once the disk and all images that share its pages are unreachable. A pool is
// guarded by its disk's lock until the power is off, and only read from then on.
type pool struct {
	limit    int64 // bytes
	resident int64 // bytes in memory
	dir      string
	file     *os.File
	free     []int64 // slots of the file that are not used
	slots    int64
	queue    []*page // pages in memory, oldest first; dropped ones stay until they are met
}

// alloc returns a page of zeroes with one reference.
func (pl *pool) alloc() (*page, error) {
	if err := pl.shrink(pl.limit - pageSize); err != nil {
		return nil, err
	}
	p := &page{data: new([pageSize]byte), refs: 1, pool: pl}
	pl.resident += pageSize
	pl.queue = append(pl.queue, p)
	return p, nil
}

func (pl *pool) hold(p *page) {
	if p != nil && p.pool == pl {
		p.refs++
	}
}

// copied returns p as a page of no pool; one that is of no pool, or of another disk's, is that
// already.
func (pl *pool) copied(p *page) (*page, error) {
	if p.pool != pl {
		return p, nil
	}
	fresh := &page{data: new([pageSize]byte)}
	b, err := p.bytes(fresh.data)
	if err == nil {
		*fresh.data = *b
	}
	return fresh, err
}

func (pl *pool) drop(p *page) {
	if p == nil || p.pool != pl {
		return
	}
	if p.refs--; p.refs > 0 {
		return
	}
	if p.data == nil {
		pl.free = append(pl.free, p.slot)
		return
	}
	p.data = nil
	pl.resident -= pageSize
	if len(pl.queue) > 1024 && int64(len(pl.queue)) > 2*pl.resident/pageSize {
		pl.sweep()
	}
}

// sweep forgets the pages of the queue that are gone.
func (pl *pool) sweep() {
	kept := pl.queue[:0]
	for _, p := range pl.queue {
		if p.data != nil {
			kept = append(kept, p)
		}
	}
	clear(pl.queue[len(kept):])
	pl.queue = kept
}

// wake brings p back into memory.
func (pl *pool) wake(p *page) error {
	if p.data != nil {
		return nil
	}
	data := new([pageSize]byte)
	if err := pl.load(data, p.slot); err != nil {
		return err
	}
	if err := pl.shrink(pl.limit - pageSize); err != nil {
		return err
	}
	pl.free = append(pl.free, p.slot)
	p.data = data
	pl.resident += pageSize
	pl.queue = append(pl.queue, p)
	return nil
}

// shrink spills pages until at most limit bytes are in memory.
func (pl *pool) shrink(limit int64) error {
	for pl.resident > max(limit, 0) && len(pl.queue) > 0 {
		p := pl.queue[0]
		pl.queue[0] = nil
		pl.queue = pl.queue[1:]
		if p.data == nil {
			continue
		}
		if err := pl.spill(p); err != nil {
			pl.queue = append(pl.queue, p)
			return err
		}
	}
	return nil
}

func (pl *pool) spill(p *page) error {
	if pl.file == nil {
		file, err := os.CreateTemp(pl.dir, "assay-powerfs-*")
		if err != nil {
			return errDamaged
		}
		if err := os.Remove(file.Name()); err != nil {
			file.Close()
			return errDamaged
		}
		pl.file = file
	}
	slot := pl.slots
	if n := len(pl.free); n > 0 {
		slot, pl.free = pl.free[n-1], pl.free[:n-1]
	} else {
		pl.slots++
	}
	if _, err := pl.file.WriteAt(p.data[:], slot*pageSize); err != nil {
		pl.free = append(pl.free, slot)
		return errDamaged
	}
	p.data, p.slot = nil, slot
	pl.resident -= pageSize
	return nil
}

func (pl *pool) load(dst *[pageSize]byte, slot int64) error {
	if _, err := pl.file.ReadAt(dst[:], slot*pageSize); err != nil {
		return errDamaged
	}
	return nil
}

// checkSpillDir refuses a folder that is not there before anything depends on it.
func checkSpillDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	return &driver.Error{Op: "power disk", Path: dir, Kind: driver.NoStore, Err: err,
		Hint: "SpillDir must be a folder: pages that do not fit into memory go there"}
}
