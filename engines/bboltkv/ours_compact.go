package bboltkv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// compactTxSize bounds a transaction of a compaction, and so its memory, in bytes.
const compactTxSize = 16 << 20

// Compact copies all data into a new file beside the old one, syncs it and renames it over.
// Snapshots that are open go on reading the old file, which the last of them closes. Through a
// symbolic link the file that it leads to is replaced.
//
// The new file is open, and locked, before it gets the name: no other process can come between. One
// that was waiting for the old file's lock finds that the name has moved on (see verify).
func (s *store) Compact(ctx context.Context) (err error) {
	if !s.caps.Compacts {
		return nil
	}
	defer func() { err = errors.Join(err, s.change()) }()
	if err := s.change(); err != nil {
		return err
	}
	path, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return err
	}
	old := s.file
	fresh, err := s.copyFile(ctx, old, path)
	if err != nil {
		return err
	}
	s.gate.Lock()
	s.file = fresh
	s.gate.Unlock()
	if err = fresh.onSync.Dir(filepath.Dir(path)); err != nil {
		s.failure.Stop(err) // a power loss may bring back the old file, without what would be committed from now on
	}
	return errors.Join(err, old.release())
}

// copyFile returns an open, synced copy of old that has taken over the path.
func (s *store) copyFile(ctx context.Context, old *file, path string) (*file, error) {
	info, err := old.os.Stat()
	if err != nil {
		return nil, err
	}
	switch same, err := isAt(info, path); {
	case err != nil:
		return nil, err
	case !same:
		moved := fmt.Errorf("another file is at %s by now", path)
		return nil, &driver.Error{Kind: driver.Invalid, Err: moved, Hint: "open the store again"}
	}
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".compact")
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) { // a process that was killed left it
		return nil, err
	}
	fresh, err := openFile(temporary, s.options)
	if err != nil {
		return nil, err
	}
	err = errors.Join(fresh.os.Chmod(info.Mode().Perm()), fresh.copyData(old, s.options), ctx.Err())
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return nil, errors.Join(err, fresh.release(), os.Remove(temporary))
	}
	return fresh, nil
}

// copyData syncs once, at the end.
func (f *file) copyData(old *file, o *options) (err error) {
	defer f.recovered(&err, protect())
	f.db.NoSync = true
	if o.reserved {
		f.db.AllocSize = o.PageSize
	}
	if err := bolt.Compact(f.db, old.db, compactTxSize); err != nil {
		return classify(err)
	}
	return f.onSync.Time(f.db.Sync)
}
