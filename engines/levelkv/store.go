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
	files *files
	o     *opt.Options // nil for a database that the program has opened
	own   txn          // of Begin
}

// Caps tells what this store can do.
func (s *store) Caps() driver.Caps { return capabilities }

// Settings tells the settings in force.
func (s *store) Settings() []driver.Setting {
	if s.o == nil {
		return nil
	}
	return table.Settings(inForce(s.o))
}

// Snapshot returns the last committed state.
func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	r := &reader{db: s.db}
	return r, r.Renew(ctx)
}

// Get reads without a snapshot.
func (s *store) Get(_ context.Context, dst, key []byte) ([]byte, error) {
	return (&reader{from: s.db}).Get(dst, key)
}

// Begin starts a transaction, in the memory of the one before.
func (s *store) Begin(_ context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.files.Err(); err != nil {
		return nil, err
	}
	t := &s.own
	t.from, t.db, t.how = s.db, s.db, &alone[d]
	return t, nil
}

// hows are the options that deliver each class, and alone those of one who has no other writer to
// join.
var (
	hows  = [...]opt.WriteOptions{driver.Synced: {Sync: true}, driver.Flushed: {}, driver.Buffered: {}}
	alone = [...]opt.WriteOptions{{Sync: true, NoWriteMerge: true}, {NoWriteMerge: true}, {NoWriteMerge: true}}
)

// Apply commits ops as one batch; a single pair in memory of goleveldb's own.
func (s *store) Apply(_ context.Context, ops []driver.Op, d driver.Durability) error {
	if err := s.files.Err(); err != nil {
		return err
	}
	if len(ops) == 1 && !ops[0].Delete {
		return classify(s.db.Put(ops[0].Key, ops[0].Value, &hows[d]))
	}
	t := txns.Get().(*txn)
	t.db, t.how = s.db, &hows[d]
	for i := range ops {
		_ = ops[i].Run(t) // fails only where there is an index
	}
	err := errors.Join(t.Commit(), t.Close())
	txns.Put(t)
	return err
}

// Compact writes the memory table out and merges every level over all keys. goleveldb cannot be
// interrupted meanwhile.
func (s *store) Compact(context.Context) error {
	return classify(s.db.CompactRange(util.Range{}))
}

// Close stops goleveldb's goroutines and releases the lock. The journal holds every commit already.
// A database that the program has opened stays open.
func (s *store) Close() error {
	if s.o == nil {
		return nil
	}
	return errors.Join(classify(s.db.Close()), s.files.Close())
}
