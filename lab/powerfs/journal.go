package powerfs

import "slices"

// An op is a metadata operation on entries: a create, link, unlink or rename. It sets entries to
// inodes, or to nothing. A rename sets two, so that it is done as a whole or not at all.
type op struct {
	seq     uint64
	changes []change
	was     []*inode // what each change took the place of, or nil
	moves   bool     // it moves a folder
	logged  bool     // PerFile: the sync of a file has made it durable
}

type change struct {
	dir  *inode
	name string
	to   *inode // nil: the entry is gone
}

// record does the changes to the live entries and remembers them as one operation. All changes of
// entries come through here.
func (d *Disk) record(o op) {
	o.seq = d.seq
	d.didRecord(o)
	for _, c := range o.changes {
		old := c.dir.entries[c.name]
		o.was = append(o.was, old)
		for _, n := range []*inode{c.dir, c.to, old} {
			if n != nil {
				n.renamedAt = d.seq
			}
		}
		if c.to != nil {
			c.to.renamed = true
		} else if old != nil {
			old.renamed = true
		}
		if old == c.to {
			continue
		}
		if c.to == nil {
			delete(c.dir.entries, c.name)
		} else {
			c.dir.entries[c.name] = c.to
			c.to.links++
			c.to.parent, c.to.name = c.dir, c.name
		}
		if old != nil {
			old.links--
		}
		c.dir.touch()
	}
	d.journal = append(d.journal, &o)
	d.pin(&o, 1)
	for _, c := range o.changes {
		if c.to != nil {
			c.to.changed = c.dir.changed
		}
	}
	if len(d.journal) > journalLimit {
		d.settleAll(len(d.journal) / 2)
	}
}

// journalLimit bounds the operations that wait for the sync of a folder that never comes. Beyond
// it, the older half is durable: a real file system would have committed them long ago.
const journalLimit = 1 << 17

func (d *Disk) pin(o *op, by int) {
	for _, c := range o.changes {
		c.dir.pins += by
		if c.to != nil {
			c.to.pins += by
		}
	}
}

// settle makes an operation durable: its changes are done to the settled entries.
func (d *Disk) settle(o *op) {
	for _, c := range o.changes {
		old := c.dir.settled[c.name]
		if c.to == nil {
			delete(c.dir.settled, c.name)
		} else {
			c.dir.settled[c.name] = c.to
			c.to.pins++
		}
		if old != nil {
			old.pins--
			defer d.reap(old)
		}
		if c.to != nil {
			defer d.reap(c.to)
		}
	}
	d.pin(o, -1)
}

func (d *Disk) settleAll(n int) {
	for _, o := range d.journal[:n] {
		d.settle(o)
	}
	d.journal = append([]*op(nil), d.journal[n:]...)
}

// settleDir makes durable what a sync of dir makes durable under Strict: the operations on its
// entries until one, and the earlier ones that those depend on.
func (d *Disk) settleDir(dir *inode, until uint64) {
	chosen := closure(d.journal, func(o *op) bool {
		return o.seq <= until && slices.ContainsFunc(o.changes, func(c change) bool { return c.dir == dir })
	})
	kept := d.journal[:0]
	for i, o := range d.journal {
		if chosen[i] {
			d.settle(o)
		} else {
			kept = append(kept, o)
		}
	}
	clear(d.journal[len(kept):])
	d.journal = kept
}

// closure returns which operations are wanted, or come before a wanted one and set an entry that it
// sets too. Folders are moved in order.
func closure(ops []*op, wanted func(*op) bool) []bool {
	type entry struct {
		dir  *inode
		name string
	}
	chosen := make([]bool, len(ops))
	needed := make(map[entry]bool)
	for i := len(ops) - 1; i >= 0; i-- {
		o := ops[i]
		take := wanted(o) || o.moves && needed[entry{}]
		for _, c := range o.changes {
			take = take || needed[entry{c.dir, c.name}]
		}
		if !take {
			continue
		}
		chosen[i] = true
		for _, c := range o.changes {
			needed[entry{c.dir, c.name}] = true
		}
		if o.moves {
			needed[entry{}] = true
		}
	}
	return chosen
}

// namesOf returns what a sync of n carries under PerFile: n's names as they are, with the folders
// above it that nothing has made durable yet, and theirs. A sync of what has no name any more
// carries nothing.
func (d *Disk) namesOf(n *inode) (names []*op) {
	if n.links == 0 {
		return nil
	}
	carried, some := map[*inode]bool{n: true}, n.renamed
	for _, dir := range d.foldersOf(n) {
		for ; dir != nil && !carried[dir]; dir = dir.parent {
			if dir.renamed && slices.ContainsFunc(d.journal,
				func(o *op) bool { return !o.logged && o.makes(dir) }) {
				carried[dir], some = true, true
			}
		}
	}
	if !some {
		return nil
	}
	for dir := range carried {
		dir.renamed = false
	}
	for i, chosen := range closure(d.journal, func(o *op) bool { return o.names(carried) }) {
		if chosen {
			names = append(names, d.journal[i])
		}
	}
	return names
}

// makes reports whether the operation has made the folder.
func (o *op) makes(dir *inode) bool { return len(o.changes) == 1 && o.changes[0].to == dir }

// names reports whether the operation gives one of the inodes a name, or takes one away.
func (o *op) names(of map[*inode]bool) bool {
	for i, c := range o.changes {
		if of[c.to] || c.to == nil && of[o.was[i]] {
			return true
		}
	}
	return false
}

// foldersOf returns the folders in which n has a name.
func (d *Disk) foldersOf(n *inode) (list []*inode) {
	if n.links == 1 && n.parent.entries[n.name] == n {
		return []*inode{n.parent}
	}
	for _, dir := range d.inodes {
		for _, at := range dir.entries {
			if at == n {
				list = append(list, dir)
				break
			}
		}
	}
	return list
}
