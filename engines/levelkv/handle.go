package levelkv

import (
	"context"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Open opens the store in the folder path with goleveldb's own options, which stay unchanged; nil
// are the defaults. NoSync is refused. A Comparer of the program's must order keys by their bytes.
func Open(ctx context.Context, path string, o *opt.Options, options ...kv.Option) (*kv.DB, error) {
	c := driver.Config{Path: path, Mode: map[bool]driver.Mode{true: driver.ReadOnly}[o.GetReadOnly()]}
	return kv.OpenDriver(ctx, Driver{options: o}, c, options...)
}

// Wrap makes a store of a database that the program has opened itself, without NoSync and with keys
// in the order of their bytes. There are no repairs: after a failed commit the program closes it. h
// stays the program's: closing the store does not close it. The program must not close h before the
// store, nor write through it while a transaction of the store runs. The store has no path and no
// Size: goleveldb does not tell the folder.
func Wrap(h *leveldb.DB, options ...kv.Option) (*kv.DB, error) {
	w := driver.Wrapped{Driver: Driver{}, Store: func(driver.Config) driver.Store {
		return &store{db: h, files: new(files)}
	}}
	return kv.OpenDriver(context.Background(), w, driver.Config{}, options...)
}

// Handle returns the LevelDB database of db; false if db is of another engine. The program must not
// close it, nor write through it while a transaction of db runs. Keys are those of the whole store,
// also where db is a namespace.
func Handle(db *kv.DB) (*leveldb.DB, bool) {
	if s, ok := db.Driver().(*store); ok {
		return s.db, true
	}
	return nil, false
}
