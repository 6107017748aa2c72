package badgerkv

import (
	"context"
	"errors"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open Badger database.
type store struct {
	db      *badger.DB
	path    string
	caps    driver.Caps
	room    *room
	failed  *trouble
	wrapped bool // db is the program's
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
	t, err := s.begin(ctx, false)
	if err != nil {
		return nil, err
	}
	return &reader{txn: t}, nil
}

// Begin starts a transaction.
func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.failed.Err(); err != nil {
		return nil, err
	}
	if !s.caps.Promise(d).Supported {
		return nil, &driver.Error{Kind: driver.Unsupported,
			Err:  errors.New("badger fixes durability when it opens, and was not to sync"),
			Hint: "open the store with ?durability=synced or ?SyncWrites=true"}
	}
	t, err := s.begin(ctx, true)
	if err != nil {
		return nil, err
	}
	return &txn{reader: reader{txn: t}, store: s}, nil
}

func (s *store) begin(ctx context.Context, update bool) (*badger.Txn, error) {
	if !s.mayHang() {
		return s.db.NewTransaction(update), nil
	}
	return bounded(ctx, s.failed, func() *badger.Txn { return s.db.NewTransaction(update) }, (*badger.Txn).Discard)
}

// mayHang reports whether a commit may have to wait until Badger has written out a table.
func (s *store) mayHang() bool { return s.room.tight.Load() }

// Apply commits ops as one transaction.
func (s *store) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	t, err := s.Begin(ctx, d)
	if err != nil {
		return err
	}
	defer t.Close()
	for i := range ops {
		if op := &ops[i]; op.Delete {
			err = t.Delete(op.Key)
		} else {
			err = t.Put(op.Key, op.Value)
		}
		if err != nil {
			return err
		}
	}
	return t.Commit()
}

// commit commits t, which writes so many bytes. After an error of the disk Badger would go on
// behind the hole that it leaves in the log, and recovery ends at the hole: no later commit is
// taken.
func (s *store) commit(t *badger.Txn, size int64) (err error) {
	if err := s.room.take(size); err != nil {
		return driver.NotDone(err)
	}
	if s.mayHang() {
		var hung error
		err, hung = bounded(context.Background(), s.failed, t.Commit, func(error) {})
		err = errors.Join(err, hung)
	} else {
		err = t.Commit()
	}
	if err = classify(err); driver.IsInDoubt(err) {
		s.failed.stop(err)
	}
	if why := s.failed.Err(); err == nil && why != nil && s.caps.Promise(driver.Synced).Supported {
		return &driver.Error{Kind: driver.InDoubt, Err: why} // the sync that failed may have been this commit's
	}
	return err
}

// Compact merges all levels into one and rewrites the files of large values that are half dead.
func (s *store) Compact(ctx context.Context) error {
	tables, values := s.db.Size()
	if err := s.room.take(max(tables, values)); err != nil {
		return err
	}
	return s.bounded(func() error {
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

// Check verifies the checksum of every block of every table, and reads every value.
func (s *store) Check(ctx context.Context) error {
	return s.bounded(func() (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = corrupt("badger panics: %v", r)
			}
		}()
		if err := s.db.VerifyChecksum(); err != nil {
			return corrupt("%w", err)
		}
		return s.readAll(ctx)
	})
}

func (s *store) readAll(ctx context.Context) error {
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

// Close writes out what is in memory and stops Badger's goroutines.
func (s *store) Close() error {
	if s.wrapped {
		return nil
	}
	return s.bounded(func() error { return classify(s.db.Close()) })
}

func (s *store) bounded(call func() error) error {
	err, hung := bounded(context.Background(), s.failed, call, func(error) {})
	return errors.Join(err, hung)
}
