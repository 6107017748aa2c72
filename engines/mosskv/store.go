package mosskv

import (
	"context"
	"errors"
	"fmt"

	"github.com/couchbase/moss"
	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/kv/overlay"
)

type store struct {
	lock       *flock.Flock
	options    moss.StoreOptions
	disk       *moss.Store
	collection moss.Collection
	failure    driver.Failure
	cause      chan error    // has the first failure, for the commit that meets it
	progress   chan struct{} // has an element when moss has written since the last look
	closing    chan struct{}
}

var (
	_ driver.Store      = (*store)(nil)
	_ driver.Configured = (*store)(nil)
)

// open opens the folder whose lock is held.
func (s *store) open(c driver.Config) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("moss panics: %v", r)}
		}
	}()
	o := s.options
	o.OpenFile, o.KeepFiles = opener(c.OnSync), true
	if err := tidy(c.Path, &o, c.Logger); err != nil {
		return classifyOpen(err)
	}
	if s.disk, err = moss.OpenStore(c.Path, o); err != nil {
		return classifyOpen(err)
	}
	if err := s.start(o.CollectionOptions); err != nil {
		return errors.Join(err, s.disk.Close())
	}
	return nil
}

func (s *store) Caps() driver.Caps { return caps }

func (s *store) Settings() []driver.Setting { return table.Settings(&s.options) }

func (s *store) Snapshot(context.Context) (driver.Reader, error) {
	r, err := s.collection.Snapshot()
	if err != nil {
		return nil, err
	}
	return &reader{r}, nil
}

func (s *store) Begin(_ context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.failure.Err(); err != nil {
		return nil, err
	}
	r, err := s.collection.Snapshot()
	if err != nil {
		return nil, err
	}
	return &txn{Txn: overlay.Txn{Reader: &reader{r}, Writes: overlay.New()}, store: s, d: d}, nil
}

func (s *store) Apply(_ context.Context, ops []driver.Op, d driver.Durability) error {
	if err := s.failure.Err(); err != nil {
		return err
	}
	return s.commit(overlay.Of(ops), d)
}

// commit executes the writes, of which each key has one.
func (s *store) commit(w *overlay.Writes, d driver.Durability) error {
	b, err := s.collection.NewBatch(w.Len(), w.Size())
	if err != nil {
		return driver.NotDone(err)
	}
	defer b.Close()
	for op := range w.All() {
		if op.Delete {
			err = b.Del(op.Key)
		} else {
			err = b.Set(op.Key, op.Value)
		}
		if err != nil {
			return driver.NotDone(err)
		}
	}
	if err := s.collection.ExecuteBatch(b, moss.WriteOptions{}); err != nil {
		return err
	}
	if d == driver.Buffered {
		return nil
	}
	return s.drain()
}

func (s *store) Close() error {
	err := s.failure.Err()
	if err == nil {
		err = s.drain()
	}
	close(s.closing)
	return errors.Join(err, s.collection.Close(), s.disk.Close(), s.lock.Close())
}
