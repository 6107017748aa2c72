package buntkv

import (
	"bytes"
	"context"
	"errors"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Open opens the file at path with BuntDB's own Config, as SetConfig takes it; nil are the defaults
// of this package. OnExpiredSync is Unsupported.
func Open(ctx context.Context, path string, o *buntdb.Config, options ...kv.Option) (*kv.DB, error) {
	return kv.OpenDriver(ctx, Driver{config: o}, driver.Config{Path: path}, options...)
}

// Wrap makes a store of a database that the program has opened itself. It is BuntDB as it is,
// without frames: not Synced, not atomic; a database in memory is Buffered. h stays the program's:
// closing the store does not close it. Calls of the store wait for the program's own transactions
// in h, however long these take, and the program must begin none within a View or Update of the
// store.
func Wrap(h *buntdb.DB, options ...kv.Option) (*kv.DB, error) {
	s, err := wrap(h)
	if err != nil {
		return nil, err
	}
	w := driver.Wrapped{Driver: Driver{}, Store: func(driver.Config) driver.Store { return s }}
	return kv.OpenDriver(context.Background(), w, driver.Config{}, options...)
}

// Handle returns the BuntDB database of db; false if db is of another engine. The program must not
// close it and begin no transaction in it within a View or Update of db. A store with frames keeps
// nothing of what the program writes through it: to write so, open the store with ?Frames=false.
// Keys are those of the whole store, also where db is a namespace; the empty key is the driver's.
func Handle(db *kv.DB) (*buntdb.DB, bool) {
	if s, ok := db.Driver().(*store); ok {
		return s.gate.db, true
	}
	return nil, false
}

// wrap returns a store of h.
func wrap(h *buntdb.DB) (*store, error) {
	s := &store{options: new(options)}
	if err := h.ReadConfig(&s.options.Config); err != nil {
		return nil, err
	}
	s.gate.db, s.caps = h, s.options.caps()
	s.caps.Modes, s.caps.SharedReading, s.caps.Compacts = s.caps.Modes[:1], false, false
	switch err := h.Load(bytes.NewReader(nil)); {
	case err == nil: // which only a database in memory takes
		s.caps.Persistent = false
		s.caps.Promises = [3]driver.Promise{driver.Buffered: {
			Supported: true, Class: driver.Buffered, KillAtomic: true, PowerAtomic: true}}
	case !errors.Is(err, buntdb.ErrPersistenceActive):
		return nil, err
	}
	return s, nil
}
