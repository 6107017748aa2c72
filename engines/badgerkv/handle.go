package badgerkv

import (
	"context"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Open opens the store in the folder path with Badger's own options, which stay unchanged; nil are
// the defaults of this package. Dir is path, and so is ValueDir where it is empty; Logger is that
// of kv.WithLogger. Without SyncWrites Synced is refused.
func Open(ctx context.Context, path string, o *badger.Options, options ...kv.Option) (*kv.DB, error) {
	c := driver.Config{Path: path, Mode: modes[o != nil && o.ReadOnly]}
	return kv.OpenDriver(ctx, Driver{options: o}, c, options...)
}

// modes are those of options that are read-only, or not.
var modes = map[bool]driver.Mode{true: driver.ReadOnly}

// Wrap makes a store of a database that the program has opened itself, in a folder and not with
// OpenManaged. h stays the program's: closing the store does not close it. The program must not
// close h before the store. What Badger logs is the program's to read: a failed sync of the value
// log goes unnoticed here, so that values for it are TooLarge where commits are synced, and calls
// may hang when the disk has failed.
func Wrap(h *badger.DB, options ...kv.Option) (*kv.DB, error) {
	o := h.Opts()
	w := driver.Wrapped{Driver: Driver{}, Path: o.Dir, Store: func(c driver.Config) driver.Store {
		s := &store{db: h, caps: capabilities(o), trouble: newTrouble(c, o), wrapped: true}
		if o.SyncWrites {
			s.caps.MaxValue = int(min(int64(s.caps.MaxValue), o.ValueThreshold-1))
		}
		return s
	}}
	return kv.OpenDriver(context.Background(), w, driver.Config{Path: o.Dir, Mode: modes[o.ReadOnly]}, options...)
}

// Handle returns the Badger database of db; false if db is of another engine. The program must not
// close it. Keys are those of the whole store, also where db is a namespace. What fails in a commit
// of the program's own db does not know.
func Handle(db *kv.DB) (*badger.DB, bool) {
	if s, ok := db.Driver().(*store); ok {
		return s.db, true
	}
	return nil, false
}
