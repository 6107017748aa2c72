// Package memkv is the reference engine: an ordered map in memory, registered as "mem".
//
// It is the model that other engines are compared with, what tests of programs use, and the
// shortest driver there is: docs/adding-an-engine.md shows all of it, to be copied. Nothing
// outlives Close, so that it delivers Buffered alone. Every open store is a map of its own; the
// path in its URL is only a name:
//
//	db, err := kv.Open(ctx, "mem:", kv.WithWeakest(kv.Buffered))
//
// Readers and writers never wait for each other.
package memkv

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(memDriver{}) }

type memDriver struct{}

var caps = driver.Caps{
	PureGo: true,
	Modes:  []driver.Mode{driver.Exclusive},
	Promises: [3]driver.Promise{
		driver.Buffered: {Supported: true, Class: driver.Buffered, KillAtomic: true, PowerAtomic: true},
	},
	Checks: true,
}

func (memDriver) Info() driver.Info {
	return driver.Info{
		Name:    "mem",
		Summary: "ordered map in memory, nothing on disk",
		Modules: []string{"github.com/tidwall/btree"},
		Caps:    caps,
	}
}

// Open returns a new, empty store, whatever the path.
func (memDriver) Open(context.Context, driver.Config) (driver.Store, error) {
	s := new(store)
	s.last.Store(btree.NewBTreeGOptions(less, btree.Options{NoLocks: true}))
	return s, nil
}

// tree holds pairs that nobody changes, and shares its nodes with the trees it was copied from.
type tree = btree.BTreeG[pair]

type pair struct{ key, value []byte }

func less(a, b pair) bool { return bytes.Compare(a.key, b.key) < 0 }

// store is one map in memory. A tree that was committed never changes again: a snapshot is the tree
// of its time.
type store struct{ last atomic.Pointer[tree] }

// What a transaction needs is used again by the next one.
var (
	txns    = sync.Pool{New: func() any { return new(txn) }}
	cursors = sync.Pool{New: func() any { return new(cursor) }}
)

func (s *store) Caps() driver.Caps { return caps }

func (s *store) Snapshot(context.Context) (driver.Reader, error) { return reader{s.last.Load()}, nil }

func (s *store) Begin(context.Context, driver.Durability) (driver.Txn, error) {
	t := txns.Get().(*txn)
	*t = txn{reader: reader{s.last.Load()}, store: s}
	return t, nil
}

func (s *store) Close() error { return nil }

// newPair copies key and value, into one allocation.
func newPair(key, value []byte) pair {
	b := append(append(make([]byte, 0, len(key)+len(value)), key...), value...)
	return pair{b[:len(key):len(key)], b[len(key):]}
}

// reader reads one tree.
type reader struct{ tree *tree }

func (r reader) Get(dst, key []byte) ([]byte, error) {
	p, ok := r.tree.Get(pair{key: key})
	if !ok {
		return dst, driver.NotFound
	}
	return append(dst, p.value...), nil
}

func (r reader) Cursor(rg driver.Range) (driver.Cursor, error) {
	c := cursors.Get().(*cursor)
	c.r = rg
	c.at.Init(r.tree, false)
	switch {
	case !rg.Reverse:
		c.more = c.at.Seek(pair{key: rg.Start})
	case rg.End != nil && c.at.Seek(pair{key: rg.End}):
		c.more = c.at.Prev()
	default:
		c.more = c.at.Last()
	}
	return c, nil
}

func (reader) Close() error { return nil }

// cursor stands on the next pair, if there is more.
type cursor struct {
	r    driver.Range
	at   btree.IterG[pair]
	more bool
}

func (c *cursor) Next() (key, value []byte, err error) {
	if !c.more {
		return nil, nil, nil
	}
	p := c.at.Item()
	switch {
	case c.r.Beyond(p.key):
		c.more = false
		return nil, nil, nil
	case c.r.Reverse:
		c.more = c.at.Prev()
	default:
		c.more = c.at.Next()
	}
	return p.key, p.value, nil
}

func (c *cursor) Close() error {
	c.at.Release()
	c.r = driver.Range{}
	cursors.Put(c)
	return nil
}

// txn is a transaction: a reader whose tree becomes one of its own with the first write, and the
// store's on Commit.
type txn struct {
	reader
	store *store
}

func (t *txn) Put(key, value []byte) error {
	t.own().Set(newPair(key, value))
	return nil
}

func (t *txn) Delete(key []byte) error {
	t.own().Delete(pair{key: key})
	return nil
}

func (t *txn) own() *tree {
	if t.tree == t.store.last.Load() {
		t.tree = t.tree.Copy()
	}
	return t.tree
}

func (t *txn) Commit() error {
	t.store.last.Store(t.tree)
	return nil
}

func (t *txn) Close() error {
	*t = txn{}
	txns.Put(t)
	return nil
}
