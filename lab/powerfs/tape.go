package powerfs

import (
	"fmt"
	"path"
)

// A Tape holds everything that was done to a Disk, in order, so that the state before each
// operation can be made again. See Options.Record.
type Tape struct {
	from  *Image
	steps []taped
}

// taped is an operation and what it did to the disk. A write-back that no operation asked for, and
// a change of attributes, is a step too.
type taped struct {
	Step
	wrote   ID // the file, if the step is a write
	off     int64
	data    []byte
	effects []func(*Disk) error
}

// Step is an operation of a tape.
type Step struct {
	Kind      FaultOp // 0: no operation of a process, but a write-back or a change of attributes
	Path      string  // below the root
	Bytes     int     // of a write
	Off       int64   // where a write begins
	Monotonic int64   // when it began, in nanoseconds, as of CutAt
	Cache     bool    // a write-back of mapped pages
	Failed    bool    // a fault struck it
	Until     int64   // when a sync that takes a while is done; 0 is at once
	// The end of such a sync, with Kind 0: what it is for is durable behind it. What stands between
	// happened while it went on.
	Done bool
}

// String says what the operation was: "write 8192 bytes of store/000004.log".
func (s Step) String() string {
	text := fmt.Sprintf("%s %s", s.Kind, s.Path)
	switch {
	case s.Done:
		text = "end of the sync of " + s.Path
	case s.Kind == 0:
		text = "write-back of " + s.Path
	case s.Bytes > 0:
		text = fmt.Sprintf("%s %d bytes of %s", s.Kind, s.Bytes, s.Path)
	}
	if s.Failed {
		text += ", which failed"
	}
	return text
}

// Tape returns what was done to the disk, which cuts its power. It is nil unless Options.Record was
// set.
func (d *Disk) Tape() *Tape {
	d.Cut()
	return d.tape
}

// Steps returns the operations, the first at index 0.
func (t *Tape) Steps() []Step {
	all := make([]Step, len(t.steps))
	for i := range t.steps {
		all[i] = t.steps[i].Step
	}
	return all
}

// begin puts a new step on the tape. It is called under the lock.
func (d *Disk) begin(kind FaultOp, n *inode, name string, cache bool) {
	if d.tape == nil {
		return
	}
	where := n.path()
	if name != "" {
		where = path.Join(where, name)
	}
	d.tape.steps = append(d.tape.steps,
		taped{Step: Step{Kind: kind, Path: where, Monotonic: monotonicNow(), Cache: cache}})
}

// failed notes that the last step has failed.
func (d *Disk) failed() {
	if d.tape != nil {
		d.tape.steps[len(d.tape.steps)-1].Failed = true
	}
}

// did notes what the last step does to a disk.
func (d *Disk) did(effect func(*Disk) error) {
	if d.tape == nil {
		return
	}
	s := &d.tape.steps[len(d.tape.steps)-1]
	s.effects = append(s.effects, effect)
}

// didWrite is did of a write, which a kill can leave in part.
func (d *Disk) didWrite(id ID, off int64, data []byte) {
	if d.tape == nil {
		return
	}
	s := &d.tape.steps[len(d.tape.steps)-1]
	s.wrote, s.off, s.data, s.Bytes = id, off, data, len(data)
	d.did(func(p *Disk) error { return p.write(p.inodes[id], off, data) })
}

// didRecord is did of changes of entries, of which a replica makes the inodes.
func (d *Disk) didRecord(o op) {
	if d.tape == nil {
		return
	}
	type entry struct {
		dir, to ID
		name    string
		mode    uint32
		target  string
	}
	var entries []entry
	for _, c := range o.changes {
		e := entry{dir: c.dir.id, name: c.name}
		if c.to != nil {
			e.to, e.mode, e.target = c.to.id, c.to.mode, c.to.target
		}
		entries = append(entries, e)
	}
	moves := o.moves
	d.did(func(p *Disk) error {
		again := op{moves: moves}
		for _, e := range entries {
			c := change{dir: p.inodes[e.dir], name: e.name}
			if e.to != 0 {
				if c.to = p.inodes[e.to]; c.to == nil {
					p.lastID = e.to - 1
					c.to = p.newInode(e.mode, p.root.owner)
					c.to.target = e.target
				}
			}
			again.changes = append(again.changes, c)
		}
		p.record(again)
		return nil
	})
}

// Player does what is on a tape again. It is used by one goroutine; the images that it makes may be
// used by others meanwhile.
type Player struct {
	tape *Tape
	disk *Disk
	at   int
}

// Play returns a player that stands before the first operation.
func (t *Tape) Play() (*Player, error) {
	d, err := New(Options{From: t.from, Memory: 1 << 50})
	if err != nil {
		return nil, err
	}
	d.replica = true
	return &Player{tape: t, disk: d}, nil
}

// Forward does operations until the player stands before the one at index i, or behind the last.
func (p *Player) Forward(i int) error {
	for ; p.at < min(i, len(p.tape.steps)); p.at++ {
		p.disk.seq++
		for _, effect := range p.tape.steps[p.at].effects {
			if err := effect(p.disk); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish makes an image of what the survival chose. It shares its pages with the disk, which copies
// a page that an image has before it writes to it.
func (p *Player) finish(s *survival) *Image {
	img := &Image{root: s.node(p.disk.root), err: s.err}
	kept := make(map[*node]bool)
	var keep func(*node)
	keep = func(n *node) {
		if kept[n] {
			return
		}
		kept[n] = true
		pages := make(map[int64]*page, len(n.pages))
		for index, pg := range n.pages {
			p.disk.pool.hold(pg)
			pages[index] = pg
		}
		n.pages = pages
		for _, child := range n.entries {
			keep(child)
		}
	}
	keep(img.root)
	return img
}

// Used returns the bytes that files take.
func (p *Player) Used() int64 { return p.disk.used * pageSize }
