package levelkv

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/assaydb/assay/kv/driver"
)

// files is goleveldb's storage in a folder, with three things added that v1.0.0 lacks.
//
// CURRENT never names a manifest that is not on the disk: goleveldb writes a new manifest, makes
// CURRENT name it and removes the journals that it replaces, all without syncing the manifest. A
// power cut while a store was opened took the store, or its latest commits, synced ones included.
//
// After a write or sync that failed none is tried again: what the kernel dropped then would be a
// hole in the file, and goleveldb, which goes on with the next commit or tries again, would
// acknowledge what stands behind it. A later record in the same 32 KiB of the journal could be
// skipped together with it on opening.
//
// The sync of a journal is one of those before it, too: goleveldb begins another journal when the
// table in memory is full, and syncs the old one never, so that a synced commit could be there and
// a flushed one before it not. One that was written since its last sync stays open until it is
// synced, or removed, as its table is on the disk.
type files struct {
	storage.Storage
	driver.Failure // the first write or sync that failed
	onSync         driver.OnSync

	mu       sync.Mutex
	manifest *file   // the one that was created last
	behind   []*file // journals that are not written any more, and not synced
}

// file is a file that is being written.
type file struct {
	storage.Writer
	fd    storage.FileDesc
	files *files
	dirty atomic.Bool // written since it was synced
}

// do runs a write or sync unless one has failed.
func (f *files) do(change func() error) error {
	if err := f.Cause(); err != nil {
		return err
	}
	err := change()
	if err != nil {
		f.Stop(err)
		return f.Cause()
	}
	return nil
}

// Create creates a file.
func (f *files) Create(fd storage.FileDesc) (storage.Writer, error) {
	w, err := f.Storage.Create(fd)
	if err != nil {
		return nil, err
	}
	created := &file{Writer: w, fd: fd, files: f}
	if fd.Type == storage.TypeManifest {
		f.mu.Lock()
		f.manifest = created
		f.mu.Unlock()
	}
	return created, nil
}

// Remove removes a file, unless a write or sync has failed: goleveldb gives up a manifest when the
// folder's sync fails, which CURRENT names by then.
func (f *files) Remove(fd storage.FileDesc) error {
	if err := f.Cause(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.IndexFunc(f.behind, func(w *file) bool { return w.fd == fd }); i >= 0 {
		_ = f.behind[i].Writer.Close() // what is in it is not needed any more
		f.behind = slices.Delete(f.behind, i, i+1)
	}
	return f.Storage.Remove(fd)
}

// Close closes the journals that are still open, and gives up the lock.
func (f *files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	for _, w := range f.behind {
		err = errors.Join(err, w.Writer.Close())
	}
	f.behind = nil
	return errors.Join(err, f.Storage.Close())
}

// Write appends to the file.
func (w *file) Write(p []byte) (n int, err error) {
	w.dirty.Store(true)
	err = w.files.do(func() (err error) { n, err = w.Writer.Write(p); return err })
	return n, err
}

// Sync makes the file durable, and the journals before a journal.
func (w *file) Sync() error {
	if w.fd.Type == storage.TypeJournal {
		if err := w.files.syncBehind(); err != nil {
			return err
		}
	}
	err := w.files.do(func() error { return w.files.onSync.Time(w.Writer.Sync) })
	if err == nil {
		w.dirty.Store(false)
	}
	return err
}

// Close closes the file, unless it is a journal of which something is not synced.
func (w *file) Close() error {
	if w.fd.Type != storage.TypeJournal || !w.dirty.Load() {
		return w.Writer.Close()
	}
	w.files.mu.Lock()
	defer w.files.mu.Unlock()
	w.files.behind = append(w.files.behind, w)
	return nil
}

// syncBehind syncs and closes the journals that are not written any more.
func (f *files) syncBehind() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.behind) > 0 {
		w := f.behind[0]
		if err := f.do(func() error { return f.onSync.Time(w.Writer.Sync) }); err != nil {
			return err
		}
		f.behind = f.behind[1:]
		_ = w.Writer.Close() // it is on the disk
	}
	return nil
}

// SetMeta makes CURRENT name the manifest fd, once that is on the disk. One that was not created
// here is: it was found.
func (f *files) SetMeta(fd storage.FileDesc) error {
	f.mu.Lock()
	m := f.manifest
	f.mu.Unlock()
	if m != nil && m.fd == fd {
		if err := m.Sync(); err != nil {
			return err
		}
	}
	return f.do(func() error { return f.onSync.Time(func() error { return f.Storage.SetMeta(fd) }) })
}
