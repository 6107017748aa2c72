package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open Pebble database.
type store struct {
	db    *pebble.DB
	lock  *pebble.Lock
	fence *fence
	path  string
	o     *settings
	caps  driver.Caps

	readers, txns sync.Pool // *reader, *txn; closed ones, to be used again
}

var _ driver.Store = (*store)(nil)

func newStore(db *pebble.DB, lock *pebble.Lock, fence *fence, path string, o *settings) *store {
	s := &store{db: db, lock: lock, fence: fence, path: path, o: o, caps: capabilities(&o.Options)}
	s.readers.New = func() any { return &reader{view: view{fence: fence}, store: s} }
	s.txns.New = func() any { return &txn{view: view{fence: fence}, store: s} }
	return s
}

// Caps tells what this store can do.
func (s *store) Caps() driver.Caps { return s.caps }

// Settings tells the settings in force.
func (s *store) Settings() []driver.Setting { return s.o.list(s.db) }

// Snapshot returns the last committed state.
func (s *store) Snapshot(context.Context) (driver.Reader, error) {
	if err := s.fence.failed(); err != nil {
		return nil, err
	}
	r := s.readers.Get().(*reader)
	r.snapshot = s.db.NewSnapshot()
	r.from = r.snapshot
	return r, nil
}

// Begin starts a transaction.
func (s *store) Begin(_ context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.fence.failed(); err != nil {
		return nil, err
	}
	t := s.txns.Get().(*txn)
	t.from, t.sync = s.db, writeOptions(d)
	return t, nil
}

// writeOptions are those that deliver d. Pebble keeps the records of NoSync in memory, so a Flushed commit is synced.
func writeOptions(d driver.Durability) *pebble.WriteOptions {
	if d == driver.Buffered {
		return pebble.NoSync
	}
	return pebble.Sync
}

// Apply commits ops as one batch.
func (s *store) Apply(_ context.Context, ops []driver.Op, d driver.Durability) error {
	if err := s.fence.failed(); err != nil {
		return err
	}
	if err := s.apply(ops, writeOptions(d)); err != nil {
		return classify(err)
	}
	return s.fence.failed()
}

func (s *store) apply(ops []driver.Op, sync *pebble.WriteOptions) error {
	if len(ops) == 1 {
		if ops[0].Delete {
			return s.db.Delete(ops[0].Key, sync)
		}
		return s.db.Set(ops[0].Key, ops[0].Value, sync)
	}
	b := s.db.NewBatch()
	for i := range ops {
		if err := write(b, &ops[i]); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	if err := s.db.Apply(b, sync); err != nil {
		return err
	}
	return b.Close()
}

// maxBatch is where Pebble panics, less the overhead of one operation.
const maxBatch = min(math.MaxUint32, math.MaxInt) - 64

// write adds op to b.
func write(b *pebble.Batch, op *driver.Op) error {
	if b.Len() > maxBatch-len(op.Key)-len(op.Value) {
		return &driver.Error{Kind: driver.TooLarge, Err: errors.New("transaction over 4 GiB"), Hint: "split the transaction"}
	}
	if op.Delete {
		return b.Delete(op.Key, nil)
	}
	return b.Set(op.Key, op.Value, nil)
}

// Compact writes the memory tables out, merges every level over all keys, and waits until what became obsolete is
// deleted, which Pebble does in its own time.
func (s *store) Compact(ctx context.Context) error {
	if err := s.fence.failed(); err != nil {
		return err
	}
	if err := s.db.Flush(); err != nil {
		return classify(err)
	}
	end, err := s.lastKey()
	if err != nil || end == nil {
		return errors.Join(classify(err), s.fence.failed())
	}
	// The upper bound is exclusive in effect: one more byte takes the last key in.
	if err := s.db.Compact(ctx, nil, append(end, 0), false); err != nil {
		return classify(err)
	}
	if err := s.awaitDeletion(ctx); err != nil {
		return err
	}
	return s.fence.failed()
}

// lastKey returns the largest key of any table, deleted ones included; nil if there are no tables.
func (s *store) lastKey() ([]byte, error) {
	levels, err := s.db.SSTables()
	var last []byte
	for _, tables := range levels {
		for i := range tables {
			if k := tables[i].Largest.UserKey; string(k) > string(last) {
				last = k
			}
		}
	}
	return append([]byte(nil), last...), err
}

// awaitDeletion waits until the obsolete tables are gone; open snapshots may keep some, so it ends when nothing moves.
func (s *store) awaitDeletion(ctx context.Context) error {
	const pause, patience = 5 * time.Millisecond, 100
	last, idle := uint64(0), 0
	for idle < patience {
		m := s.db.Metrics()
		left := m.Table.ObsoleteSize + m.Table.ZombieSize
		if left == 0 {
			return nil
		}
		if idle++; left != last {
			last, idle = left, 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil
}

// Check reads every level, which verifies the checksum of every block and the order of all keys.
func (s *store) Check(context.Context) error {
	if err := s.fence.failed(); err != nil {
		return err
	}
	err := s.db.CheckLevels(nil)
	if err != nil && driver.KindOf(err) == driver.Other {
		return &driver.Error{Kind: driver.Corrupt, Err: err, Hint: "restore a backup"}
	}
	return classify(err)
}

// Files lists the folder; everything of the store is in it.
func (s *store) Files() ([]string, error) { return []string{s.path}, nil }

// Backup writes a checkpoint: hard links of the tables where the file system has them, copies of the rest.
func (s *store) Backup(_ context.Context, path string) error {
	if err := s.fence.failed(); err != nil {
		return err
	}
	if s.o.DisableWAL {
		if err := s.db.Flush(); err != nil { // there is no log that would hold what is in memory
			return classify(err)
		}
	}
	if err := s.db.Checkpoint(path, pebble.WithFlushedWAL()); err != nil {
		return classify(err)
	}
	return s.fence.failed()
}

// Close syncs the log, so that Buffered commits survive too, and stops Pebble's goroutines. It releases everything
// even when it fails.
func (s *store) Close() error {
	var err error
	if s.o.DisableWAL && s.fence.failed() == nil {
		err = s.db.Flush()
	}
	err = errors.Join(err, s.closeDB(), s.lock.Close())
	if failed := s.fence.failed(); failed != nil {
		return failed // what Buffered commits left in memory is lost
	}
	return classify(err)
}

// closeDB closes the database; Pebble panics where its own books do not balance.
func (s *store) closeDB() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("pebble panics: %v", r)
		}
	}()
	return s.db.Close()
}
