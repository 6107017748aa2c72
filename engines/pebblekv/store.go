package pebblekv

import (
	"bytes"
	"context"
	"errors"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open Pebble database.
type store struct {
	db    *pebble.DB
	o     *settings // nil for a database that the program has opened
	fence *fence    // nil without one
	caps  driver.Caps
}

// checkpointed is a store that can write checkpoints: Pebble's read-only ones cannot, and kv copies
// their pairs.
type checkpointed struct{ *store }

var (
	_ driver.Compacter  = checkpointed{}
	_ driver.Checker    = checkpointed{}
	_ driver.Backuper   = checkpointed{}
	_ driver.Configured = checkpointed{}
)

func newStore(s store, noLog, readOnly bool) driver.Store {
	s.caps = capabilities(noLog)
	if readOnly {
		return &s
	}
	return checkpointed{&s}
}

// Caps tells what this store can do.
func (s *store) Caps() driver.Caps { return s.caps }

// Settings tells the settings in force.
func (s *store) Settings() []driver.Setting {
	if s.o == nil {
		return nil
	}
	return table.Settings(s.o)
}

// Snapshot returns the last committed state.
func (s *store) Snapshot(context.Context) (driver.Reader, error) {
	snapshot := s.db.NewSnapshot()
	return &reader{view{from: snapshot, fence: s.fence}, snapshot}, nil
}

// Begin starts a transaction.
func (s *store) Begin(_ context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.fence.stopped(); err != nil {
		return nil, err
	}
	t, b := txns.Get().(*txn), s.db.NewIndexedBatch()
	*t = txn{view{from: b, fence: s.fence}, b, writeOptions(d)}
	return t, nil
}

// writeOptions are those that deliver d. Pebble keeps the records of NoSync in memory, so a Flushed
// commit is synced.
func writeOptions(d driver.Durability) *pebble.WriteOptions {
	if d == driver.Buffered {
		return pebble.NoSync
	}
	return pebble.Sync
}

// Apply commits ops as one batch.
func (s *store) Apply(_ context.Context, ops []driver.Op, d driver.Durability) error {
	if err := s.fence.stopped(); err != nil {
		return err
	}
	b := s.db.NewBatch()
	for i := range ops {
		if err := write(b, &ops[i]); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	if err := s.fence.outcome(b.Commit(writeOptions(d))); err != nil {
		return err
	}
	return b.Close()
}

// maxBatch is where Pebble panics, less the overhead of one operation.
const maxBatch = min(math.MaxUint32, math.MaxInt) - 64

// write adds op to b.
func write(b *pebble.Batch, op *driver.Op) error {
	switch {
	case b.Len() > maxBatch-len(op.Key)-len(op.Value):
		return classify(pebble.ErrBatchTooLarge)
	case op.Delete:
		return classify(b.Delete(op.Key, nil))
	}
	return classify(b.Set(op.Key, op.Value, nil))
}

// lastKey is above all keys but absurd ones, which a compaction then leaves out.
var lastKey = bytes.Repeat([]byte{0xff}, 256)

// Compact writes the memory tables out and merges every level over all keys. Pebble deletes
// obsolete tables in its own time, and gets a second for that: open snapshots may keep some.
func (s *store) Compact(ctx context.Context) error {
	if err := s.fence.stopped(); err != nil {
		return err
	}
	if err := s.fence.outcome(s.db.Compact(ctx, nil, lastKey, false)); err != nil {
		return err
	}
	for range 200 {
		if m := s.db.Metrics(); m.Table.ObsoleteSize+m.Table.ZombieSize == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// Check reads every level, which verifies the checksum of every block and the order of all keys.
// Behind the fence the levels are not those on the disk.
func (s *store) Check(context.Context) error {
	if err := s.fence.stopped(); err != nil {
		return err
	}
	err := s.fence.outcome(s.db.CheckLevels(nil))
	if err != nil && driver.KindOf(err) == driver.Other {
		return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "restore a backup"}
	}
	return err
}

// Backup writes a checkpoint: hard links of the tables where the file system has them, copies of
// the rest.
func (s checkpointed) Backup(_ context.Context, path string) error {
	if err := s.fence.stopped(); err != nil {
		return err
	}
	if !s.caps.Promise(driver.Synced).Supported {
		if err := s.db.Flush(); err != nil { // there is no log that would hold what is in memory
			return s.fence.outcome(err)
		}
	}
	return s.fence.outcome(s.db.Checkpoint(path, pebble.WithFlushedWAL()))
}

// Close syncs the log, so that Buffered commits survive too, and stops Pebble's goroutines. Behind
// the fence it loses what they left in memory. A database that the program has opened stays open.
func (s *store) Close() (err error) {
	if s.o == nil {
		return nil
	}
	if s.o.DisableWAL && !s.o.ReadOnly && s.fence.failed() == nil {
		err = s.db.Flush()
	}
	return s.fence.outcome(errors.Join(err, s.db.Close()))
}
