package bboltkv

import (
	"context"
	"errors"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open store.
type store struct {
	path    string
	options *options
	caps    driver.Caps
	failure driver.Failure // of a compaction
	growth
	idle
}

func (s *store) Caps() driver.Caps { return s.caps }

// Settings reads back what is in force.
func (s *store) Settings() []driver.Setting { return table.Settings(s.options) }

// Begin begins a write transaction.
func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.failure.Err(); err != nil {
		return nil, err
	}
	if err := s.change(); err != nil {
		return nil, errors.Join(err, s.change())
	}
	t := &txn{durability: d}
	if err := t.begin(ctx, s, readWrite); err != nil {
		return nil, errors.Join(err, s.change())
	}
	if err := t.createBucket(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Check reads all keys, then lets bbolt check every page and the free list. In ReadOnly mode it
// only reads.
func (s *store) Check(ctx context.Context) error {
	var r reader
	// bbolt: only a transaction that may write is safe beside writers.
	if err := r.begin(ctx, s, !s.options.ReadOnly); err != nil {
		return err
	}
	return errors.Join(check(ctx, r.tx), r.end())
}

// Backup writes the pages of the last committed state to path, those of other buckets included.
func (s *store) Backup(ctx context.Context, path string) error {
	var r reader
	if err := r.begin(ctx, s, readOnly); err != nil {
		return err
	}
	return errors.Join(classify(r.tx.CopyFile(path, 0o600)), r.end())
}

// Close closes the file. As with bbolt itself, it syncs nothing: what Flushed commits wrote is the
// kernel's to keep.
func (s *store) Close() error {
	err := s.change()
	s.strays.Wait()
	return errors.Join(err, s.file.release())
}
