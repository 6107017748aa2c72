package main

import (
	"context"
	"sync"

	"github.com/assaydb/assay"
	"github.com/assaydb/assay/engines/etcdkv"
	"github.com/assaydb/assay/engines/postgreskv"
	"github.com/assaydb/assay/kv/driver"
)

// planted are engines whose faults a proof must find.
var planted = []assay.Engine{
	{Name: "hasty", Engine: "hasty", Servers: &postgres},
	{Name: "stale", Engine: "stale", Servers: &etcd},
}

func init() {
	driver.Register(wrapped{postgreskv.Driver{}, "hasty", func(s driver.Store) driver.Store { return hasty{s} }})
	driver.Register(wrapped{etcdkv.Driver{}, "stale", func(s driver.Store) driver.Store { return &stale{Store: s} }})
}

// wrapped is a driver under another name, whose stores are another one's, changed.
type wrapped struct {
	driver.Driver
	name   string
	change func(driver.Store) driver.Store
}

func (w wrapped) Info() driver.Info {
	info := w.Driver.Info()
	info.Name = w.name
	return info
}

func (w wrapped) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	s, err := w.Driver.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return w.change(s), nil
}

// hasty acknowledges each commit before it is durable, whatever was asked.
type hasty struct{ driver.Store }

func (s hasty) Begin(ctx context.Context, _ driver.Durability) (driver.Txn, error) {
	return s.Store.Begin(ctx, driver.Flushed)
}

// stale shows who looks without writing the state that the look before him was at.
type stale struct {
	driver.Store
	mu   sync.Mutex
	last driver.Reader
}

func (s *stale) Snapshot(ctx context.Context) (driver.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := s.Store.Snapshot(context.WithoutCancel(ctx))
	if err != nil || s.last == nil {
		if err == nil {
			s.last, err = s.Store.Snapshot(context.WithoutCancel(ctx))
		}
		return now, err
	}
	now, s.last = s.last, now
	return now, nil
}

// Close ends the look that nobody has had.
func (s *stale) Close() error {
	if s.last != nil {
		_ = s.last.Close() // the store ends with it
	}
	return s.Store.Close()
}
