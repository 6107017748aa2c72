package powerfs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	writeCache = 1 // of WriteIn.WriteFlags: the kernel writes back pages that were mapped
	fsyncData  = 1 // of FsyncIn.FsyncFlags: it is an fdatasync
)

func access(flags uint32) Access {
	if flags&unix.O_ACCMODE == unix.O_RDONLY {
		return ReadOnly
	}
	return ReadWrite
}

// opened gives an open file its number, and lets the kernel keep the pages from one open to the
// next. Without the flag it drops them; direct I/O, the alternative, would forbid shared mappings.
func (fs *fuseFS) opened(id ID, out *fuse.OpenOut) {
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.last++
	out.Fh = fs.last
	fs.told[out.Fh] = fs.disk.lostSyncs(id)
}

// tell returns what the sync of an open file says: if another's sync of that file has failed since
// the file was opened, or since its own last sync, that it did, once. Linux: Handling errors during
// writeback, Documentation/filesystems/vfs.rst (errseq_t, since 4.13).
func (fs *fuseFS) tell(id ID, fh uint64, err error) fuse.Status {
	lost := fs.disk.lostSyncs(id)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if err == nil && fs.told[fh] != lost {
		err = unix.EIO
	}
	fs.told[fh] = lost
	return status(err)
}

func (fs *fuseFS) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	a, err := fs.disk.Create(ID(in.NodeId), name, in.Mode, owner(&in.InHeader))
	if err != nil {
		return status(err)
	}
	if err := fs.disk.Open(a.ID, access(in.Flags)); err != nil {
		fs.disk.Forget(a.ID, 1)
		return status(err)
	}
	fillEntry(&out.EntryOut, a)
	fs.noteFlags(in.Flags)
	fs.opened(a.ID, &out.OpenOut)
	return fuse.OK
}

func (fs *fuseFS) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if fs.isSettler(&in.InHeader) {
		fs.disk.openSettling(ID(in.NodeId))
	} else if err := fs.disk.Open(ID(in.NodeId), access(in.Flags)); err != nil {
		return status(err)
	}
	fs.noteFlags(in.Flags)
	fs.opened(ID(in.NodeId), out)
	return fuse.OK
}

// noteFlags notes what a file was opened with.
func (fs *fuseFS) noteFlags(flags uint32) {
	if flags&unix.O_DIRECT != 0 {
		fs.disk.note(UseDirect)
	}
	if flags&unix.O_SYNC != 0 { // its bits have those of O_DSYNC among them
		fs.disk.note(UseSynced)
	}
}

func (fs *fuseFS) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	fs.disk.Release(ID(in.NodeId), access(in.Flags))
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.told, in.Fh)
}

func (fs *fuseFS) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, err := fs.disk.Read(ID(in.NodeId), int64(in.Offset), buf[:min(len(buf), int(in.Size))])
	if err != nil {
		return nil, status(err)
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

func (fs *fuseFS) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	from := FromCall
	if in.WriteFlags&writeCache != 0 {
		from = FromCache
	}
	n, err := fs.disk.Write(ID(in.NodeId), int64(in.Offset), data, from)
	if from == FromCache && err == nil {
		n = len(data) // what lay behind the end is nobody's
	}
	return uint32(n), status(err)
}

func (fs *fuseFS) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	if fs.isSettler(&in.InHeader) {
		return fuse.OK // the kernel has written the pages back before it asked; they are not to be durable
	}
	id, fh, sync := ID(in.NodeId), in.Fh, fs.disk.Sync
	if in.FsyncFlags&fsyncData != 0 {
		sync = fs.disk.SyncData
	}
	return fs.nowOrLater(&in.InHeader, func() fuse.Status { return fs.tell(id, fh, sync(id)) })
}

func (fs *fuseFS) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	var mode Allocation
	switch in.Mode {
	case 0:
		mode = Extend
	case unix.FALLOC_FL_KEEP_SIZE:
		mode = KeepSize
	case unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE:
		mode = PunchHole
	case unix.FALLOC_FL_ZERO_RANGE:
		mode = ZeroRange
	case unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE:
		mode = ZeroKeep
	default:
		return fuse.Status(unix.EOPNOTSUPP)
	}
	return status(fs.disk.Fallocate(ID(in.NodeId), int64(in.Offset), int64(in.Length), mode))
}

func (fs *fuseFS) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if fs.isSettler(&in.InHeader) {
		return fuse.OK
	}
	entries, err := fs.disk.Readdir(ID(in.NodeId))
	if err != nil {
		return status(err)
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.last++
	fs.folders[fs.last] = entries
	out.Fh = fs.last
	return fuse.OK
}

func (fs *fuseFS) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	fs.mu.Lock()
	entries := fs.folders[in.Fh]
	fs.mu.Unlock()
	if in.Offset == 0 { // opened, or rewound: as it is now
		fresh, err := fs.disk.Readdir(ID(in.NodeId))
		if err != nil {
			return status(err)
		}
		entries = fresh
		fs.mu.Lock()
		fs.folders[in.Fh] = fresh
		fs.mu.Unlock()
	}
	for at := in.Offset; at < uint64(len(entries)); at++ {
		e := entries[at]
		if !out.AddDirEntry(fuse.DirEntry{Name: e.Name, Ino: uint64(e.ID), Mode: e.Mode, Off: at + 1}) {
			break
		}
	}
	return fuse.OK
}

func (fs *fuseFS) ReleaseDir(in *fuse.ReleaseIn) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	delete(fs.folders, in.Fh)
}

func (fs *fuseFS) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	id := ID(in.NodeId)
	return fs.nowOrLater(&in.InHeader, func() fuse.Status { return status(fs.disk.Sync(id)) })
}
