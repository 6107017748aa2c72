// Package doubts is the engine "mem-doubts" for tests of stores: the one in memory, as if a server
// had it, whose answer to a commit may be lost. The commit is done then, and in doubt, and the
// store goes on.
package doubts

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv"
)

func init() { driver.Register(doubting{}) }

// Next has the answer to the next commit be lost.
func Next() { lost.Store(true) }

var lost atomic.Bool

type doubting struct{}

func (doubting) Info() driver.Info {
	info := mem().Info()
	info.Name, info.Summary = "mem-doubts", "the map in memory, as if a server had it, whose answers are lost"
	info.Caps.Remote = true
	return info
}

func (doubting) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	s, err := mem().Open(ctx, c)
	return store{s}, err
}

func mem() driver.Driver {
	d, _ := driver.Lookup("mem")
	return d
}

type store struct{ driver.Store }

func (s store) Caps() driver.Caps {
	c := s.Store.Caps()
	c.Remote = true
	return c
}

func (s store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.Store.Begin(ctx, d)
	return txn{t}, err
}

type txn struct{ driver.Txn }

func (t txn) Commit() error {
	err := t.Txn.Commit()
	if err == nil && lost.CompareAndSwap(true, false) {
		return errors.New("the answer was lost")
	}
	return err
}
