package pebblekv

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/assaydb/assay/kv/driver"
)

// fence stands between Pebble and the disk. From the first write that fails it lets nothing more through, so that the
// files stay as a crash at that moment would leave them, and plays a working disk to Pebble, in memory; the store
// returns the error from every later call, so that nothing is acknowledged that the disk does not hold.
//
// Why not hand Pebble the error: Pebble v2.1.7 treats a failed write as fatal. A failed sync of the log calls
// Logger.Fatalf; a log whose buffered write failed panics with locks held, and when the log is rotated the panic
// unlocks a mutex that is not locked, which ends the process with no way to recover; a table that cannot be written
// is tried again without a pause while writers wait for ever. A program with a full disk would die or hang.
//
// The cost: a failure that Pebble would survive, such as that of a compaction, ends the store's work too. Once space
// is free, closing and opening it brings it back with everything that was acknowledged as durable.
// The commit that met the failure is in doubt, as after any failed sync: its record may have reached the disk.
type fence struct {
	vfs.FS
	folder string // the store's; what is written elsewhere (a backup) is let through
	memory vfs.FS // holds what Pebble creates behind the fence
	cause  driver.Failure
	log    *slog.Logger
}

var _ vfs.FS = (*fence)(nil)

func newFence(disk vfs.FS, folder string, log *slog.Logger) *fence {
	return &fence{FS: disk, folder: folder, memory: vfs.NewMem(), log: log}
}

// failed returns the error that raised the fence, or nil.
func (f *fence) failed() error { return f.cause.Err() }

// raise raises the fence because of err; the first error stays the cause.
func (f *fence) raise(err error) {
	if f.cause.Stop(err) {
		f.log.Error("pebble: a write failed, the store stops", "folder", f.folder, "err", err)
	}
}

// guards reports whether name belongs to the store.
func (f *fence) guards(name string) bool {
	rest, ok := strings.CutPrefix(name, f.folder)
	return ok && (rest == "" || os.IsPathSeparator(rest[0]))
}

// do runs a change of the folder unless the fence is up, when it runs instead on what is held in memory.
func (f *fence) do(name string, onDisk, inMemory func() error) error {
	if !f.guards(name) {
		return onDisk()
	}
	if f.failed() == nil {
		err := onDisk()
		if err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist) {
			return err
		}
		f.raise(err)
	}
	_ = inMemory() // names what is on the disk only; Pebble takes it as done
	return nil
}

// open creates a file unless the fence is up, when it creates one in memory.
func (f *fence) open(name string, open func(fs vfs.FS) (vfs.File, error)) (vfs.File, error) {
	if !f.guards(name) {
		return open(f.FS)
	}
	if f.failed() == nil {
		file, err := open(f.FS)
		if err == nil {
			return &guardedFile{File: file, fence: f}, nil
		}
		f.raise(err)
	}
	if err := f.memory.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	return open(f.memory)
}

// Create is part of vfs.FS, as are the methods that follow.
func (f *fence) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(name, func(fs vfs.FS) (vfs.File, error) { return fs.Create(name, c) })
}

func (f *fence) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.open(name, func(fs vfs.FS) (vfs.File, error) { return fs.OpenReadWrite(name, c, opts...) })
}

func (f *fence) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(newname, func(fs vfs.FS) (vfs.File, error) {
		if fs == f.memory {
			return fs.Create(newname, c)
		}
		return fs.ReuseForWrite(oldname, newname, c)
	})
}

func (f *fence) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil || !f.guards(name) {
		return dir, err
	}
	return &guardedFile{File: dir, fence: f}, nil
}

func (f *fence) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if f.failed() != nil && f.guards(name) {
		if file, err := f.memory.Open(name, opts...); err == nil {
			return file, nil
		}
	}
	return f.FS.Open(name, opts...)
}

func (f *fence) Stat(name string) (vfs.FileInfo, error) {
	if f.failed() != nil && f.guards(name) {
		if info, err := f.memory.Stat(name); err == nil {
			return info, nil
		}
	}
	return f.FS.Stat(name)
}

func (f *fence) Remove(name string) error {
	return f.do(name, func() error { return f.FS.Remove(name) }, func() error { return f.memory.Remove(name) })
}

func (f *fence) RemoveAll(name string) error {
	return f.do(name, func() error { return f.FS.RemoveAll(name) }, func() error { return f.memory.RemoveAll(name) })
}

func (f *fence) Rename(oldname, newname string) error {
	return f.do(newname, func() error { return f.FS.Rename(oldname, newname) },
		func() error { return f.memory.Rename(oldname, newname) })
}

func (f *fence) Link(oldname, newname string) error {
	return f.do(newname, func() error { return f.FS.Link(oldname, newname) },
		func() error { return f.memory.Link(oldname, newname) })
}

func (f *fence) MkdirAll(dir string, perm os.FileMode) error {
	return f.do(dir, func() error { return f.FS.MkdirAll(dir, perm) }, func() error { return f.memory.MkdirAll(dir, perm) })
}

func (f *fence) Unwrap() vfs.FS { return f.FS }

// guardedFile is a file on the disk; writes and syncs go through only while the fence is down.
type guardedFile struct {
	vfs.File
	fence *fence
}

func (g *guardedFile) Write(p []byte) (int, error) {
	if g.fence.failed() == nil {
		n, err := g.File.Write(p)
		if err == nil {
			return n, nil
		}
		g.fence.raise(err)
	}
	return len(p), nil
}

func (g *guardedFile) WriteAt(p []byte, at int64) (int, error) {
	if g.fence.failed() == nil {
		n, err := g.File.WriteAt(p, at)
		if err == nil {
			return n, nil
		}
		g.fence.raise(err)
	}
	return len(p), nil
}

func (g *guardedFile) Sync() error { return g.sync(g.File.Sync) }

func (g *guardedFile) SyncData() error { return g.sync(g.File.SyncData) }

func (g *guardedFile) SyncTo(length int64) (full bool, err error) {
	err = g.sync(func() (err error) { full, err = g.File.SyncTo(length); return err })
	return full, err
}

func (g *guardedFile) sync(sync func() error) error {
	if g.fence.failed() == nil {
		if err := sync(); err != nil {
			g.fence.raise(err)
		}
	}
	return nil
}

// logger passes Pebble's messages on, the fatal ones behind the fence.
type logger struct {
	*slog.Logger
	fence *fence
}

var _ pebble.Logger = logger{}

// Infof is part of pebble.Logger, as are the methods that follow.
func (l logger) Infof(format string, args ...any) {
	l.Debug("pebble: " + strings.TrimPrefix(fmt.Sprintf(format, args...), "pebble: "))
}

func (l logger) Errorf(format string, args ...any) {
	l.Error("pebble: " + strings.TrimPrefix(fmt.Sprintf(format, args...), "pebble: "))
}

// Fatalf raises the fence and returns: what Pebble does from here on reaches neither the disk nor a caller.
func (l logger) Fatalf(format string, args ...any) {
	err := fmt.Errorf(strings.TrimPrefix(format, "pebble: "), args...)
	for _, a := range args {
		if cause, ok := a.(error); ok {
			err = cause
		}
	}
	l.fence.raise(err)
}
