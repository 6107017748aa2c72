package mosskv

import (
	"context"

	"github.com/couchbase/moss"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Open opens the store in the folder at path with moss's own options; nil stands for moss's
// defaults. OpenFile, KeepFiles and the callbacks and LowerLevel fields of the collection are this
// package's.
//
// There is no Wrap: moss tells of failures through callbacks alone, which are fixed when a
// collection is made.
func Open(ctx context.Context, path string, o *moss.StoreOptions, options ...kv.Option) (*kv.DB, error) {
	d := typed{options: defaults()}
	if o != nil {
		d.options = *o
	}
	return kv.OpenDriver(ctx, d, driver.Config{Path: path}, options...)
}

// typed is the driver with options that come from no URL.
type typed struct {
	Driver
	options moss.StoreOptions
}

func (d typed) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	return open(c, d.options)
}

// Handle returns moss's own collection of db; false if db is of another engine. A program may read
// it and its statistics. It must not execute batches, which kv would take for nobody's, nor close
// it.
func Handle(db *kv.DB) (moss.Collection, bool) {
	s, ok := db.Driver().(*store)
	if !ok {
		return nil, false
	}
	return s.collection, true
}
