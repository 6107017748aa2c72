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
	return kv.OpenDriver(context.Background(), wrapper{h}, driver.Config{}, options...)
}

// Handle returns the BuntDB database of db; false if db is of another engine. A compaction puts
// another one in its place. The program must not close it, begin no transaction in it within a View
// or Update of db, and write nothing through it: what has no frame is cut off after a crash. To
// write so, open the store with ?Frames=false. Keys are those of the whole store, also where db is
// a namespace; the empty key is the driver's.
func Handle(db *kv.DB) (*buntdb.DB, bool) {
	s, ok := db.Driver().(interface{ bunt() *buntdb.DB })
	if !ok {
		return nil, false
	}
	return s.bunt(), true
}

func (s *store) bunt() *buntdb.DB {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return s.gate.db
}

// wrapper opens h where no path is named; elsewhere, as for a backup, a file of its own.
type wrapper struct{ h *buntdb.DB }

func (wrapper) Info() driver.Info {
	info := Driver{}.Info()
	info.Caps.Persistent = false // as to the path, which BuntDB does not tell
	info.Caps.Modes = info.Caps.Modes[:1]
	return info
}

// Open returns a store of w.h.
func (w wrapper) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	if c.Path != "" {
		return Driver{}.Open(ctx, c)
	}
	s := &store{options: &options{}, logger: c.Logger}
	s.gate.db = w.h
	if err := w.h.ReadConfig(&s.options.Config); err != nil {
		return nil, err
	}
	s.caps = s.options.caps()
	s.caps.Modes, s.caps.SharedReading, s.caps.Compacts = s.caps.Modes[:1], false, false
	switch err := w.h.Load(bytes.NewReader(nil)); {
	case err == nil: // which only a database in memory takes
		s.caps.Persistent = false
		s.caps.Promises = [3]driver.Promise{driver.Buffered: {
			Supported: true, Class: driver.Buffered, KillAtomic: true, PowerAtomic: true}}
	case !errors.Is(err, buntdb.ErrPersistenceActive):
		return nil, err
	}
	return s, nil
}
