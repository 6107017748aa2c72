// Package releases puts an old release of an engine behind the contract, with the least code that
// "assay prove" needs. The folders below are modules of their own, one for each engine; the tests
// build them with the releases whose crash bugs are known, each named by the engine's own tracker,
// and the proof must find the bugs by itself.
//
// Nothing here is fast, and nothing of it mends an engine: a transaction reads a copy of the whole
// store, and a commit is one call of the engine.
package releases

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/assaydb/assay"
	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv" // the copy
)

// Engine is a release of an engine.
type Engine struct {
	Name    string // in kv's URLs
	Module  string // as the program imports it; a replace says which release that is
	Options []driver.Option
	// KillAtomic, PowerAtomic: what the engine promises of a transaction that a crash interrupts,
	// beside that one that was acknowledged is synced and the store is whole.
	KillAtomic, PowerAtomic bool
	// Open opens the store at path, or makes it. The folder that is to hold it exists.
	Open func(path string, params map[string]string) (DB, error)
}

// DB is an open store of an engine. It is used by one goroutine at a time.
type DB interface {
	// Each gives every pair to do, in any order, and lends both slices.
	Each(do func(k, v []byte) error) error
	// Apply makes one synced transaction of ops.
	Apply(ops []driver.Op) error
	// Close closes the store.
	Close() error
}

// Main runs the command assay with this engine alone.
func Main(e Engine) {
	driver.Register(oldDriver{e})
	assay.Main(assay.Config{Engines: []assay.Engine{{Engine: e.Name, Default: true}}})
}

type oldDriver struct{ Engine }

var _ driver.Driver = oldDriver{}

func (d oldDriver) Info() driver.Info {
	c := driver.Caps{Persistent: true, TxnLimit: true, Modes: []driver.Mode{driver.Exclusive}}
	c.Promises[driver.Synced] = driver.Promise{Supported: true, Class: driver.Synced, Intact: true,
		KillAtomic: d.KillAtomic, PowerAtomic: d.PowerAtomic}
	return driver.Info{Name: d.Name, Summary: "an old release", Modules: []string{d.Module}, Options: d.Options,
		Caps: c}
}

// Open opens the engine. One that panics on what it finds has not opened it.
func (d oldDriver) Open(_ context.Context, c driver.Config) (driver.Store, error) {
	if err := driver.MakeDirs(filepath.Dir(c.Path)); err != nil {
		return nil, err
	}
	db, err := d.Engine.Open(c.Path, c.Params)
	if err != nil { // of no kind: of a corrupt one kv would say that it is of the release of today
		return nil, &driver.Error{Err: err}
	}
	return &store{db: db, caps: d.Info().Caps}, nil
}

// store is an open store. Its lock keeps the copies that readers make apart from commits.
type store struct {
	mu   sync.Mutex
	db   DB
	caps driver.Caps
}

var _ driver.Store = (*store)(nil)

func (s *store) Caps() driver.Caps { return s.caps }

func (s *store) Close() error { return s.db.Close() }

// copied returns all that the engine holds, in memory.
func (s *store) copied(ctx context.Context) (driver.Store, error) {
	mem, _ := driver.Lookup("mem")
	all, err := mem.Open(ctx, driver.Config{})
	if err != nil {
		return nil, err
	}
	t, err := all.Begin(ctx, driver.Buffered)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.db.Each(t.Put); err != nil {
		return nil, errors.Join(&driver.Error{Kind: driver.Corrupt, Err: err}, t.Close())
	}
	return all, errors.Join(t.Commit(), t.Close())
}

func (s *store) Snapshot(ctx context.Context) (driver.Reader, error) {
	all, err := s.copied(ctx)
	if err != nil {
		return nil, err
	}
	return all.Snapshot(ctx)
}

func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	all, err := s.copied(ctx)
	if err != nil {
		return nil, err
	}
	t, err := all.Begin(ctx, d)
	return &txn{Txn: t, store: s}, err
}

// txn is a transaction on the copy that keeps what it writes.
type txn struct {
	driver.Txn
	store *store
	ops   []driver.Op
}

var _ driver.Txn = (*txn)(nil)

func (t *txn) Put(k, v []byte) error {
	t.ops = append(t.ops, driver.Op{Key: bytes.Clone(k), Value: append([]byte{}, v...)})
	return t.Txn.Put(k, v)
}

func (t *txn) Delete(k []byte) error {
	t.ops = append(t.ops, driver.Op{Key: bytes.Clone(k), Delete: true})
	return t.Txn.Delete(k)
}

func (t *txn) Commit() error {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	return t.store.db.Apply(t.ops)
}
