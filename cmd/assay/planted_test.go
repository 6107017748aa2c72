package main

import (
	"context"
	"os"
	"sync/atomic"

	"github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/kv/driver"
)

// crashing is bbolt with a planted crash: its process dies in the midst of a run.
type crashing struct{ bboltkv.Driver }

func (d crashing) Info() driver.Info {
	info := d.Driver.Info()
	info.Name = "crashing"
	return info
}

func (d crashing) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	return &crashingStore{Store: s}, err
}

type crashingStore struct {
	driver.Store
	snapshots atomic.Int64
}

func (s *crashingStore) Snapshot(context.Context) (driver.Reader, error) {
	if s.snapshots.Add(1) > 500 {
		os.Stderr.WriteString("panic: planted crash\n")
		os.Exit(2)
	}
	return s.Store.Snapshot(context.Background())
}

// lying is Pebble with a planted lie: it says that commits are synced, and leaves them in the
// process's memory.
type lying struct{ pebblekv.Driver }

func (d lying) Info() driver.Info {
	info := d.Driver.Info()
	info.Name = "lying"
	return info
}

func (d lying) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return lyingStore{s}, nil
}

type lyingStore struct{ driver.Store }

func (s lyingStore) Begin(ctx context.Context, _ driver.Durability) (driver.Txn, error) {
	return s.Store.Begin(ctx, driver.Buffered)
}

func (s lyingStore) Apply(ctx context.Context, ops []driver.Op, _ driver.Durability) error {
	return driver.Apply(ctx, s.Store, ops, driver.Buffered)
}
