package levelkv

import (
	"context"
	"errors"
	"sync"

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

	batches sync.Pool // *leveldb.Batch, to be used again
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
	if err := s.commitable(d); err != nil {
		return nil, err
	}
	return &txn{reader: reader{from: s.db}, store: s, batch: s.batch(), class: d}, nil
}

// Apply commits ops as one batch.
func (s *store) Apply(_ context.Context, ops []driver.Op, d driver.Durability) error {
	if err := s.commitable(d); err != nil {
		return err
	}
	b := s.batch()
	defer s.release(b)
	for i := range ops {
		if op := &ops[i]; op.Delete {
			b.Delete(op.Key)
		} else {
			b.Put(op.Key, op.Value)
		}
	}
	return s.commit(b, d)
}

// commitable returns why a commit of class d is not taken, or nil.
func (s *store) commitable(d driver.Durability) error {
	if !s.caps.Promise(d).Supported {
		return &driver.Error{Kind: driver.Unsupported, Err: errors.New("the store does not deliver " + d.String()),
			Hint: "open it without NoSync"}
	}
	return s.files.stopped()
}

var (
	synced  = &opt.WriteOptions{Sync: true}
	flushed = &opt.WriteOptions{}
)

// commit writes b to the journal.
func (s *store) commit(b *leveldb.Batch, d driver.Durability) error {
	if d == driver.Synced {
		return classify(s.db.Write(b, synced))
	}
	return classify(s.db.Write(b, flushed))
}

func (s *store) batch() *leveldb.Batch {
	if b, ok := s.batches.Get().(*leveldb.Batch); ok {
		return b
	}
	return new(leveldb.Batch)
}

// keptBatch is how large a batch is kept for the next commit.
const keptBatch = 1 << 20

func (s *store) release(b *leveldb.Batch) {
	if len(b.Dump()) > keptBatch {
		return
	}
	b.Reset()
	s.batches.Put(b)
}

// Compact writes the memory table out and merges every level over all keys. goleveldb cannot be interrupted meanwhile.
func (s *store) Compact(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return classify(s.db.CompactRange(util.Range{}))
}

// Close stops goleveldb's goroutines and releases the lock. The journal holds every commit already. A database that the
// program has opened stays open.
func (s *store) Close() error {
	if s.files == nil {
		return nil
	}
	return errors.Join(classify(s.db.Close()), s.files.Close())
}
