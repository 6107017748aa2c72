package levelkv

import (
	"context"
	"errors"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open LevelDB database.
type store struct {
	db    *leveldb.DB
	files *files       // nil for a database that the program has opened
	o     *opt.Options // likewise
	caps  driver.Caps
}

var (
	_ driver.Compacter  = (*store)(nil)
	_ driver.Configured = (*store)(nil)
)

// Caps tells what this store can do.
func (s *store) Caps() driver.Caps { return s.caps }

// Settings tells the settings in force.
func (s *store) Settings() []driver.Setting {
	if s.o == nil {
		return nil
	}
	return table.Settings(inForce(s.o))
}

// Snapshot returns the last committed state.
func (s *store) Snapshot(context.Context) (driver.Reader, error) {
	snap, err := s.db.GetSnapshot()
	if err != nil {
		return nil, classify(err)
	}
	return &reader{from: snap, snapshot: snap}, nil
}

// Begin starts a transaction.
func (s *store) Begin(_ context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.files.stopped(); err != nil {
		return nil, err
	}
	return s.begin(d), nil
}

func (s *store) begin(d driver.Durability) *txn {
	t := txns.Get().(*txn)
	t.from, t.db, t.how = s.db, s.db, flushed
	if d == driver.Synced {
		t.how = synced
	}
	return t
}

var (
	synced  = &opt.WriteOptions{Sync: true}
	flushed = &opt.WriteOptions{}
)

// Apply commits ops as one batch.
func (s *store) Apply(_ context.Context, ops []driver.Op, d driver.Durability) error {
	if err := s.files.stopped(); err != nil {
		return err
	}
	t := s.begin(d)
	defer t.Close()
	for i := range ops {
		if op := &ops[i]; op.Delete {
			t.batch.Delete(op.Key)
		} else {
			t.batch.Put(op.Key, op.Value)
		}
	}
	return t.Commit()
}

// Compact writes the memory table out and merges every level over all keys. goleveldb cannot be
// interrupted meanwhile.
func (s *store) Compact(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return classify(s.db.CompactRange(util.Range{}))
}

// Close stops goleveldb's goroutines and releases the lock. The journal holds every commit already.
// A database that the program has opened stays open.
func (s *store) Close() error {
	if s.files == nil {
		return nil
	}
	return errors.Join(classify(s.db.Close()), s.files.Close())
}
