package pebblekv

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/assaydb/assay/kv/driver"
)

// fence stands between Pebble and the disk. From the first write that fails it lets nothing more
// through, so that the files stay as a crash at that moment would leave them, and plays a working
// disk to Pebble, in memory; the store returns the error from the commits that were running and
// takes no later one, so that nothing is acknowledged that the disk does not hold.
//
// Why not hand Pebble the error: Pebble v2.1.7 treats a failed write as fatal. A failed sync of the
// log calls Logger.Fatalf; a log whose buffered write failed panics with locks held, and when the
// log is rotated the panic unlocks a mutex that is not locked, which ends the process with no way
// to recover; a table that cannot be written is tried again without a pause while writers wait for
// ever. A program with a full disk would die or hang.
//
// Tables alone are read again, so that one of which a part is on the disk must not be played:
// Pebble gets the error of its write, tries again, and the table comes to lie in memory as a whole.
//
// The cost: a failure that Pebble would survive, such as that of a compaction, ends the store's
// commits too, and what Pebble still writes out and merges takes memory until the store is closed.
// Once space is free, closing and opening it brings it back with everything that was acknowledged
// as durable. The commits that met the failure are in doubt, as after any failed sync: their
// records may have reached the disk.
type fence struct {
	vfs.FS        // nil where there is no fence
	folder string // the store's; what is written elsewhere (a backup) is let through
	memory vfs.FS // holds what Pebble creates behind the fence
	look   bool   // the store is only read
	log    *slog.Logger
	onSync driver.OnSync // told of the syncs that it lets through
	driver.Failure
}

// guard completes what stands between Pebble and the rest: the disk, with a fence around it if o
// has one, and what hears of trouble. The folder is still to be named.
func (o *settings) guard(log *slog.Logger) *fence {
	if o.FS == nil {
		o.FS = vfs.Default // EnsureDefaults would start a goroutine that watches for slow disks
	}
	listener := pebble.EventListener{DataCorruption: func(i pebble.DataCorruptionInfo) {
		log.Error("pebble: corrupt data", "path", i.Path, "err", i.Details) // Pebble would end the process
	}}
	if o.EventListener != nil {
		listener = *o.EventListener // EnsureDefaults fills in what is missing
	}
	f := &fence{FS: o.FS, memory: vfs.NewMem(), log: log, look: o.ReadOnly}
	o.EventListener, o.Logger = &listener, logger{log.With("engine", "pebble"), nil}
	if o.fenced {
		o.FS, o.Logger = f, logger{log.With("engine", "pebble"), f}
	}
	return f
}

// outcome returns what came of a call of Pebble that returned err: the failure, of which Pebble
// knows nothing, if the fence is up.
func (f *fence) outcome(err error) error {
	if failed := f.Cause(); failed != nil {
		return failed
	}
	return classify(err)
}

// run returns what came of call, a call of Pebble that changes something.
func (f *fence) run(call func() error) error {
	if err := f.Err(); err != nil {
		return err
	}
	return f.outcome(call())
}

// read is outcome for what changes nothing.
func (f *fence) read(err error) error {
	if err == nil || err == pebble.ErrNotFound {
		return classify(err)
	}
	return f.outcome(err)
}

// raise raises the fence because of err; the first error stays the cause.
func (f *fence) raise(err error) {
	if f.Stop(err) {
		f.log.Error("pebble: a write failed, the store stops", "folder", f.folder, "err", err)
	}
}

// guards reports whether name belongs to the store.
func (f *fence) guards(name string) bool {
	rest, ok := strings.CutPrefix(name, f.folder)
	return ok && (rest == "" || os.IsPathSeparator(rest[0]))
}

// do runs a change of the folder unless the fence is up, when it runs instead on what is held in
// memory.
func (f *fence) do(name string, change func(fs vfs.FS) error) error {
	if !f.guards(name) {
		return change(f.FS)
	}
	if f.Cause() == nil {
		err := change(f.FS)
		if err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist) {
			return err
		}
		f.raise(err)
	}
	_ = change(f.memory) // names what is on the disk only; Pebble takes it as done
	return nil
}

// open creates a file unless the fence is up, when it creates one in memory.
func (f *fence) open(name string, open func(fs vfs.FS) (vfs.File, error)) (vfs.File, error) {
	if !f.guards(name) {
		return open(f.FS)
	}
	if f.Cause() == nil {
		file, err := open(f.FS)
		if err == nil {
			return &guardedFile{File: file, fence: f, table: isTable(name)}, nil
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
	if f.Cause() != nil && f.guards(name) {
		if file, err := f.memory.Open(name, opts...); err == nil {
			return file, nil
		}
	}
	file, err := f.FS.Open(name, opts...)
	if err == nil && f.look && isTable(name) {
		return looked{file}, nil
	}
	return file, err
}

func (f *fence) Remove(name string) error {
	return f.do(name, func(fs vfs.FS) error { return fs.Remove(name) })
}

func (f *fence) Rename(oldname, newname string) error {
	return f.do(newname, func(fs vfs.FS) error { return fs.Rename(oldname, newname) })
}

func (f *fence) Link(oldname, newname string) error {
	return f.do(newname, func(fs vfs.FS) error { return fs.Link(oldname, newname) })
}

func (f *fence) Unwrap() vfs.FS { return f.FS }

// guardedFile is a file on the disk; writes and syncs go through only while the fence is down.
type guardedFile struct {
	vfs.File
	fence *fence
	table bool // which is read again
}

// do runs a write or a sync. Pebble is told of its failure where the file is a table.
func (g *guardedFile) do(change func() error) error {
	err := g.fence.Cause()
	if err == nil {
		if err = change(); err != nil {
			g.fence.raise(err)
		}
	}
	if g.table {
		return err
	}
	return nil
}

func (g *guardedFile) Write(p []byte) (int, error) {
	return len(p), g.do(func() error { _, err := g.File.Write(p); return err })
}

func (g *guardedFile) WriteAt(p []byte, at int64) (int, error) {
	return len(p), g.do(func() error { _, err := g.File.WriteAt(p, at); return err })
}

func (g *guardedFile) Sync() error { return g.sync(g.File.Sync) }

func (g *guardedFile) SyncData() error { return g.sync(g.File.SyncData) }

func (g *guardedFile) sync(sync func() error) error {
	return g.do(func() error { return g.fence.onSync.Time(sync) })
}

// SyncTo is a sync on some file systems only: on others it has the system begin to write.
func (g *guardedFile) SyncTo(length int64) (full bool, err error) {
	err = g.do(func() (err error) {
		began := time.Now()
		if full, err = g.File.SyncTo(length); g.fence.onSync != nil && (full || err != nil) {
			g.fence.onSync(time.Since(began), err)
		}
		return err
	})
	return full, err
}

// logger passes Pebble's messages on.
type logger struct {
	to    *slog.Logger
	fence *fence // nil without one
}

// Infof is part of pebble.Logger, as are the methods that follow.
func (l logger) Infof(format string, args ...any)  { l.to.Debug(fmt.Sprintf(format, args...)) }
func (l logger) Errorf(format string, args ...any) { l.to.Error(fmt.Sprintf(format, args...)) }

// Fatalf raises the fence instead of ending the process, and returns: what Pebble does from there
// on reaches neither the disk nor a caller.
func (l logger) Fatalf(format string, args ...any) {
	if l.fence == nil {
		pebble.DefaultLogger.Fatalf(format, args...)
	}
	err := fmt.Errorf(strings.TrimPrefix(format, "pebble: "), args...)
	for _, a := range args {
		if cause, ok := a.(error); ok {
			err = cause
		}
	}
	l.fence.raise(err)
}

// capabilitiesOf tells what a store can do behind the fence, or without it. Of an Open whose last
// sync of the folder fails Pebble v2.1.7 leaves a compaction running, without the lock: it writes
// to a manifest that the next Open may have read, and stores were found whose tables were gone.
func capabilitiesOf(fenced bool) driver.Caps {
	c := capabilities
	for i := range c.Promises {
		c.Promises[i].DiskMayBreak = !fenced
	}
	return c
}
