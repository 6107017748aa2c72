package badgerkv

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open Badger database.
type store struct {
	db   *badger.DB
	path string
	room *room
	caps driver.Caps

	failed *driver.Failure
}

var _ driver.Store = (*store)(nil)

// Caps tells what this store can do.
func (s *store) Caps() driver.Caps { return s.caps }

// Settings tells the settings in force, as Badger has them.
func (s *store) Settings() []driver.Setting { return list(s.db.Opts()) }

// Snapshot returns the last committed state: Badger waits for the commits that have a time stamp already.
func (s *store) Snapshot(context.Context) (driver.Reader, error) {
	return &reader{txn: s.db.NewTransaction(false)}, nil
}

// Begin starts a transaction.
func (s *store) Begin(_ context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.check(d); err != nil {
		return nil, err
	}
	return &txn{reader: reader{txn: s.db.NewTransaction(true)}, store: s}, nil
}

// Apply commits ops as one transaction. It need not copy them: Badger has done so when the commit returns.
func (s *store) Apply(_ context.Context, ops []driver.Op, d driver.Durability) error {
	if err := s.check(d); err != nil {
		return err
	}
	var size int64
	for i := range ops {
		size += pairSize(ops[i].Key, ops[i].Value)
	}
	if err := s.room.take(size); err != nil {
		return driver.NotDone(err)
	}
	t := s.db.NewTransaction(true)
	defer t.Discard()
	for i := range ops {
		var err error
		if op := &ops[i]; op.Delete {
			err = t.Delete(op.Key)
		} else {
			err = t.Set(op.Key, op.Value)
		}
		if err != nil {
			return classify(err)
		}
	}
	return s.committed(t.Commit())
}

// committed classifies the error of a commit. After one of the disk's Badger would go on behind the hole that it leaves in
// the log, and recovery ends at the hole: no later commit is taken.
func (s *store) committed(err error) error {
	if err = classify(err); err == nil {
		if err := s.failed.Err(); err != nil { // see logger
			return &driver.Error{Kind: driver.InDoubt, Err: err}
		}
		return nil
	}
	if driver.IsInDoubt(err) {
		s.failed.Stop(err)
	}
	return err
}

// pairSize is about what a pair takes in Badger's log.
func pairSize(key, value []byte) int64 { return int64(len(key) + len(value) + 32) }

// check refuses what was not asked for when the store was opened, and everything after a failure of the disk.
func (s *store) check(d driver.Durability) error {
	if err := s.failed.Err(); err != nil {
		return err
	}
	if s.caps.Promise(d).Supported {
		return nil
	}
	return &driver.Error{Kind: driver.Unsupported, Err: errors.New("badger fixes durability when it opens, and was not to sync"),
		Hint: "open the store with ?durability=synced or ?SyncWrites=true"}
}

// Compact merges all levels into one and rewrites the files of large values that are half dead.
func (s *store) Compact(ctx context.Context) error {
	tables, values := s.db.Size()
	if err := newRoom(s.path, s.db.Opts()).take(max(tables, values)); err != nil {
		return err
	}
	if err := s.db.Flatten(max(s.db.Opts().NumCompactors, 1)); err != nil {
		return classify(err)
	}
	const dead = 0.5
	for ctx.Err() == nil {
		err := s.db.RunValueLogGC(dead)
		if errors.Is(err, badger.ErrNoRewrite) {
			return nil
		}
		if err != nil {
			return classify(err)
		}
	}
	return ctx.Err()
}

// Check verifies the checksum of every block of every table, and reads every value.
func (s *store) Check(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = corrupt("badger panics: %v", r)
		}
	}()
	if err := s.db.VerifyChecksum(); err != nil {
		return corrupt("%w", err)
	}
	r, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	c, err := r.Cursor(driver.Range{})
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		if k, _, err := c.Next(); k == nil || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// Files lists the folder; everything of the store is in it.
func (s *store) Files() ([]string, error) { return []string{s.path}, nil }

// Backup streams the last committed state into a new store.
func (s *store) Backup(_ context.Context, path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	o := s.db.Opts().WithDir(path).WithValueDir(path).WithReadOnly(false).WithSyncWrites(false)
	tables, values := s.db.Size()
	if err := newRoom(path, o).take(tables + values); err != nil {
		return err
	}
	to, err := open(o)
	if err != nil {
		return classifyOpen(err)
	}
	return classify(errors.Join(pour(s.db, to), to.Close()))
}

// pour writes what from holds to to.
func pour(from, to *badger.DB) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := from.Backup(w, 0)
		w.CloseWithError(err) // nil ends the stream
		done <- err
	}()
	const pending = 16 // batches on their way
	err := to.Load(r, pending)
	r.CloseWithError(err) // lets the goroutine go where Load ended early
	if cause := <-done; err == nil {
		err = cause
	}
	return err
}

// Close writes out what is in memory and stops Badger's goroutines.
func (s *store) Close() error { return classify(s.db.Close()) }
