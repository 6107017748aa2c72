package bboltkv

import (
	"context"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Open opens the file at path with bbolt's own options; nil is the defaults of this package.
// Timeout is not used (see [kv.WithWait]), nor is OpenFile. An InitialMmapSize of 0 is chosen by
// the driver, as the option of that name says.
func Open(ctx context.Context, path string, o *bolt.Options, options ...kv.Option) (*kv.DB, error) {
	typed, c := defaults, driver.Config{Path: path}
	if o != nil {
		typed.Options = *o
	}
	if typed.ReadOnly {
		c.Mode = driver.ReadOnly
	}
	return kv.OpenDriver(ctx, Driver{typed: &typed}, c, options...)
}

// Wrap makes a store of the bucket "kv" of h, which the first commit creates. h stays the
// program's: closing the store does not close it, and must come first.
//
// The program may go on using h, with this bucket and others. A commit through kv is as durable as
// h is, whatever was asked for: Synced, unless NoSync was set when h was wrapped; leave it as it
// was. Compact does nothing. Transactions of h and of the store wait for each other as bbolt's do,
// though a call of the store only until its context ends or ten seconds have passed.
func Wrap(h *bolt.DB, options ...kv.Option) (*kv.DB, error) {
	return WrapBucket(h, defaults.bucket, options...)
}

// WrapBucket is Wrap for another bucket, NAME or OUTER/INNER.
func WrapBucket(h *bolt.DB, bucket string, options ...kv.Option) (*kv.DB, error) {
	typed, c := defaults, driver.Config{Path: h.Path()}
	typed.bucket = bucket
	if h.IsReadOnly() {
		c.Mode = driver.ReadOnly
	}
	return kv.OpenDriver(context.Background(), Driver{typed: &typed, wrapped: h}, c, options...)
}

// Handle returns bbolt's handle of db, for its statistics and to read other buckets; false if db is
// of another engine. Do not close it. Do not write through it: whether that is synced would depend
// on db's last commit, and db may go on reading an older state, so wrap a DB of your own instead.
// Do not keep it across Compact, which replaces it.
func Handle(db *kv.DB) (*bolt.DB, bool) {
	s, ok := db.Driver().(*store)
	if !ok {
		return nil, false
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	return s.file.db, true
}
