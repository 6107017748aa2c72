package levelkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"
	"github.com/syndtr/goleveldb/leveldb/util"

	"github.com/assaydb/assay/kv/driver"
)

// store is an open LevelDB database.
type store struct {
	db    *leveldb.DB
	files storage.Storage
	path  string
	o     *settings
	caps  driver.Caps

	failed  driver.Failure
	batches sync.Pool // *leveldb.Batch, to be used again
}

var _ driver.Store = (*store)(nil)

// Caps tells what this store can do.
func (s *store) Caps() driver.Caps { return s.caps }

// Settings tells the settings in force.
func (s *store) Settings() []driver.Setting { return s.o.list() }

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
	return s.failed.Err()
}

var (
	synced  = &opt.WriteOptions{Sync: true}
	flushed = &opt.WriteOptions{}
)

// commit writes b to the journal; a failure ends the store's commits.
func (s *store) commit(b *leveldb.Batch, d driver.Durability) error {
	how := flushed
	if d == driver.Synced {
		how = synced
	}
	err := classify(s.db.Write(b, how))
	if err == nil {
		return nil
	}
	s.failed.Stop(err)
	return s.failed.Err()
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

// Check reads every block of every table, which verifies its checksum, and the order of all keys.
func (s *store) Check(ctx context.Context) error {
	it := s.db.NewIterator(nil, &opt.ReadOptions{DontFillCache: true, Strict: opt.StrictAll})
	defer it.Release()
	var last []byte
	for n := 0; it.Next(); n++ {
		if n > 0 && bytes.Compare(last, it.Key()) >= 0 {
			return &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("key %q stands after %q", it.Key(), last), Hint: hintCorrupt}
		}
		last = append(last[:0], it.Key()...)
		if err := ctx.Err(); n%1024 == 0 && err != nil {
			return err
		}
	}
	return classify(it.Error())
}

// Files lists the folder; everything of the store is in it.
func (s *store) Files() ([]string, error) { return []string{s.path}, nil }

// backupBatch is how much a backup writes at once.
const backupBatch = 1 << 20

// Backup writes the pairs of a snapshot to a new store: goleveldb has no copy of its own.
func (s *store) Backup(ctx context.Context, path string) (err error) {
	if err := driver.MakeDirs(path); err != nil {
		return err
	}
	o := s.o.Options
	o.ErrorIfMissing, o.ReadOnly, o.NoSync = false, false, true // the caller syncs the copy as a whole
	to, err := leveldb.OpenFile(path, &o)
	if err != nil {
		return classify(err)
	}
	defer func() { err = errors.Join(err, classify(to.Close())) }()
	it := s.db.NewIterator(nil, &opt.ReadOptions{DontFillCache: true})
	defer it.Release()
	var b leveldb.Batch
	for it.Next() {
		b.Put(it.Key(), it.Value())
		if len(b.Dump()) < backupBatch {
			continue
		}
		if err := errors.Join(ctx.Err(), to.Write(&b, nil)); err != nil {
			return classify(err)
		}
		b.Reset()
	}
	return classify(errors.Join(it.Error(), to.Write(&b, nil)))
}

// Close stops goleveldb's goroutines and releases the lock. The journal holds every commit already.
func (s *store) Close() error { return errors.Join(classify(s.db.Close()), s.files.Close()) }
