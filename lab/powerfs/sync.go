package powerfs

import (
	"cmp"
	"math"
	"slices"
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
	fault := d.enter(OnSync, n, "")
	_, later := fault.(losesLater)
	switch {
	case fault != nil && d.power != on:
		return fault
	case fault == nil:
		d.count(n, func(c *Counters) { c.Syncs++ })
		if d.options.Lying {
			return nil
		}
	}
	done, background := d.arm.sync(&d.options.Latency, n, d.uncommitted()), d.inBackground(n)
	number := uint64(0)
	if fault == nil {
		number = d.beginSync(n, d.commits(n, dataOnly))
	} else if !later {
		err = d.loseDirty(n)
	}
	if werr := d.goOn(n, done, background, fault != nil); werr != nil {
		return werr
	}
	if fault == nil {
		d.endSync(number)
		return nil
	}
	if later {
		err = d.loseDirty(n)
	}
	n.lost++
	return cmp.Or(err, whole(fault))
}

// inBackground reports whether a sync of n is by who has not just written what it is for.
func (d *Disk) inBackground(n *inode) bool {
	return len(n.dirty) > 0 && time.Since(n.modified) > quietTime
}

// goOn lets a sync of n take its time, after which its end is a step of its own. It fails if the
// power goes first.
func (d *Disk) goOn(n *inode, done time.Time, background, fails bool) error {
	if done.IsZero() {
		return nil
	}
	goesOn := d.lasting()
	if l := &d.options.Latency; l.Amid > 0 && background {
		goesOn(time.Now().Add(l.Amid + l.Sync))
		d.meet(n, l.Amid)
		if rest := time.Now().Add(l.Sync); rest.After(done) { // in which who has written may ask for a sync
			done = rest
		}
	}
	goesOn(done)
	if err := d.wait(done); err != nil {
		return err
	}
	d.seq++
	d.begin(0, n, "", false)
	if d.tape != nil {
		last := &d.tape.steps[len(d.tape.steps)-1]
		last.Done, last.Failed = true, fails
	}
	return nil
}

// lasting returns what notes when the sync that is the last step will be done.
func (d *Disk) lasting() func(done time.Time) {
	if d.tape == nil {
		return func(time.Time) {}
	}
	step := len(d.tape.steps) - 1
	return func(done time.Time) { d.tape.steps[step].Until = monotonicNow() + int64(time.Until(done)) }
}

// pendingSync is a sync that goes on. It is for what there was when it began. What is changed while
// it goes on is as any other change: it may be on the disk earlier or later than that, or never.
type pendingSync struct {
	number  uint64
	n       *inode
	until   uint64 // changes until this one
	commits bool
	pages   map[int64]*page // that were dirty, nil for a hole
	sized   bool
	size    int64
	names   []*op // PerFile: what it carries
}

// beginSync begins a sync that will succeed, and returns its number. Unless it commits, an ordered
// journal stays as it is.
func (d *Disk) beginSync(n *inode, commits bool) uint64 {
	id := n.id
	d.did(func(p *Disk) error { p.beginSync(p.inodes[id], commits); return nil })
	d.syncs++
	s := &pendingSync{number: d.syncs, n: n, until: d.seq, commits: commits, pages: make(map[int64]*page, len(n.dirty)),
		sized: n.sized, size: n.live.size}
	for index := range n.dirty {
		p := n.live.pages[index]
		d.pool.hold(p)
		s.pages[index] = p
	}
	s.names = d.namesOf(n)
	d.syncing = append(d.syncing, s)
	return s.number
}

// endSync makes durable what a sync is for, and what those are for that began before it: the disk
// does one after the other.
func (d *Disk) endSync(number uint64) {
	d.did(func(p *Disk) error { p.endSync(number); return nil })
	for len(d.syncing) > 0 && d.syncing[0].number <= number {
		s := d.syncing[0]
		d.syncing = d.syncing[1:]
		if s.n.isDir() {
			d.settleDir(s.n, s.until)
		} else {
			d.flush(s)
		}
		for _, o := range s.names {
			o.logged = true
		}
		if s.commits {
			d.committed = max(d.committed, s.until)
		}
	}
}

// commits reports whether a sync of n commits an ordered journal, which it does if what concerns n
// is not committed yet; that is on its way if a sync that goes on commits it.
func (d *Disk) commits(n *inode, dataOnly bool) bool {
	committed := d.committed
	for _, s := range d.syncing {
		if s.commits {
			committed = max(committed, s.until)
		}
	}
	if dataOnly && !n.isDir() {
		return n.allocated > committed
	}
	return max(n.allocated, n.renamedAt) > committed
}

// uncommitted reports whether an ordered journal has something to commit.
func (d *Disk) uncommitted() bool {
	return len(d.journal) > 0 && d.journal[len(d.journal)-1].seq > d.committed
}

// flush makes the pages and the size durable that a sync is for.
func (d *Disk) flush(s *pendingSync) {
	n := s.n
	for index, p := range s.pages {
		if d.inodes[n.id] == n || n.pins > 0 { // else it was reaped meanwhile
			n.durable.put(&d.pool, index, p)
		}
		d.pool.drop(p)
	}
	if s.sized {
		n.durable.size = s.size
	}
	d.dropEvents(n, s.until)
	if n.folded > s.until { // base holds what was changed meanwhile
		return
	}
	n.folded, n.baseSize = 0, n.durable.size
	for index := range s.pages { // the others were lost by a failed sync, and still differ from what is durable
		if p, ok := n.base[index]; ok {
			d.pool.drop(p)
			delete(n.base, index)
		}
	}
	n.sized = n.live.size != n.durable.size
	for index := range n.dirty {
		if !slices.ContainsFunc(n.events, func(e *event) bool { return e.touches(index) }) {
			delete(n.dirty, index)
		}
	}
}

// loseDirty is what a failed sync leaves: the kernel has marked the pages clean, so that no later
// sync writes them, though processes still see what is in them. What the journal holds is not lost
// with them; the size that writes have reached is written by the next sync that succeeds.
func (d *Disk) loseDirty(n *inode) error {
	if n.isDir() {
		return nil
	}
	for i := len(d.syncing) - 1; i >= 0; i-- { // what is synced before it is on the disk by then
		if d.syncing[i].n == n {
			d.endSync(d.syncing[i].number)
			break
		}
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
	n.baseSize, n.folded, n.dirty = n.live.size, 0, nil
	d.dropEvents(n, math.MaxUint64)
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
