package kv

import (
	"context"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// Observer is told of every operation of a store after it ended, by the goroutine that ran it. It must not call the
// store.
type Observer func(Event)

// Event is one operation of a store.
type Event struct {
	Op         string        // "view", "get", "scan", "begin", "put", "delete", "commit", "rollback", "write"
	Durability Durability    // the class asked for, of begin, commit and write
	Pairs      int           // pairs read or written
	Bytes      int           // in the keys and values of those pairs
	Took       time.Duration // inside the engine; of a scan, the sum over its steps
	Err        error         // NotFound included; nil for most
}

// Observe returns a view of db that tells observer of every operation: the place for counting and tracing. Operations
// through db itself are not observed. Closing either closes the store.
func (db *DB) Observe(observer Observer) *DB {
	o := *db
	o.store = &observedStore{Store: db.store, tell: observer}
	return &o
}

type observedStore struct {
	driver.Store
	tell Observer
}

var _ driver.Store = (*observedStore)(nil)

func (s *observedStore) Snapshot() (driver.Reader, error) {
	start := time.Now()
	r, err := s.Store.Snapshot()
	s.tell(Event{Op: "view", Took: time.Since(start), Err: err})
	if err != nil {
		return nil, err
	}
	return &observedReader{Reader: r, tell: s.tell}, nil
}

func (s *observedStore) Begin(ctx context.Context, d Durability) (driver.Txn, error) {
	start := time.Now()
	t, err := s.Store.Begin(ctx, d)
	s.tell(Event{Op: "begin", Durability: d, Took: time.Since(start), Err: err})
	if err != nil {
		return nil, err
	}
	return &observedTxn{observedReader: observedReader{Reader: t, tell: s.tell}, txn: t, durability: d}, nil
}

func (s *observedStore) Apply(ctx context.Context, ops []driver.Op, d Durability) error {
	e := Event{Op: "write", Durability: d, Pairs: len(ops)}
	for _, op := range ops {
		e.Bytes += len(op.Key) + len(op.Value)
	}
	start := time.Now()
	e.Err = s.Store.Apply(ctx, ops, d)
	e.Took = time.Since(start)
	s.tell(e)
	return e.Err
}

type observedReader struct {
	driver.Reader
	tell Observer
}

func (r *observedReader) Get(dst, key []byte) ([]byte, error) {
	start := time.Now()
	v, err := r.Reader.Get(dst, key)
	e := Event{Op: "get", Took: time.Since(start), Err: err}
	if err == nil {
		e.Pairs, e.Bytes = 1, len(key)+len(v)-len(dst)
	}
	r.tell(e)
	return v, err
}

func (r *observedReader) Cursor(rg driver.Range) (driver.Cursor, error) {
	start := time.Now()
	c, err := r.Reader.Cursor(rg)
	if err != nil {
		r.tell(Event{Op: "scan", Took: time.Since(start), Err: err})
		return nil, err
	}
	return &observedCursor{Cursor: c, tell: r.tell, sum: Event{Op: "scan", Took: time.Since(start)}}, nil
}

type observedCursor struct {
	driver.Cursor
	tell Observer
	sum  Event
}

func (c *observedCursor) Next() (key, value []byte, err error) {
	start := time.Now()
	k, v, err := c.Cursor.Next()
	c.sum.Took += time.Since(start)
	if k != nil {
		c.sum.Pairs++
		c.sum.Bytes += len(k) + len(v)
	}
	if err != nil {
		c.sum.Err = err
	}
	return k, v, err
}

func (c *observedCursor) Close() error {
	err := c.Cursor.Close()
	if c.sum.Err == nil {
		c.sum.Err = err
	}
	c.tell(c.sum)
	return err
}

type observedTxn struct {
	observedReader
	txn        driver.Txn
	durability Durability
	committed  bool
}

func (t *observedTxn) Put(key, value []byte) error {
	start := time.Now()
	err := t.txn.Put(key, value)
	t.tell(Event{Op: "put", Pairs: 1, Bytes: len(key) + len(value), Took: time.Since(start), Err: err})
	return err
}

func (t *observedTxn) Delete(key []byte) error {
	start := time.Now()
	err := t.txn.Delete(key)
	t.tell(Event{Op: "delete", Pairs: 1, Bytes: len(key), Took: time.Since(start), Err: err})
	return err
}

func (t *observedTxn) Commit() error {
	t.committed = true
	start := time.Now()
	err := t.txn.Commit()
	t.tell(Event{Op: "commit", Durability: t.durability, Took: time.Since(start), Err: err})
	return err
}

func (t *observedTxn) Close() error {
	if t.committed {
		return t.txn.Close()
	}
	start := time.Now()
	err := t.txn.Close()
	t.tell(Event{Op: "rollback", Took: time.Since(start), Err: err})
	return err
}
