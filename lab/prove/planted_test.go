package prove

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv/driver"
)

// planted is bbolt with one fault that a proof must find.
type planted struct {
	bboltkv.Driver
	name string
	// open is called with the store's path before each opening.
	open func(path string)
	// apply commits ops in place of the store. What a transaction puts and deletes is applied as
	// ops, too.
	apply func(ctx context.Context, s *plantedStore, ops []driver.Op, d driver.Durability) error
	moves bool // a snapshot shows what is committed after it
	// backsUpEarly: a backup is the one that was made when the store was opened.
	backsUpEarly bool
}

func registerPlanted() {
	for _, p := range []planted{
		{name: "forgetful", apply: acknowledgeEverySeventhOnly},
		{name: "halving", apply: commitInHalves},
		{name: "reviving", apply: keepTheDeleted},
		{name: "stale", apply: rememberOldValues},
		{name: "reordering", apply: delaySome},
		{name: "unsynced", apply: skipTheSync},
		{name: "moving", apply: applyAll, moves: true},
		{name: "late-backup", apply: applyAll, backsUpEarly: true},
		{name: "panicking", open: panicIfThere},
		{name: "hanging", open: hangIfThere},
		{name: "shallow", open: makeFolders},
	} {
		driver.Register(p)
	}
}

func (p planted) Info() driver.Info {
	info := p.Driver.Info()
	info.Name = p.name
	return info
}

func (p planted) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	if p.open != nil {
		p.open(c.Path)
	}
	s, err := p.Driver.Open(ctx, c)
	if err != nil || p.apply == nil {
		return s, err
	}
	made := &plantedStore{Store: s, plan: p, dir: filepath.Dir(c.Path)}
	if p.backsUpEarly && filepath.Base(c.Path) == "store" {
		made.early = filepath.Join(made.dir, "early")
		if err := errors.Join(os.RemoveAll(made.early), s.(driver.Backuper).Backup(ctx, made.early)); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return made, nil
}

func (s *plantedStore) Backup(ctx context.Context, path string) error {
	if s.early == "" {
		return s.Store.(driver.Backuper).Backup(ctx, path)
	}
	return os.Link(s.early, path)
}

// plantedStore is an open store with the fault.
type plantedStore struct {
	driver.Store
	plan planted
	dir  string

	early string // a backup

	mu      sync.Mutex
	commits int
	late    []driver.Op
}

func (s *plantedStore) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits++
	return s.plan.apply(ctx, s, ops, d)
}

func (s *plantedStore) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.Store.Begin(ctx, d)
	if err != nil {
		return nil, err
	}
	return &plantedTxn{Txn: t, s: s, ctx: ctx, d: d}, nil
}

func (s *plantedStore) Snapshot(ctx context.Context) (driver.Reader, error) {
	r, err := s.Store.Snapshot(ctx)
	if err != nil || !s.plan.moves {
		return r, err
	}
	return &movingReader{Reader: r, s: s, ctx: ctx}, nil
}

// movingReader begins anew for each cursor.
type movingReader struct {
	driver.Reader
	s   *plantedStore
	ctx context.Context
}

func (r *movingReader) Cursor(rg driver.Range) (driver.Cursor, error) {
	fresh, err := r.s.Store.Snapshot(r.ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Reader.Close(); err != nil {
		return nil, err
	}
	r.Reader = fresh
	c, err := fresh.Cursor(rg)
	if err != nil {
		return nil, err
	}
	return struct{ driver.Cursor }{c}, nil // which cannot be reopened: the next one begins anew too
}

func applyAll(ctx context.Context, s *plantedStore, ops []driver.Op, d driver.Durability) error {
	return driver.Apply(ctx, s.Store, ops, d)
}

// plantedTxn keeps its writes and applies them in the planted way.
type plantedTxn struct {
	driver.Txn
	s   *plantedStore
	ctx context.Context
	d   driver.Durability
	ops []driver.Op
}

func (t *plantedTxn) Put(key, value []byte) error {
	t.ops = append(t.ops, driver.Op{Key: bytes.Clone(key), Value: append([]byte{}, value...)})
	return nil
}

func (t *plantedTxn) Delete(key []byte) error {
	t.ops = append(t.ops, driver.Op{Key: bytes.Clone(key), Delete: true})
	return nil
}

func (t *plantedTxn) Commit() error {
	if err := t.Txn.Close(); err != nil { // so that Apply finds no transaction open
		return err
	}
	t.Txn = nil
	return t.s.Apply(t.ctx, t.ops, t.d)
}

func (t *plantedTxn) Close() error {
	if t.Txn == nil {
		return nil
	}
	return t.Txn.Close()
}

// acknowledgeEverySeventhOnly commits from memory every seventh time, and in between acknowledges
// what is not there.
func acknowledgeEverySeventhOnly(ctx context.Context, s *plantedStore, ops []driver.Op, d driver.Durability) error {
	for _, o := range ops {
		s.late = append(s.late, driver.Op{Key: bytes.Clone(o.Key), Value: append([]byte{}, o.Value...),
			Delete: o.Delete})
	}
	if s.commits%7 != 0 {
		return nil
	}
	late := s.late
	s.late = nil
	return driver.Apply(ctx, s.Store, late, d)
}

// skipTheSync commits as Flushed, whatever was asked for.
func skipTheSync(ctx context.Context, s *plantedStore, ops []driver.Op, _ driver.Durability) error {
	return driver.Apply(ctx, s.Store, ops, driver.Flushed)
}

// commitInHalves makes two transactions of one.
func commitInHalves(ctx context.Context, s *plantedStore, ops []driver.Op, d driver.Durability) error {
	if err := driver.Apply(ctx, s.Store, ops[:len(ops)/2], d); err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	return driver.Apply(ctx, s.Store, ops[len(ops)/2:], d)
}

// keepTheDeleted does not delete, now and then.
func keepTheDeleted(ctx context.Context, s *plantedStore, ops []driver.Op, d driver.Durability) error {
	var kept []driver.Op
	for _, o := range ops {
		if !o.Delete || s.commits%5 != 0 {
			kept = append(kept, o)
		}
	}
	return driver.Apply(ctx, s.Store, kept, d)
}

// rememberOldValues puts a value back that was written before the store was opened last: the first
// record of every opening lies in a file beside the store, and the third commit of the next one
// brings it back.
func rememberOldValues(ctx context.Context, s *plantedStore, ops []driver.Op, d driver.Durability) error {
	name := filepath.Join(s.dir, "old")
	switch s.commits {
	case 1:
		if old, err := os.ReadFile(name); err == nil {
			key, value, _ := bytes.Cut(old, []byte("="))
			s.late = []driver.Op{{Key: key, Value: value}}
		}
		if err := os.WriteFile(name, slices.Concat(ops[1].Key, []byte("="), ops[1].Value), 0o600); err != nil {
			return err
		}
	case 3:
		ops = append(slices.Clone(ops), s.late...)
	}
	return driver.Apply(ctx, s.Store, ops, d)
}

// delaySome holds every third commit back until the next one has been made.
func delaySome(ctx context.Context, s *plantedStore, ops []driver.Op, d driver.Durability) error {
	late := s.late
	s.late = nil
	if s.commits%3 == 0 {
		for _, o := range ops {
			s.late = append(s.late, driver.Op{Key: bytes.Clone(o.Key), Value: append([]byte{}, o.Value...),
				Delete: o.Delete})
		}
		time.Sleep(time.Millisecond)
		return nil
	}
	if err := driver.Apply(ctx, s.Store, ops, d); err != nil || late == nil {
		return err
	}
	time.Sleep(time.Millisecond)
	return driver.Apply(ctx, s.Store, late, d)
}

func panicIfThere(path string) {
	if _, err := os.Stat(path); err == nil {
		panic("planted panic")
	}
}

func hangIfThere(path string) {
	if _, err := os.Stat(path); err == nil {
		time.Sleep(time.Hour)
	}
}

// makeFolders makes the folders that a store is to lie in, and syncs none of their names.
func makeFolders(path string) { _ = os.MkdirAll(filepath.Dir(path), 0o700) } // opening fails then
