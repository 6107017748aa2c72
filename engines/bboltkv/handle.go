package bboltkv

import (
	"context"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Open opens the file at path with bbolt's own options; nil is the defaults of this package. Timeout is not used: see
// [kv.WithWait]. An InitialMmapSize of 0 is chosen by the driver, as the option of that name says.
func Open(ctx context.Context, path string, o *bolt.Options, options ...kv.Option) (*kv.DB, error) {
	typed, c := defaults, driver.Config{Path: path}
	if o != nil {
		typed.bolt = *o
		if o.ReadOnly {
			c.Mode = driver.ReadOnly
		}
	}
	return kv.OpenDriver(ctx, Driver{typed: &typed}, c, options...)
}

// Wrap makes a store of the bucket "kv" of h, which the first commit creates. h stays the program's: closing the store
// does not close it, and must come first.
//
// The program may go on using h, other buckets and this one. A commit through kv is as durable as h is, whatever was
// asked for: Synced, unless NoSync was set when h was wrapped; do not set it afterwards. Compact does nothing.
// Transactions of h and of the store wait for each other as bbolt's do, though no call of the store waits longer for
// them than its context or ten seconds.
func Wrap(h *bolt.DB, options ...kv.Option) (*kv.DB, error) {
	return WrapBucket(h, defaults.bucket, options...)
}

// WrapBucket is Wrap for another bucket, "NAME" or "OUTER/INNER".
func WrapBucket(h *bolt.DB, bucket string, options ...kv.Option) (*kv.DB, error) {
	typed, c := defaults, driver.Config{Path: h.Path()}
	typed.bucket = bucket
	if h.IsReadOnly() {
		c.Mode = driver.ReadOnly
	}
	return kv.OpenDriver(context.Background(), Driver{typed: &typed, wrapped: h}, c, options...)
}

// Handle returns bbolt's handle of db, for its statistics and for reading other buckets; false if db is of another
// engine. It is db's: do not close it, do not write through it, for whether that is synced is left to the last commit of
// db (wrap a DB of your own to write through both), and do not keep it across Compact, which replaces it.
func Handle(db *kv.DB) (*bolt.DB, bool) {
	s, ok := db.Driver().(*store)
	if !ok {
		return nil, false
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	return s.file.db, true
}

// wrap makes s a store of h.
func (s *store) wrap(h *bolt.DB) {
	s.caps.Compacts = false
	if h.NoSync {
		s.caps.Promises[driver.Synced] = driver.Promise{}
	} else {
		s.caps.Promises = [3]driver.Promise{synced, synced, synced}
	}
	s.file = &file{db: h, pageSize: h.Info().PageSize, wrapped: true}
	s.file.users.Store(1)
	s.growing = true // the program's commits may wait for readers at any time
}
