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
func (s *store) Compact(ctx context.Context) error {
	if !s.caps.Compacts {
		return nil
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
	if err = driver.SyncDir(filepath.Dir(path)); err != nil {
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
	if same, err := isAt(info, path); err != nil || !same {
		moved := fmt.Errorf("another file is at %s by now", path)
		return nil, errors.Join(err, &driver.Error{Kind: driver.Invalid, Err: moved, Hint: "open the store again"})
	}
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".compact")
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) { // a process that was killed left it
		return nil, err
	}
	o := *s.options
	o.bolt.PageSize = old.pageSize
	fresh, err := openFile(temporary, &o)
	if err != nil {
		return nil, err
	}
	if err = errors.Join(fresh.os.Chmod(info.Mode().Perm()), fresh.copyData(old), ctx.Err()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return nil, errors.Join(err, fresh.release(), os.Remove(temporary))
	}
	return fresh, nil
}

// copyData syncs once, at the end.
func (f *file) copyData(old *file) (err error) {
	defer f.recovered(&err, protect())
	f.db.NoSync = true
	if f.reserved {
		f.db.AllocSize = f.pageSize
	}
	if err := bolt.Compact(f.db, old.db, compactTxSize); err != nil {
		return classify(err)
	}
	return f.db.Sync()
}

// Check reads all keys, then lets bbolt check every page and the free list. The reading comes first
// because bbolt checks in a goroutine of its own, where a fault could not be caught.
func (s *store) Check(ctx context.Context) error {
	if s.options.bolt.ReadOnly {
		// bbolt: a check loads the free list into the DB, which is not safe beside readers of the
		// same DB.
		return withFile(s.path, s.options, func(tx *bolt.Tx) error { return check(ctx, tx) })
	}
	var r reader
	// bbolt: beside writers, of which a wrapped DB may have others than kv's, only a transaction of
	// theirs may check.
	if err := r.begin(ctx, s, readWrite); err != nil {
		return err
	}
	return errors.Join(check(ctx, r.tx), r.Close())
}

// check returns the first fault. It reads bbolt's channel to its end, as bbolt requires.
func check(ctx context.Context, tx *bolt.Tx) error {
	first := walk(ctx, tx)
	if first == nil {
		for err := range tx.Check() {
			if first == nil {
				first = corrupt(err)
			}
		}
	}
	return first
}

// Backup writes the pages of the last committed state to path, those of other buckets included.
func (s *store) Backup(ctx context.Context, path string) error {
	var r reader
	if err := r.begin(ctx, s, readOnly); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = r.tx.WriteTo(f)
		err = errors.Join(classify(err), f.Close())
	}
	return errors.Join(err, r.Close())
}
