package powerfs

import "syscall"

// Replacement says what Rename does with an entry that has the new name already.
type Replacement uint8

const (
	Replace   Replacement = iota // it is removed, in the same operation
	NoReplace                    // the rename fails with EEXIST
	Exchange                     // it gets the old name
)

// Rename gives the entry name of the folder dir another name in another folder, or the same one, in
// one operation.
func (d *Disk) Rename(dir ID, name string, toDir ID, toName string, how Replacement) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	from, n, err := d.entry(dir, name)
	if err != nil {
		return err
	}
	to, old, err := d.target(toDir, toName, how)
	if err != nil {
		return err
	}
	if err := mayMove(n, to, old, how); err != nil {
		return err
	}
	if how == Exchange && old.isDir() && old.holds(from) {
		return syscall.EINVAL
	}
	if err := d.enter(OnRename, n, ""); err != nil {
		return whole(err)
	}
	d.count(n, func(c *Counters) { c.Renames++ })
	if n == old {
		return nil // two names of one file: POSIX leaves both
	}
	o := op{changes: []change{{from, name, nil}, {to, toName, n}}, moves: n.isDir()}
	if how == Exchange {
		o.changes[0].to, o.moves = old, o.moves || old.isDir()
	}
	d.record(o)
	if old != nil {
		d.reap(old)
	}
	return nil
}

// target returns the folder that is moved to, and what has the name there.
func (d *Disk) target(dir ID, name string, how Replacement) (to, old *inode, err error) {
	to, old, err = d.entry(dir, name)
	switch {
	case err == nil && how == NoReplace:
		return nil, nil, syscall.EEXIST
	case err == syscall.ENOENT && to != nil && how != Exchange:
		to, err = d.vacant(dir, name)
	}
	return to, old, err
}

// mayMove holds the rules of rename(2) on what may replace what.
func mayMove(n, to, old *inode, how Replacement) error {
	switch {
	case n == old:
		return nil
	case n.isDir() && n.holds(to):
		return syscall.EINVAL
	case old == nil || how == Exchange:
		return nil
	case n.isDir() && !old.isDir():
		return syscall.ENOTDIR
	case !n.isDir() && old.isDir():
		return syscall.EISDIR
	case len(old.entries) > 0:
		return syscall.ENOTEMPTY
	}
	return nil
}

// holds reports whether dir is n or below it.
func (n *inode) holds(dir *inode) bool {
	for ; dir != nil; dir = dir.parent {
		if dir == n {
			return true
		}
	}
	return false
}
