package powerfs

import (
	"cmp"
	"time"
)

// Sync makes the file's bytes and size durable, as fsync does. Under Ordered it also commits all
// entry operations and truncations of all files until now. Syncing a folder makes its entries
// durable.
func (d *Disk) Sync(id ID) error { return d.sync(id, false) }

// SyncData is Sync as fdatasync does it: where the file neither was resized nor got new blocks
// since the journal was committed, its bytes alone are written, and the journal stays as it is.
func (d *Disk) SyncData(id ID) error { return d.sync(id, true) }

func (d *Disk) sync(id ID, dataOnly bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.inode(id)
	if err != nil {
		return err
	}
	if err := d.enter(OnSync, n, ""); err != nil {
		if d.power == on {
			err = cmp.Or(d.loseDirty(n), err)
		}
		return whole(err)
	}
	d.count(n, func(c *Counters) { c.Syncs++ })
	if d.options.Lying {
		return nil
	}
	done := d.arm.sync(&d.options.Latency, n, d.uncommitted())
	if d.tape != nil && !done.IsZero() {
		d.tape.steps[len(d.tape.steps)-1].Until = monotonicNow() + int64(time.Until(done))
	}
	d.makeDurable(n, !dataOnly || n.isDir() || n.allocated > d.committed)
	return d.wait(done)
}

// makeDurable is a sync that succeeds. Unless it commits, the journal stays as it is.
func (d *Disk) makeDurable(n *inode, commits bool) {
	id := n.id
	d.did(func(p *Disk) error { p.makeDurable(p.inodes[id], commits); return nil })
	if n.isDir() {
		d.settleDir(n)
	} else {
		d.flush(n)
	}
	if commits {
		d.logNames(n)
		d.committed = d.seq
	}
}

// uncommitted reports whether an ordered journal has something to commit.
func (d *Disk) uncommitted() bool {
	return len(d.journal) > 0 && d.journal[len(d.journal)-1].seq > d.committed
}

// flush makes the dirty pages and the size of n durable.
func (d *Disk) flush(n *inode) {
	for index := range n.dirty {
		n.durable.put(&d.pool, index, n.live.pages[index])
	}
	if n.sized {
		n.durable.size = n.live.size
	}
	for index, p := range n.base {
		if _, ok := n.dirty[index]; ok { // the others were lost by a failed sync, and still differ from what is durable
			d.pool.drop(p)
			delete(n.base, index)
		}
	}
	n.folded = 0
	d.clean(n)
}

func (d *Disk) clean(n *inode) {
	n.dirty, n.sized = nil, false
	d.dropEvents(n)
}

// loseDirty is what a failed sync leaves: the kernel has marked the pages clean, so that no later
// sync writes them, though processes still see what is in them. What the journal holds is not lost
// with them; the size that writes have reached is written by the next sync that succeeds.
func (d *Disk) loseDirty(n *inode) error {
	if n.isDir() {
		return nil
	}
	id := n.id
	d.did(func(p *Disk) error { return p.loseDirty(p.inodes[id]) })
	for _, e := range n.events {
		if !e.journaled() {
			continue
		}
		if err := e.apply(&d.pool, &n.durable); err != nil {
			return err
		}
	}
	if n.base == nil {
		n.base = make(map[int64]*page)
	}
	for index := range n.dirty {
		d.pool.drop(n.base[index])
		p := n.live.pages[index]
		d.pool.hold(p)
		n.base[index] = p
	}
	n.lost++
	n.baseSize, n.folded = n.live.size, 0
	sized := n.sized
	d.clean(n)
	n.sized = sized
	return nil
}

// lostSyncs returns how many syncs of a file have failed.
func (d *Disk) lostSyncs(id ID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.inodes[id]; n != nil {
		return n.lost
	}
	return 0
}
