package powerfs

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// fuseFS answers the kernel with a Disk. What it does not implement is answered with ENOSYS, upon
// which the kernel does it itself (locks, lseek, copy_file_range) or tells the process that it is
// not supported.
//
// The raw protocol is used, not go-fuse's tree of nodes: the tree and its order are the Disk's.
type fuseFS struct {
	fuse.RawFileSystem
	disk *Disk
	// settler is the thread that settles: while the cut is decided it may still look up, open and
	// sync, which makes the kernel write back.
	settler atomic.Uint32

	mu      sync.Mutex
	folders map[uint64][]Entry // open folders, as they were when they were opened
	told    map[uint64]int     // open files: how many failed syncs of the file each was told of
	last    uint64
	held    map[uint32]*heldBack // by the threads that hold syncs back
}

func newFuseFS(d *Disk) *fuseFS {
	return &fuseFS{RawFileSystem: fuse.NewDefaultRawFileSystem(), disk: d, folders: make(map[uint64][]Entry),
		told: make(map[uint64]int), held: make(map[uint32]*heldBack)}
}

func (*fuseFS) String() string { return mountName }

// status is an error of a Disk as the kernel takes it.
func status(err error) fuse.Status {
	var errno syscall.Errno
	switch {
	case err == nil:
		return fuse.OK
	case errors.As(err, &errno):
		return fuse.Status(errno)
	}
	return fuse.EIO
}

func fill(out *fuse.Attr, a Attr) {
	*out = fuse.Attr{Ino: uint64(a.ID), Size: uint64(a.Size), Blocks: uint64(a.Blocks), Mode: a.Mode, Nlink: a.Links,
		Owner: fuse.Owner{Uid: a.Owner.UID, Gid: a.Owner.GID}, Blksize: pageSize}
	out.SetTimes(&a.Accessed, &a.Modified, &a.Changed)
}

func fillEntry(out *fuse.EntryOut, a Attr) {
	out.NodeId, out.Generation = uint64(a.ID), 1
	out.SetEntryTimeout(forever)
	out.SetAttrTimeout(forever)
	fill(&out.Attr, a)
}

func entered(out *fuse.EntryOut, a Attr, err error) fuse.Status {
	if err == nil {
		fillEntry(out, a)
	}
	return status(err)
}

func owner(h *fuse.InHeader) Owner { return Owner{UID: h.Uid, GID: h.Gid} }

// isSettler reports whether the request comes from the thread that settles.
func (fs *fuseFS) isSettler(h *fuse.InHeader) bool { return h.Pid != 0 && h.Pid == fs.settler.Load() }

func (fs *fuseFS) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	a, err := fs.disk.Lookup(ID(h.NodeId), name)
	if err == syscall.ENOENT {
		out.SetEntryTimeout(forever) // the kernel remembers that it is not there
		return fuse.OK
	}
	return entered(out, a, err)
}

func (fs *fuseFS) Forget(id, count uint64) { fs.disk.Forget(ID(id), count) }

func (fs *fuseFS) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return fs.attr(ID(in.NodeId), out)
}

func (fs *fuseFS) attr(id ID, out *fuse.AttrOut) fuse.Status {
	a, err := fs.disk.Stat(id)
	if err == nil {
		out.SetTimeout(forever)
		fill(&out.Attr, a)
	}
	return status(err)
}

func (fs *fuseFS) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	if size, ok := in.GetSize(); ok {
		if err := fs.disk.Truncate(ID(in.NodeId), int64(size)); err != nil {
			return status(err)
		}
	}
	var s Setting
	if mode, ok := in.GetMode(); ok {
		s.Mode = &mode
	}
	if uid, ok := in.GetUID(); ok {
		s.UID = &uid
	}
	if gid, ok := in.GetGID(); ok {
		s.GID = &gid
	}
	if t, ok := in.GetATime(); ok {
		s.Accessed = &t
	}
	if t, ok := in.GetMTime(); ok {
		s.Modified = &t
	}
	if s != (Setting{}) {
		if _, err := fs.disk.Setattr(ID(in.NodeId), s); err != nil {
			return status(err)
		}
	}
	return fs.attr(ID(in.NodeId), out)
}

func (fs *fuseFS) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	if kind := in.Mode & ModeType; kind != ModeFile && kind != 0 {
		return fuse.EPERM
	}
	a, err := fs.disk.Create(ID(in.NodeId), name, in.Mode, owner(&in.InHeader))
	return entered(out, a, err)
}

func (fs *fuseFS) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	a, err := fs.disk.Mkdir(ID(in.NodeId), name, in.Mode, owner(&in.InHeader))
	return entered(out, a, err)
}

func (fs *fuseFS) Symlink(_ <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	a, err := fs.disk.Symlink(ID(h.NodeId), name, target, owner(h))
	return entered(out, a, err)
}

func (fs *fuseFS) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	a, err := fs.disk.Link(ID(in.Oldnodeid), ID(in.NodeId), name)
	return entered(out, a, err)
}

func (fs *fuseFS) Unlink(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return status(fs.disk.Unlink(ID(h.NodeId), name))
}

func (fs *fuseFS) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return status(fs.disk.Rmdir(ID(h.NodeId), name))
}

func (fs *fuseFS) Rename(_ <-chan struct{}, in *fuse.RenameIn, name, toName string) fuse.Status {
	how := Replace
	switch in.Flags {
	case 0:
	case unix.RENAME_NOREPLACE:
		how = NoReplace
	case unix.RENAME_EXCHANGE:
		how = Exchange
	default:
		return fuse.EINVAL
	}
	return status(fs.disk.Rename(ID(in.NodeId), name, ID(in.Newdir), toName, how))
}

func (fs *fuseFS) Readlink(_ <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	target, err := fs.disk.Readlink(ID(h.NodeId))
	return []byte(target), status(err)
}

func (fs *fuseFS) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	used, space := fs.disk.Usage()
	free := uint64(max(space-used, 0)) / pageSize
	*out = fuse.StatfsOut{Blocks: uint64(space) / pageSize, Bfree: free, Bavail: free, Files: 1 << 30, Ffree: 1 << 30,
		Bsize: pageSize, Frsize: pageSize, NameLen: longestName}
	return fuse.OK
}
