package pebblekv

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Open opens the store in the folder path with Pebble's own options, which stay unchanged; nil are
// the defaults of this package. A Comparer of the program's must order keys by their bytes, and
// DisableWAL is refused. Logger is that of kv.WithLogger. FormatMajorVersion 0 keeps the format of
// a store that exists and gives a new one the newest. The fence stands around path: not around a
// WALDir elsewhere.
func Open(ctx context.Context, path string, o *pebble.Options, options ...kv.Option) (*kv.DB, error) {
	c := driver.Config{Path: path, Mode: modes[o != nil && o.ReadOnly]}
	return kv.OpenDriver(ctx, Driver{options: o}, c, options...)
}

// modes are those of options that are read-only, or not.
var modes = map[bool]driver.Mode{true: driver.ReadOnly}

// Wrap makes a store of a database that the program has opened itself, with its log and a Comparer
// that orders keys by their bytes. There is no fence: a write that fails ends the process. h stays
// the program's: closing the store does not close it. The program must not close h before the
// store, nor write through it while a transaction of the store runs.
func Wrap(h *pebble.DB, options ...kv.Option) (*kv.DB, error) {
	const lockFile = 1 // of Pebble's internal FileType; it lies in the folder of the database
	path := filepath.Dir(h.ObjProvider().Path(objstorage.ObjectMetadata{FileType: lockFile}))
	err := h.Apply(h.NewBatch(), pebble.Sync) // an empty batch meets the refusals of a commit and none of its work
	w := driver.Wrapped{Driver: Driver{}, Path: path, Store: func(c driver.Config) driver.Store {
		return newStore(&store{db: h, fence: new(fence)}, c.Mode == driver.ReadOnly)
	}}
	c := driver.Config{Path: path, Mode: modes[errors.Is(err, pebble.ErrReadOnly)]}
	return kv.OpenDriver(context.Background(), w, c, options...)
}

// Handle returns the Pebble database of db; false if db is of another engine. The program must not
// close it, nor write through it while a transaction of db runs. Keys are those of the whole store,
// also where db is a namespace. Behind the fence Pebble does not know of a failed write and
// acknowledges what comes through it, which is lost.
func Handle(db *kv.DB) (*pebble.DB, bool) {
	if s, ok := db.Driver().(interface{ handle() *pebble.DB }); ok {
		return s.handle(), true
	}
	return nil, false
}

func (s *store) handle() *pebble.DB { return s.db }
