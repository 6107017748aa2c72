// Package bboltnested keeps records in bbolt with a bucket for each record and a key for each field: the layout
// "nested buckets" of published comparisons.
//
//	store, err := bboltnested.Open(ctx, "users.db")
//	users, err := bboltnested.Collection[User](ctx, store, nil)
//
// A collection is used as one over kv is, and promises the same. It exists to be compared: a record takes several times
// the time and the space of one in a single pair. It needs bbolt itself, because kv has no buckets within buckets.
//
// # Durability
//
// Synced is bbolt's default, two fdatasync calls for each commit. Flushed and Buffered are commits under bbolt's NoSync:
// they survive the death of the process, and a power loss after one may damage the file.
package bboltnested

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/stores/record"
)

// Store is an open bbolt file of collections. Its methods may be called concurrently.
type Store struct {
	path string
	mu   sync.RWMutex // Compact replaces db
	db   *bolt.DB     // nil after Close
}

// Open opens or creates the file at path. If another process has it locked, Open tries again until ctx ends or
// [kv.DefaultWait] has passed, and then fails with Busy.
func Open(ctx context.Context, path string) (*Store, error) {
	_, missing := os.Stat(path)
	db, err := openWaiting(ctx, path)
	if err == nil && missing != nil {
		if err = driver.SyncDir(filepath.Dir(path)); err != nil {
			err = errors.Join(err, db.Close())
		}
	}
	if err != nil {
		return nil, wrap("open", path, err)
	}
	return &Store{path: path, db: db}, nil
}

func openWaiting(ctx context.Context, path string) (*bolt.DB, error) {
	ctx, cancel := context.WithTimeout(ctx, kv.DefaultWait)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		db, err := openOnce(path)
		if !errors.Is(err, berrors.ErrTimeout) {
			return db, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// openOnce does not wait for the lock. bbolt panics on some damaged files.
func openOnce(path string) (db *bolt.DB, err error) {
	defer recovered(&err)
	return bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Nanosecond})
}

// Collection opens the collection of T called opts.Name, creating it. opts.Codec and opts.Layout must be zero.
func Collection[T any](ctx context.Context, s *Store, opts *record.Options) (*record.Collection[T], error) {
	var o record.Options
	if opts != nil {
		o = *opts
	}
	if o.Layout != record.SingleKey {
		return nil, &kv.Error{Op: "open collection", Path: s.path, Kind: kv.Invalid, Err: fmt.Errorf("layout %v", o.Layout),
			Hint: "leave it out: the layout of this package is its own"}
	}
	return record.OpenBackend[T](ctx, &backend{store: s, name: []byte("collection:" + o.Name)}, &o)
}

// Path returns the file.
func (s *Store) Path() string { return s.path }

// Settings tells the settings in force, as those of engines of kv.
func (s *Store) Settings() []kv.Setting {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return nil
	}
	return []kv.Setting{
		{Name: "FreelistType", Value: string(s.db.FreelistType)},
		{Name: "NoSync", Value: "per commit"},
		{Name: "PageSize", Value: fmt.Sprint(s.db.Info().PageSize)},
	}
}

// Promise is what commits of a class survive.
func (s *Store) Promise(d kv.Durability) kv.Promise {
	return kv.Promise{Supported: true, Class: min(d, kv.Flushed), Intact: d == kv.Synced}
}

// Size returns the space that the file takes.
func (s *Store) Size() (kv.Size, error) { return kv.SizeOf(s.path) }

// Compact writes the file anew, without free pages, and puts that in its place. Transactions wait meanwhile.
func (s *Store) Compact(ctx context.Context) (err error) {
	defer func() { err = wrap("compact", s.path, err) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	fresh := s.path + ".compact"
	if err := s.copyTo(fresh); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	old := s.db
	s.db = nil
	if err := errors.Join(old.Close(), os.Rename(fresh, s.path), driver.SyncDir(filepath.Dir(s.path))); err != nil {
		return err
	}
	s.db, err = openOnce(s.path)
	return err
}

func (s *Store) copyTo(path string) (err error) {
	defer recovered(&err)
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	to, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	return errors.Join(bolt.Compact(to, s.db, 1<<20), to.Sync(), to.Close())
}

// Close waits for running transactions and closes the file. Closing again does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return wrap("close", s.path, err)
}
