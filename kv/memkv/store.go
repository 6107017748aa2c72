package memkv

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/assaydb/assay/kv/driver"
)

// store is one map in memory. A commit replaces the root; a snapshot is the root of its time.
type store struct {
	root atomic.Pointer[node]
}

var _ driver.Store = (*store)(nil)

var (
	readers = sync.Pool{New: func() any { return new(reader) }}
	txns    = sync.Pool{New: func() any { return new(txn) }}
)

func (s *store) Caps() driver.Caps { return caps }

func (s *store) Settings() []driver.Setting {
	return []driver.Setting{{Name: "memory", Value: "immutable treap"}}
}

func (s *store) Snapshot(context.Context) (driver.Reader, error) {
	r := readers.Get().(*reader)
	r.root = s.root.Load()
	return r, nil
}

func (s *store) Begin(context.Context, driver.Durability) (driver.Txn, error) {
	t := txns.Get().(*txn)
	t.store, t.root = s, s.root.Load()
	return t, nil
}

func (s *store) Apply(_ context.Context, ops []driver.Op, _ driver.Durability) error {
	root := s.root.Load()
	for _, op := range ops {
		if op.Delete {
			root = root.delete(op.Key)
		} else {
			root = put(root, op.Key, op.Value)
		}
	}
	s.root.Store(root)
	return nil
}

// Check finds keys out of order, which would be a fault of this package or of a program that writes into borrowed bytes.
func (s *store) Check(ctx context.Context) error {
	r := reader{root: s.root.Load()}
	c, err := r.Cursor(driver.Range{})
	if err != nil {
		return err
	}
	return errors.Join(checkOrder(ctx, c), c.Close())
}

func (s *store) Close() error {
	s.root.Store(nil)
	return nil
}
