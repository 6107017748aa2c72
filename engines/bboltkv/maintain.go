package bboltkv

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

// compactTxSize bounds a transaction of a compaction, and so its memory, in bytes.
const compactTxSize = 16 << 20

// Compact copies all data into a new file beside the old one, syncs it and renames it over. Snapshots that are open go
// on reading the old file, which the last of them closes. ctx is consulted before the copy begins.
//
// The new file is open, and locked, before it gets the name: no other process can come between. One that was waiting
// for the old file's lock finds that the name has moved on (see verify).
func (s *store) Compact(ctx context.Context) error {
	switch {
	case s.options.bolt.ReadOnly:
		return &driver.Error{Kind: driver.NotWritable, Err: errors.New("the store was opened read-only")}
	case !compacts:
		return &driver.Error{Kind: driver.Unsupported, Err: errors.New("this system does not rename over an open file"),
			Hint: "make a backup and use that instead"}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	old, err := s.acquire()
	if err != nil {
		return err
	}
	fresh, err := s.copyFile(old)
	if err != nil {
		return errors.Join(err, old.release())
	}
	s.file.Store(fresh)
	return errors.Join(driver.SyncDir(filepath.Dir(s.path)), old.release(), old.release())
}

// copyFile returns an open, synced copy of old that has taken over the path.
func (s *store) copyFile(old *file) (fresh *file, err error) {
	temporary := s.path + ".compact"
	if err := os.RemoveAll(temporary); err != nil {
		return nil, err
	}
	o := *s.options
	o.bolt.PageSize = old.db.Info().PageSize
	if fresh, err = openFile(temporary, &o); err != nil {
		return nil, err
	}
	if err := errors.Join(copyData(fresh, old), copyMode(fresh, old)); err != nil {
		return nil, errors.Join(err, fresh.release(), os.Remove(temporary))
	}
	if err := os.Rename(temporary, s.path); err != nil {
		return nil, errors.Join(err, fresh.release(), os.Remove(temporary))
	}
	return fresh, nil
}

// copyData syncs once, at the end.
func copyData(fresh, old *file) (err error) {
	defer fresh.recovered(&err, protect())
	fresh.endFirst()
	noGrowSync := fresh.db.NoGrowSync
	fresh.db.NoSync, fresh.db.NoGrowSync = true, true
	if err := bolt.Compact(fresh.db, old.db, compactTxSize); err != nil {
		return classify(err)
	}
	fresh.db.NoGrowSync = noGrowSync
	return fresh.db.Sync()
}

func copyMode(fresh, old *file) error {
	info, err := old.os.Stat()
	if err != nil {
		return err
	}
	return fresh.os.Chmod(info.Mode().Perm())
}

// Check walks over all pairs, then lets bbolt check every page and the free list. A writer waits meanwhile.
//
// The walk comes first because bbolt checks in a goroutine of its own, where a fault could not be caught.
func (s *store) Check(ctx context.Context) error {
	if err := s.walk(ctx); err != nil {
		return err
	}
	if s.options.bolt.ReadOnly {
		return s.checkApart()
	}
	var r reader
	// bbolt: a check is safe beside writers only within the write transaction.
	if err := r.begin(s, readWrite); err != nil {
		return err
	}
	return errors.Join(check(r.tx), r.end())
}

// checkApart checks a second opening of the file: a check loads the free list into the DB, and that is not safe beside
// readers of the same DB.
func (s *store) checkApart() error {
	f, err := openFile(s.path, s.options)
	if err != nil {
		return err
	}
	err = f.db.View(check)
	return errors.Join(err, f.release())
}

// check returns the first fault. It reads bbolt's channel to its end, as bbolt requires.
func check(tx *bolt.Tx) error {
	var first error
	for err := range tx.Check() {
		if first == nil {
			first = corrupt(err)
		}
	}
	return first
}

// walk reads every pair and requires ascending keys.
func (s *store) walk(ctx context.Context) (err error) {
	r, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	c, err := r.Cursor(driver.Range{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var last []byte
	for n := 0; ; n++ {
		k, _, err := c.Next()
		switch {
		case err != nil:
			return err
		case k == nil:
			return nil
		case last != nil && bytes.Compare(last, k) >= 0:
			return corrupt("keys out of order")
		case n%1024 == 0 && ctx.Err() != nil:
			return ctx.Err()
		}
		last = k
	}
}

// Backup writes the pages of the last committed state to path.
func (s *store) Backup(ctx context.Context, path string) error {
	var r reader
	if err := r.begin(s, readOnly); err != nil {
		return err
	}
	return errors.Join(writeTo(ctx, r.tx, path), r.end())
}

func writeTo(ctx context.Context, tx *bolt.Tx, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = tx.WriteTo(cancellable{ctx, f})
	return errors.Join(classify(err), f.Close())
}

// cancellable is a file that refuses to be written once the context has ended.
type cancellable struct {
	ctx  context.Context
	file *os.File
}

func (c cancellable) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.file.Write(p)
}
