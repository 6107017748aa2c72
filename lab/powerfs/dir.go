package powerfs

import (
	"slices"
	"strings"
	"syscall"
)

// Entry is a name in a folder.
type Entry struct {
	Name string
	ID   ID
	Mode uint32
}

const longestName = 255

// Lookup returns the entry name of the folder dir, with a reference to be given back by Forget, as
// of every call that returns an Attr of an entry.
func (d *Disk) Lookup(dir ID, name string) (Attr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enterRead(); err != nil {
		return Attr{}, err
	}
	d.lookedUp(name)
	_, n, err := d.entry(dir, name)
	if err != nil {
		return Attr{}, err
	}
	return n.referred(), nil
}

func (n *inode) referred() Attr {
	n.refs++
	return n.attr()
}

// entry returns the folder dir and its entry name.
func (d *Disk) entry(dir ID, name string) (parent, n *inode, err error) {
	if parent, err = d.dirOf(dir); err != nil {
		return nil, nil, err
	}
	if len(name) > longestName {
		return parent, nil, syscall.ENAMETOOLONG
	}
	if n = parent.entries[name]; n == nil {
		return parent, nil, syscall.ENOENT
	}
	return parent, n, nil
}

// vacant returns the folder dir, in which the entry name must not be.
func (d *Disk) vacant(dir ID, name string) (*inode, error) {
	parent, _, err := d.entry(dir, name)
	switch {
	case err == nil:
		return nil, syscall.EEXIST
	case err != syscall.ENOENT || parent == nil:
		return nil, err
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00"):
		return nil, syscall.EINVAL
	case parent != d.root && parent.links == 0:
		return nil, syscall.ENOENT // it was removed while a process stood in it
	}
	return parent, nil
}

// Create makes a file. The mode is its permissions.
func (d *Disk) Create(dir ID, name string, mode uint32, owner Owner) (Attr, error) {
	return d.add(OnCreate, dir, name, nil, func() *inode { return d.newInode(ModeFile|mode&modePerm, owner) })
}

// Mkdir makes a folder.
func (d *Disk) Mkdir(dir ID, name string, mode uint32, owner Owner) (Attr, error) {
	return d.add(OnMkdir, dir, name, nil, func() *inode { return d.newInode(ModeDir|mode&modePerm, owner) })
}

// Symlink makes a symbolic link to target.
func (d *Disk) Symlink(dir ID, name, target string, owner Owner) (Attr, error) {
	return d.add(OnLink, dir, name, nil, func() *inode {
		n := d.newInode(ModeSymlink|0o777, owner)
		n.target = target
		return n
	})
}

// Link makes a second name of a file.
func (d *Disk) Link(id, dir ID, name string) (Attr, error) {
	return d.add(OnLink, dir, name, func() (*inode, error) {
		n, err := d.inode(id)
		if err == nil && n.isDir() {
			err = syscall.EPERM
		}
		return n, err
	}, nil)
}

// add makes an entry for the inode that found returns or, if found is nil, for the one that made
// returns.
func (d *Disk) add(kind FaultOp, dir ID, name string, found func() (*inode, error), made func() *inode) (Attr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, err := d.vacant(dir, name)
	if err != nil {
		return Attr{}, err
	}
	var n *inode
	if found != nil {
		if n, err = found(); err != nil {
			return Attr{}, err
		}
	}
	if err := d.enter(kind, parent, name); err != nil {
		return Attr{}, whole(err)
	}
	if n == nil {
		n = made()
	}
	d.record(op{changes: []change{{parent, name, n}}})
	d.count(n, func(c *Counters) { c.Creates++ })
	return n.referred(), nil
}

// Readlink returns the target of a symbolic link.
func (d *Disk) Readlink(id ID) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enterRead(); err != nil {
		return "", err
	}
	n, err := d.inode(id)
	if err != nil {
		return "", err
	}
	if n.mode&ModeType != ModeSymlink {
		return "", syscall.EINVAL
	}
	return n.target, nil
}

// Unlink removes a name of a file. The file stays while it has another one, or somebody has a
// reference to it.
func (d *Disk) Unlink(dir ID, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, n, err := d.entry(dir, name)
	if err != nil {
		return err
	}
	if n.isDir() {
		return syscall.EISDIR
	}
	return d.remove(parent, n, name)
}

// Rmdir removes an empty folder.
func (d *Disk) Rmdir(dir ID, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, n, err := d.entry(dir, name)
	switch {
	case err != nil:
		return err
	case !n.isDir():
		return syscall.ENOTDIR
	case len(n.entries) > 0:
		return syscall.ENOTEMPTY
	}
	return d.remove(parent, n, name)
}

func (d *Disk) remove(parent, n *inode, name string) error {
	if err := d.enter(OnRemove, n, ""); err != nil {
		return whole(err)
	}
	d.count(n, func(c *Counters) { c.Removes++ })
	d.record(op{changes: []change{{parent, name, nil}}})
	d.reap(n)
	return nil
}

// Readdir returns the entries of a folder, sorted.
func (d *Disk) Readdir(id ID) ([]Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enterRead(); err != nil {
		return nil, err
	}
	n, err := d.dirOf(id)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(n.entries))
	for name, child := range n.entries {
		entries = append(entries, Entry{Name: name, ID: child.id, Mode: child.mode})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}
