package badgerkv

import (
	"context"
	"errors"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open Badger database.
type store struct {
	db      *badger.DB
	caps    driver.Caps
	trouble *trouble
	wrapped bool           // db is the program's
	running sync.WaitGroup // of upkeep
}

// Caps tells what this store can do.
func (s *store) Caps() driver.Caps { return s.caps }

// Settings tells the settings in force, as Badger has them.
func (s *store) Settings() []driver.Setting {
	o := s.db.Opts()
	return table.Settings(&o)
}

// Snapshot returns the last committed state: Badger waits for the commits that have a time stamp
// already.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	r := &reader{store: s}
	return r, r.Renew(ctx)
}

// Get reads in a transaction that needs no memory of ours.
func (s *store) Get(ctx context.Context, dst, key []byte) ([]byte, error) {
	t, err := s.trouble.begin(ctx, s.db, false)
	if err != nil {
		return dst, err
	}
	defer t.Discard()
	return (&reader{txn: t}).Get(dst, key)
}

// Begin starts a transaction. Its durability was fixed when the store was opened.
func (s *store) Begin(ctx context.Context, _ driver.Durability) (driver.Txn, error) {
	t, err := s.trouble.begin(ctx, s.db, true)
	return &txn{reader: reader{store: s, txn: t}}, err
}

// Apply commits ops as one transaction. Several may run at once, and share a sync.
func (s *store) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	return driver.InSteps(ctx, s, ops, d)
}

// Compact merges all levels into one and rewrites the files of large values that are half dead.
func (s *store) Compact(ctx context.Context) error {
	if err := s.trouble.take(max(s.db.Size())); err != nil {
		return err
	}
	return s.upkeep(func() error {
		err := s.db.Flatten(max(s.db.Opts().NumCompactors, 1))
		for err == nil && ctx.Err() == nil {
			const dead = 0.5
			err = s.db.RunValueLogGC(dead)
		}
		if errors.Is(err, badger.ErrNoRewrite) {
			return nil
		}
		return errors.Join(classify(err), ctx.Err())
	})
}

// Close writes out what is in memory and stops Badger's goroutines.
func (s *store) Close() error {
	if s.wrapped {
		return nil
	}
	return s.trouble.wait(func() error { s.running.Wait(); return classify(s.db.Close()) })
}
