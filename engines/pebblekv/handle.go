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
// the defaults of this package. A Comparer of the program's must order keys by their bytes.
// FormatMajorVersion 0 keeps the format of a store that exists and gives a new one the newest. The
// fence stands around path: not around a WALDir elsewhere.
func Open(ctx context.Context, path string, o *pebble.Options, options ...kv.Option) (*kv.DB, error) {
	c := driver.Config{Path: path}
	if o != nil && o.ReadOnly {
		c.Mode = driver.ReadOnly
	}
	return kv.OpenDriver(ctx, Driver{options: o}, c, options...)
}

// Wrap makes a store of a database that the program has opened itself, whose Comparer orders keys
// by their bytes. There is no fence: a write that fails ends the process. h stays the program's:
// closing the store does not close it. The program must not close h before the store, nor write
// through it while a transaction of the store runs.
func Wrap(h *pebble.DB, options ...kv.Option) (*kv.DB, error) {
	w := wrapper{h: h}
	const lockFile = 1 // of Pebble's internal FileType; it lies in the folder of the database
	c := driver.Config{Path: filepath.Dir(h.ObjProvider().Path(objstorage.ObjectMetadata{FileType: lockFile}))}
	b := h.NewBatch()
	defer b.Close()
	switch err := h.Apply(b, pebble.Sync); { // an empty batch meets the refusals of a commit and none of its work
	case errors.Is(err, pebble.ErrReadOnly):
		c.Mode = driver.ReadOnly
	case err != nil:
		w.noLog = true
	}
	w.path, _ = filepath.Abs(c.Path)
	return kv.OpenDriver(context.Background(), w, c, options...)
}

// Handle returns the Pebble database of db; false if db is of another engine. The program must not
// close it, nor write through it while a transaction of db runs. Keys are those of the whole store,
// also where db is a namespace. Behind the fence Pebble does not know of a failed write and
// acknowledges what comes through it, which is lost.
func Handle(db *kv.DB) (*pebble.DB, bool) {
	if s, ok := db.Driver().(interface{ pebbleDB() *pebble.DB }); ok {
		return s.pebbleDB(), true
	}
	return nil, false
}

func (s *store) pebbleDB() *pebble.DB { return s.db }

// wrapper opens the database h of the program at its path; elsewhere, as for a backup, a store of
// its own.
type wrapper struct {
	Driver
	h     *pebble.DB
	path  string
	noLog bool
}

// Open returns the store of w.h.
func (w wrapper) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	if c.Path != w.path {
		return w.Driver.Open(ctx, c)
	}
	return newStore(store{db: w.h}, w.noLog, c.Mode == driver.ReadOnly), nil
}
