// Package aborts is the engine "mem-aborts" for tests of stores: the one in memory, whose every
// other commit is Aborted as if the transaction had met another one. So each function that a store
// gives to Update runs twice, and what the first run left in memory must not be taken for stored.
package aborts

import (
	"context"
	"errors"

	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv"
)

func init() { driver.Register(aborting{}) }

type aborting struct{}

func (aborting) Info() driver.Info {
	info := mem().Info()
	info.Name, info.Summary = "mem-aborts", "the map in memory, whose every other commit is aborted"
	info.Caps.MayAbort = true
	return info
}

func (aborting) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	s, err := mem().Open(ctx, c)
	return &store{Store: s}, err
}

func mem() driver.Driver {
	d, _ := driver.Lookup("mem")
	return d
}

type store struct {
	driver.Store
	commits int
}

func (s *store) Caps() driver.Caps {
	c := s.Store.Caps()
	c.MayAbort = true
	return c
}

func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.Store.Begin(ctx, d)
	return &txn{t, s}, err
}

type txn struct {
	driver.Txn
	store *store
}

func (t *txn) Commit() error {
	if t.store.commits++; t.store.commits%2 == 1 {
		return &driver.Error{Kind: driver.Aborted, Err: errors.New("it met another transaction")}
	}
	return t.Txn.Commit()
}
