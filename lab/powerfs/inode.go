package powerfs

import (
	"math"
	"syscall"
	"time"
)

// ID names an inode of a Disk.
type ID uint64

// Root is the folder that everything else is in.
const Root ID = 1

// The types of an inode, as they stand in Attr.Mode.
const (
	ModeType    = 0o170000
	ModeDir     = 0o040000
	ModeFile    = 0o100000
	ModeSymlink = 0o120000
	modePerm    = 0o7777
)

// Owner is the user and the group that a file belongs to. It is not part of an image.
type Owner struct{ UID, GID uint32 }

// Attr is what a process sees of an inode.
type Attr struct {
	ID                 ID
	Mode               uint32 // type and permissions, as in stat(2)
	Links              uint32
	Size               int64
	Blocks             int64 // of 512 bytes
	Owner              Owner
	Accessed, Modified time.Time
	Changed            time.Time
}

// inode is a file, a folder or a symbolic link.
//
// A file is held three times, in pages that are shared as long as they are alike: live is what
// processes see; durable is what its own syncs have made durable; events, applied in order to
// durable, lead to live. Where that is not so, base says what the events of a page apply to
// instead: because older events were folded to bound the memory, or because a failed sync has
// dropped what came before them.
type inode struct {
	id      ID
	mode    uint32
	owner   Owner
	target  string            // of a symbolic link
	entries map[string]*inode // of a folder, live
	settled map[string]*inode // of a folder, durable by its own syncs

	live, durable content
	dirty         map[int64]struct{} // pages that a sync writes out
	sized         bool               // a sync writes out the size
	allocated     uint64             // the last operation that resized it or gave it blocks
	renamedAt     uint64             // the last operation that changed its names, or its entries
	events        []*event
	base          map[int64]*page // nil for a hole
	baseSize      int64
	amid          chan struct{} // closed by the next write; nil if no sync waits for one
	lost          int           // syncs that failed
	renamed       bool          // it may have names that no sync of it has carried
	folded        uint64        // the last event that base holds

	parent *inode // where it was seen last, for messages and for matching
	name   string

	links  int // live entries that refer to it
	refs   int // references of the callers, see Disk.Forget
	opens  int
	writes int // opens that may write
	pins   int // entries, durable or in the journal, that refer to it

	accessed, modified, changed time.Time
}

func (n *inode) isDir() bool { return n.mode&ModeType == ModeDir }

// path returns where the inode was seen last, below the root, with slashes.
func (n *inode) path() string {
	if n.parent == nil {
		return ""
	}
	if dir := n.parent.path(); dir != "" {
		return dir + "/" + n.name
	}
	return n.name
}

func (n *inode) attr() Attr {
	a := Attr{ID: n.id, Mode: n.mode, Links: uint32(n.links), Size: n.live.size, Owner: n.owner,
		Blocks:   int64(len(n.live.pages)) * (pageSize / sectorSize),
		Accessed: n.accessed, Modified: n.modified, Changed: n.changed}
	switch n.mode & ModeType {
	case ModeDir:
		a.Links, a.Size = 2, pageSize
		for _, child := range n.entries {
			if child.isDir() {
				a.Links++
			}
		}
	case ModeSymlink:
		a.Size = int64(len(n.target))
	}
	return a
}

func (n *inode) touch() {
	n.modified = time.Now()
	n.changed = n.modified
}

// soil notes that a sync has to write out the pages of [off, end), those that were durable and are
// gone included.
func (n *inode) soil(off, end int64) {
	if off >= end {
		return
	}
	if n.dirty == nil {
		n.dirty = make(map[int64]struct{})
	}
	for _, c := range []*content{&n.live, &n.durable} {
		for _, index := range c.between(off, end) {
			n.dirty[index] = struct{}{}
		}
	}
}

// inode returns the inode with the given id, which must be a file if file is set. It is called
// under the lock.
func (d *Disk) inode(id ID) (*inode, error) {
	n := d.inodes[id]
	if n == nil {
		return nil, syscall.ENOENT
	}
	return n, nil
}

func (d *Disk) fileOf(id ID) (*inode, error) {
	n, err := d.inode(id)
	switch {
	case err != nil:
		return nil, err
	case n.isDir():
		return nil, syscall.EISDIR
	case n.mode&ModeType != ModeFile:
		return nil, syscall.EINVAL
	}
	return n, nil
}

func (d *Disk) dirOf(id ID) (*inode, error) {
	n, err := d.inode(id)
	switch {
	case err != nil:
		return nil, err
	case !n.isDir():
		return nil, syscall.ENOTDIR
	}
	return n, nil
}

// newInode makes an inode that nothing refers to yet.
func (d *Disk) newInode(mode uint32, owner Owner) *inode {
	d.lastID++
	n := &inode{id: d.lastID, mode: mode, owner: owner}
	n.touch()
	n.accessed = n.modified
	if n.isDir() {
		n.entries, n.settled = make(map[string]*inode), make(map[string]*inode)
	}
	d.inodes[n.id] = n
	return n
}

// reap forgets what nothing can reach any more: the live content of a file without a name that
// nobody has open, and the durable one once no image could hold it either. After the cut nothing is
// forgotten: images are made from it.
func (d *Disk) reap(n *inode) {
	if d.power == off || d.replica || n.links > 0 || n.refs > 0 || n.opens > 0 || n.id == Root {
		return
	}
	delete(d.inodes, n.id)
	d.used -= int64(len(n.live.pages))
	n.live.free(&d.pool)
	if n.pins > 0 {
		return
	}
	n.durable.free(&d.pool)
	d.dropEvents(n, math.MaxUint64)
	n.dropBase(&d.pool)
}

func (n *inode) dropBase(pl *pool) {
	for _, p := range n.base {
		pl.drop(p)
	}
	n.base, n.baseSize, n.folded = nil, 0, 0
}

// Forget gives back count references to id. Every call that returns an Attr of an entry takes one,
// so that the inode stays for those who know it, as an open file stays after it was unlinked.
func (d *Disk) Forget(id ID, count uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.inodes[id]; n != nil {
		n.refs = max(n.refs-int(count), 0)
		d.reap(n)
	}
}

// Open counts an open file. It is undone by Release with the same arguments.
func (d *Disk) Open(id ID, access Access) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.enterRead(); err != nil {
		return err
	}
	n, err := d.inode(id)
	if err != nil {
		return err
	}
	n.opens++
	if access == ReadWrite {
		n.writes++
	}
	return nil
}

// Release undoes Open.
func (d *Disk) Release(id ID, access Access) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.inodes[id]
	if n == nil {
		return
	}
	n.opens--
	if access == ReadWrite {
		n.writes--
	}
	d.reap(n)
}

// Access is what a file was opened for.
type Access uint8

const (
	ReadOnly Access = iota
	ReadWrite
)
