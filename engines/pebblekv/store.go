package pebblekv

import (
	"bytes"
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open Pebble database.
type store struct {
	db    *pebble.DB
	o     *settings // nil for a database that the program has opened
	fence *fence
	own   txn // of Begin
}

// checkpointed is a store that can write checkpoints: Pebble's read-only ones cannot, and kv copies
// their pairs.
type checkpointed struct{ *store }

func newStore(s *store, readOnly bool) driver.Store {
	s.own.batch = s.db.NewBatch()
	if readOnly {
		return s
	}
	return checkpointed{s}
}

// Caps tells what this store can do.
func (s *store) Caps() driver.Caps { return capabilitiesOf(s.o != nil && s.o.fenced) }

// Settings tells the settings in force.
func (s *store) Settings() []driver.Setting {
	if s.o == nil {
		return nil
	}
	return table.Settings(s.o)
}

// Snapshot returns the last committed state.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	r := &reader{db: s.db, fence: s.fence}
	return r, r.Renew(ctx)
}

// Get reads without a snapshot, which takes Pebble about half as long.
func (s *store) Get(_ context.Context, dst, key []byte) ([]byte, error) {
	return (&reader{from: s.db, fence: s.fence}).Get(dst, key)
}

// Begin starts a transaction, in the memory of the one before.
func (s *store) Begin(_ context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.fence.Err(); err != nil {
		return nil, err
	}
	t := &s.own
	t.db, t.from, t.fence, t.sync = s.db, s.db, s.fence, syncs[d]
	return t, nil
}

// syncs are the options that deliver each class. Pebble keeps the records of NoSync in memory.
var syncs = [...]*pebble.WriteOptions{pebble.Sync, pebble.Sync, pebble.NoSync}

// Apply commits ops as one batch.
func (s *store) Apply(_ context.Context, ops []driver.Op, d driver.Durability) error {
	if err := s.fence.Err(); err != nil {
		return err
	}
	b := s.db.NewBatch()
	for i := range ops {
		if err := write(b, &ops[i]); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	if err := s.fence.outcome(b.Commit(syncs[d])); err != nil {
		return err
	}
	return b.Close()
}

// Compact writes the memory tables out and merges every level over all keys. Pebble deletes
// obsolete tables in its own time.
func (s *store) Compact(ctx context.Context) error {
	last := bytes.Repeat([]byte{0xff}, 256) // above all keys but absurd ones, which are left out then
	return s.fence.run(func() error { return s.db.Compact(ctx, nil, last, false) })
}

// Check reads every level, which verifies the checksum of every block and the order of all keys.
// Behind the fence the levels are not those on the disk.
func (s *store) Check(context.Context) error {
	err := s.fence.run(func() error { return s.db.CheckLevels(nil) })
	if err != nil && driver.KindOf(err) == driver.Other {
		return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "restore a backup"}
	}
	return err
}

// Backup writes a checkpoint: hard links of the tables where the file system has them, copies of
// the rest.
func (s checkpointed) Backup(_ context.Context, path string) error {
	return s.fence.run(func() error { return s.checkpoint(path) })
}

// Close syncs the log, so that Buffered commits survive too, and stops Pebble's goroutines. Behind
// the fence it loses what they left in memory. A database that the program has opened stays open.
func (s *store) Close() error {
	if s.o == nil {
		return nil
	}
	return s.fence.outcome(s.db.Close())
}
