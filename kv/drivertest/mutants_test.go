package drivertest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv"
)

// A mutant is a correct store with one fault. The suite is worth something if the case that is
// about the fault fails.

type mutant struct {
	name   string // the engine's name is "broken-" and this
	caught string // the sentence that does not hold
	caps   func(*driver.Caps)
	hooks
}

// hooks replace methods; nil leaves the method as it is.
type hooks struct {
	get      func(r driver.Reader, dst, key []byte) ([]byte, error)
	cursor   func(r driver.Reader, rg driver.Range) (driver.Cursor, error)
	next     func(k, v []byte) (key, value []byte)
	snapshot func(s driver.Store) (driver.Reader, error)
	getAlone func(s driver.Store, dst, key []byte) ([]byte, error)
	apply    func(s driver.Store, ops []driver.Op) error
	put      func(t driver.Txn, key, value []byte) error
	delete   func(t driver.Txn, key []byte) error
	rollback func(t driver.Txn) error
	compact  func(s driver.Store) error
	settings func() []driver.Setting
	open     func()
}

func init() {
	mutants = append(mutants, lendMutants...)
	for _, m := range mutants {
		driver.Register(m)
	}
}

func (m *mutant) Info() driver.Info {
	d, _ := driver.Lookup("mem")
	info := d.Info()
	info.Name = "broken-" + m.name
	if m.caps != nil {
		m.caps(&info.Caps)
	}
	return info
}

func (m *mutant) Open(ctx context.Context, c driver.Config) (driver.Store, error) {
	d, _ := driver.Lookup("mem")
	s, err := d.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	if m.open != nil {
		m.open()
	}
	if m.getAlone != nil {
		return &brokenGetter{brokenStore{s, m}}, nil
	}
	return &brokenStore{s, m}, nil
}

// brokenGetter is a brokenStore that reads one value without a snapshot.
type brokenGetter struct{ brokenStore }

func (s *brokenGetter) Get(_ context.Context, dst, key []byte) ([]byte, error) {
	return s.getAlone(s.Store, dst, key)
}

type brokenStore struct {
	driver.Store
	*mutant
}

func (s *brokenStore) Caps() driver.Caps { return s.Info().Caps }

func (s *brokenStore) Settings() []driver.Setting {
	if s.settings != nil {
		return s.settings()
	}
	return nil
}

func (s *brokenStore) Snapshot(ctx context.Context) (driver.Reader, error) {
	if s.snapshot != nil {
		return s.snapshot(s.Store)
	}
	r, err := s.Store.Snapshot(ctx)
	return &brokenReader{r, s.mutant}, err
}

func (s *brokenStore) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	t, err := s.Store.Begin(ctx, d)
	return &brokenTxn{brokenReader{t, s.mutant}, t, false}, err
}

func (s *brokenStore) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	if s.apply != nil {
		return s.apply(s.Store, ops)
	}
	return driver.Apply(ctx, s.Store, ops, d)
}

func (s *brokenStore) Compact(ctx context.Context) error {
	if s.compact != nil {
		return s.compact(s.Store)
	}
	return nil // the inner store is in memory
}

type brokenReader struct {
	driver.Reader
	*mutant
}

func (r *brokenReader) Get(dst, key []byte) ([]byte, error) {
	if r.get != nil {
		return r.get(r.Reader, dst, key)
	}
	return r.Reader.Get(dst, key)
}

func (r *brokenReader) Cursor(rg driver.Range) (driver.Cursor, error) {
	c, err := driver.Cursor(nil), error(nil)
	if r.cursor != nil {
		c, err = r.cursor(r.Reader, rg)
	} else {
		c, err = r.Reader.Cursor(rg)
	}
	if err != nil || r.next == nil {
		return c, err
	}
	return &brokenCursor{c, r.mutant}, nil
}

type brokenCursor struct {
	driver.Cursor
	*mutant
}

func (c *brokenCursor) Next() (key, value []byte, err error) {
	k, v, err := c.Cursor.Next()
	if k == nil || err != nil {
		return k, v, err
	}
	key, value = c.next(k, v)
	return key, value, nil
}

type brokenTxn struct {
	brokenReader
	txn       driver.Txn
	committed bool
}

func (t *brokenTxn) Put(key, value []byte) error {
	if t.put != nil {
		return t.put(t.txn, key, value)
	}
	return t.txn.Put(key, value)
}

func (t *brokenTxn) Delete(key []byte) error {
	if t.delete != nil {
		return t.delete(t.txn, key)
	}
	return t.txn.Delete(key)
}

func (t *brokenTxn) Commit() error {
	t.committed = true
	return t.txn.Commit()
}

func (t *brokenTxn) Close() error {
	if !t.committed && t.rollback != nil {
		return t.rollback(t.txn)
	}
	return t.txn.Close()
}

var mutants = []*mutant{
	{name: "nothing"},
	{name: "aliasing-get", caught: "the result of Get survives later writes and Close", hooks: hooks{
		get: func(r driver.Reader, dst, key []byte) ([]byte, error) {
			if dst != nil {
				return r.Get(dst, key)
			}
			return lookUp(r, key)
		}}},
	{name: "get-without-dst", caught: "Append appends to dst and leaves what stands before", hooks: hooks{
		get: func(r driver.Reader, dst, key []byte) ([]byte, error) {
			if v, err := r.Get(nil, key); err == nil {
				return v, nil
			}
			return dst, driver.NotFound
		}}},
	{name: "absent-without-dst", caught: "Append of an absent key returns dst unchanged", hooks: hooks{
		get: func(r driver.Reader, dst, key []byte) ([]byte, error) {
			v, err := r.Get(dst, key)
			if err != nil {
				return nil, err
			}
			return v, nil
		}}},
	{name: "dressed-absent", caught: "Append of an absent key returns dst unchanged", hooks: hooks{
		get: func(r driver.Reader, dst, key []byte) ([]byte, error) {
			v, err := r.Get(dst, key)
			if err != nil {
				err = &driver.Error{Kind: driver.NotFound, Err: err}
			}
			return v, err
		}}},
	{name: "get-alone-without-dst", caught: "any sequence of operations does what it does to a sorted map",
		hooks: hooks{
			getAlone: func(s driver.Store, _, key []byte) ([]byte, error) { return getAlone(s, nil, key) }}},
	{name: "get-alone-finds-all", caught: "any sequence of operations does what it does to a sorted map", hooks: hooks{
		getAlone: func(s driver.Store, dst, key []byte) ([]byte, error) {
			v, err := getAlone(s, dst, key)
			if err == error(driver.NotFound) {
				err = nil
			}
			return v, err
		}}},
	{name: "scan-without-end", caught: "a scan gives exactly the keys from Start up to but not including End",
		hooks: hooks{
			cursor: func(r driver.Reader, rg driver.Range) (driver.Cursor, error) {
				rg.End = nil
				return r.Cursor(rg)
			}}},
	{name: "scan-without-start", caught: "a scan gives exactly the keys from Start up to but not including End",
		hooks: hooks{
			cursor: func(r driver.Reader, rg driver.Range) (driver.Cursor, error) {
				rg.Start = nil
				return r.Cursor(rg)
			}}},
	{name: "scan-with-end", caught: "a scan gives exactly the keys from Start up to but not including End",
		hooks: hooks{
			cursor: func(r driver.Reader, rg driver.Range) (driver.Cursor, error) {
				if rg.End != nil {
					rg.End = append(slices.Clone(rg.End), 0)
				}
				return r.Cursor(rg)
			}}},
	{name: "reverse-forward", caught: "any sequence of operations does what it does to a sorted map", hooks: hooks{
		cursor: func(r driver.Reader, rg driver.Range) (driver.Cursor, error) {
			rg.Reverse = false
			return r.Cursor(rg)
		}}},
	{name: "leaking-rollback", caught: "an Update that returns an error leaves nothing and returns that error",
		hooks: hooks{
			rollback: commitAnyway}},
	{name: "leaking-panic", caught: "an Update that panics leaves nothing, passes the panic on and leaves the store usable", hooks: hooks{
		rollback: commitAnyway}},
	{name: "leaking-exit", caught: "a function that leaves its goroutine is rolled back",
		hooks: hooks{rollback: commitAnyway}},
	{name: "half-batch", caught: "the writes of a batch happen in order, the last wins", hooks: hooks{
		apply: func(s driver.Store, ops []driver.Op) error { return apply(s, ops[:(len(ops)+1)/2]) }}},
	{name: "disordered-batch", caught: "the writes of a batch happen in order, the last wins", hooks: hooks{
		apply: func(s driver.Store, ops []driver.Op) error {
			ops = slices.Clone(ops)
			slices.Reverse(ops)
			return apply(s, ops)
		}}},
	{name: "split-batch", caught: "readers see a batch as a whole or not at all", hooks: hooks{
		apply: func(s driver.Store, ops []driver.Op) error {
			for i := range ops {
				if err := apply(s, ops[i:i+1]); err != nil {
					return err
				}
				time.Sleep(10 * time.Microsecond)
			}
			return nil
		}}},
	{name: "lost-batches", caught: "batches of many goroutines are all applied",
		caps: func(c *driver.Caps) { c.ConcurrentApply = true },
		hooks: hooks{apply: func(s driver.Store, ops []driver.Op) error {
			losing.Lock()
			t, err := s.Begin(context.Background(), driver.Buffered)
			for _, op := range ops {
				err = errors.Join(err, t.Put(op.Key, op.Value))
			}
			losing.Unlock()
			time.Sleep(100 * time.Microsecond)
			losing.Lock()
			defer losing.Unlock()
			return errors.Join(err, t.Commit())
		}}},
	{name: "half-large-batch", caught: "a large batch is applied as a whole or refused as too large",
		caps: func(c *driver.Caps) { c.TxnLimit = true },
		hooks: hooks{apply: func(s driver.Store, ops []driver.Op) error {
			if len(ops) <= 1000 {
				return apply(s, ops)
			}
			_ = apply(s, ops[:1000])
			return driver.TooLarge
		}}},
	{name: "empty-is-absent", caught: "an empty value is there, and differs from an absent key", hooks: hooks{
		get: func(r driver.Reader, dst, key []byte) ([]byte, error) {
			v, err := r.Get(dst, key)
			if len(v) == len(dst) {
				return dst, driver.NotFound
			}
			return v, err
		}}},
	{name: "empty-deletes", caught: "any sequence of operations does what it does to a sorted map", hooks: hooks{
		put: func(t driver.Txn, key, value []byte) error {
			if len(value) == 0 {
				return t.Delete(key)
			}
			return t.Put(key, value)
		}}},
	{name: "moving-snapshot", caught: "a snapshot does not see later commits", hooks: hooks{snapshot: latest}},
	{name: "moving-old-snapshot", caught: "a snapshot stays as it is through many commits and a compaction",
		hooks: hooks{snapshot: latest}},
	{name: "blind-txn", caught: "a transaction sees its own writes", hooks: hooks{
		put: func(t driver.Txn, key, value []byte) error {
			if len(value) > 3 {
				return nil
			}
			return t.Put(key, value)
		}}},
	{name: "kept-key", caught: "arguments may be overwritten once a call has returned", hooks: hooks{
		put: func(t driver.Txn, key, value []byte) error {
			keptKey = key
			return t.Put(key, value)
		},
		cursor: func(r driver.Reader, rg driver.Range) (driver.Cursor, error) {
			if t, ok := r.(driver.Txn); ok && keptKey != nil {
				_ = t.Put(keptKey, nil)
			}
			return r.Cursor(rg)
		}}},
	{name: "strict-delete", caught: "an absent key is not found", hooks: hooks{
		delete: func(t driver.Txn, key []byte) error {
			if _, err := t.Get(nil, key); err != nil {
				return err
			}
			return t.Delete(key)
		}}},
	{name: "zero-ended-keys", caught: "keys of arbitrary bytes come in the order of their bytes", hooks: hooks{
		apply: func(s driver.Store, ops []driver.Op) error {
			ops = slices.Clone(ops)
			for i := range ops {
				if end := bytes.IndexByte(ops[i].Key, 0); end > 0 {
					ops[i].Key = ops[i].Key[:end]
				}
			}
			return apply(s, ops)
		}}},
	{name: "short-values", caught: "values of a mebibyte are kept", hooks: hooks{
		put: func(t driver.Txn, key, value []byte) error { return t.Put(key, value[:min(len(value), 1<<16-1)]) }}},
	{name: "lossy-compaction", caught: "Compact and Check leave the pairs as they are", hooks: hooks{
		compact: func(s driver.Store) error {
			return apply(s,
				[]driver.Op{{Key: []byte("key000100"), Delete: true}})
		}}},
	{name: "restless-settings", caught: "settings are told, and are the same each time", hooks: hooks{
		settings: func() []driver.Setting { return []driver.Setting{{Name: "now", Value: time.Now().String()}} }}},
	{name: "weak-promise", caught: "the options and capabilities are described", caps: func(c *driver.Caps) {
		c.Promises[driver.Synced] = driver.Promise{Supported: true, Class: driver.Buffered}
	}},
	{name: "false-limit", caught: "a key and a value of the declared limit are kept, one byte more is too large",
		caps: func(c *driver.Caps) { c.MaxKey = 100 }, hooks: hooks{
			put: func(t driver.Txn, key, value []byte) error {
				if len(key) > 99 {
					return driver.TooLarge
				}
				return t.Put(key, value)
			}}},
	{name: "running-goroutine", caught: "no goroutine outlives Close by more than a moment", hooks: hooks{
		open: func() { go time.Sleep(time.Minute) }}},
}

var losing sync.Mutex // memkv has one transaction at a time change a tree

var keptKey []byte // an argument that should not have been kept

func apply(s driver.Store, ops []driver.Op) error {
	return driver.Apply(context.Background(), s, ops, driver.Buffered)
}

func commitAnyway(t driver.Txn) error {
	_ = t.Commit()
	return t.Close()
}

// lookUp returns the stored value itself.
func lookUp(r driver.Reader, key []byte) ([]byte, error) {
	c, err := r.Cursor(driver.Range{Start: key})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	k, v, err := c.Next()
	if err != nil || !bytes.Equal(k, key) {
		return nil, driver.NotFound
	}
	return v, nil
}

// latest returns a reader of whatever state is the last.
func latest(s driver.Store) (driver.Reader, error) { return latestReader{s}, nil }

type latestReader struct{ s driver.Store }

func (l latestReader) Get(dst, key []byte) ([]byte, error) {
	r, err := l.s.Snapshot(context.Background())
	if err != nil {
		return dst, err
	}
	defer r.Close()
	return r.Get(dst, key)
}

func (l latestReader) Cursor(rg driver.Range) (driver.Cursor, error) {
	r, err := l.s.Snapshot(context.Background())
	if err != nil {
		return nil, err
	}
	return r.Cursor(rg)
}

func (l latestReader) Close() error { return nil }

// setFlag sets a flag for the time of the test.
func setFlag(t *testing.T, name, value string) {
	old := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(name, old) })
}

func TestTheSuiteCatchesEveryMutant(t *testing.T) {
	setFlag(t, "rapid.nofailfile", "true")
	setFlag(t, "rapid.shrinktime", "10ms")
	defer func(old time.Duration) { grace = old }(grace)
	// A case of random operations must not miss a mutant by bad luck; -short would run a fifth of
	// them.
	if err := flag.Set("rapid.checks", "500"); err != nil {
		t.Fatal(err)
	}
	grace = 200 * time.Millisecond
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) { catch(t, "broken-"+m.name, m.caught) })
	}
}

// catch runs the case that must fail, or, if caught is empty, every case, none of which may.
func catch(t *testing.T, engine, caught string) {
	s := newSuite(t, Config{Engine: engine})
	found := false
	for _, c := range allCases() {
		if caught != "" && c.name != caught {
			continue
		}
		found = true
		r := record(t, s, c)
		switch {
		case caught == "" && r.failed:
			t.Errorf("%q fails a correct store: %s", c.name, r.said())
		case caught != "" && !r.failed:
			t.Errorf("not caught by %q (skipped=%v): %s", c.name, r.skipped, r.said())
		case caught != "":
			t.Log(r.said())
		}
	}
	if !found {
		t.Fatal(fmt.Errorf("no case %q", caught))
	}
}

// getAlone reads one value as kv does of a store that has no such method.
func getAlone(s driver.Store, dst, key []byte) ([]byte, error) {
	r, err := s.Snapshot(context.Background())
	if err != nil {
		return dst, err
	}
	defer r.Close()
	return r.Get(dst, key)
}
