package levelkv

import (
	"sync"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/assaydb/assay/kv/driver"
)

// files is goleveldb's storage in a folder, with two things added that v1.0.0 lacks.
//
// CURRENT never names a manifest that is not on the disk: goleveldb writes a new manifest, makes
// CURRENT name it and removes the journals that it replaces, all without syncing the manifest. A
// power cut while a store was opened took the store, or its latest commits, synced ones included.
//
// After a write or sync that failed none is tried again: what the kernel dropped then would be a
// hole in the file, and goleveldb, which goes on with the next commit or tries again, would
// acknowledge what stands behind it. A later record in the same 32 KiB of the journal could be
// skipped together with it on opening.
type files struct {
	storage.Storage
	driver.Failure // the first write or sync that failed
	onSync         driver.OnSync

	mu       sync.Mutex
	manifest *file // the one that was created last
}

// file is a file that is being written.
type file struct {
	storage.Writer
	fd    storage.FileDesc
	files *files
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
	created := &file{w, fd, f}
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
	return f.Storage.Remove(fd)
}

// Write appends to the file.
func (w *file) Write(p []byte) (n int, err error) {
	err = w.files.do(func() (err error) { n, err = w.Writer.Write(p); return err })
	return n, err
}

// Sync makes the file durable.
func (w *file) Sync() error {
	return w.files.do(func() error { return w.files.onSync.Time(w.Writer.Sync) })
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
