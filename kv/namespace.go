package kv

import (
	"context"
	"slices"

	"github.com/assaydb/assay/kv/driver"
)

// Namespace returns a view of db that holds only the keys beginning with prefix, shown without it. Writers of db and
// of all its namespaces exclude each other as those of one store. An empty prefix is the whole store.
// Compact, Check, Size, Backup and Close concern the whole store.
func (db *DB) Namespace(prefix []byte) *DB {
	n := *db
	n.store = &prefixStore{Store: db.store, prefix: slices.Clone(prefix), end: After(prefix)}
	n.caps = n.store.Caps()
	return &n
}

// prefixStore is a driver.Store over another one that puts a prefix before every key.
type prefixStore struct {
	driver.Store
	prefix, end []byte // end is the first key after the namespace, nil if there is none
}

var _ driver.Store = (*prefixStore)(nil)

func (s *prefixStore) Caps() Caps {
	c := s.Store.Caps()
	if c.MaxKey > 0 {
		c.MaxKey = max(c.MaxKey-len(s.prefix), 1)
	}
	return c
}

func (s *prefixStore) Snapshot() (driver.Reader, error) {
	r, err := s.Store.Snapshot()
	if err != nil {
		return nil, err
	}
	return &prefixReader{Reader: r, store: s, key: slices.Clone(s.prefix)}, nil
}

func (s *prefixStore) Begin(ctx context.Context, d Durability) (driver.Txn, error) {
	t, err := s.Store.Begin(ctx, d)
	if err != nil {
		return nil, err
	}
	return &prefixTxn{prefixReader: prefixReader{Reader: t, store: s, key: slices.Clone(s.prefix)}, txn: t}, nil
}

func (s *prefixStore) Apply(ctx context.Context, ops []driver.Op, d Durability) error {
	var buf []byte
	out := make([]driver.Op, len(ops))
	for i, op := range ops {
		n := len(buf)
		buf = append(append(buf, s.prefix...), op.Key...)
		out[i] = driver.Op{Key: buf[n:len(buf):len(buf)], Value: op.Value, Delete: op.Delete}
	}
	return s.Store.Apply(ctx, out, d)
}

type prefixReader struct {
	driver.Reader
	store *prefixStore
	key   []byte // the prefix, with room for a key behind it
}

func (r *prefixReader) full(key []byte) []byte {
	r.key = append(r.key[:len(r.store.prefix)], key...)
	return r.key
}

func (r *prefixReader) Get(dst, key []byte) ([]byte, error) { return r.Reader.Get(dst, r.full(key)) }

func (r *prefixReader) Cursor(rg driver.Range) (driver.Cursor, error) {
	p := r.store.prefix
	full := driver.Range{Start: slices.Concat(p, rg.Start), End: r.store.end, Reverse: rg.Reverse}
	if rg.End != nil {
		full.End = slices.Concat(p, rg.End)
	}
	if len(full.Start) == 0 {
		full.Start = nil
	}
	c, err := r.Reader.Cursor(full)
	if err != nil {
		return nil, err
	}
	return &prefixCursor{Cursor: c, n: len(p)}, nil
}

type prefixCursor struct {
	driver.Cursor
	n int
}

func (c *prefixCursor) Next() (key, value []byte, err error) {
	k, v, err := c.Cursor.Next()
	if err != nil || k == nil {
		return nil, nil, err
	}
	if len(k) == c.n { // the prefix itself is a key of the parent, and would be the empty key here
		return c.Next()
	}
	return k[c.n:], v, nil
}

type prefixTxn struct {
	prefixReader
	txn driver.Txn
}

func (t *prefixTxn) Put(key, value []byte) error { return t.txn.Put(t.full(key), value) }
func (t *prefixTxn) Delete(key []byte) error     { return t.txn.Delete(t.full(key)) }
func (t *prefixTxn) Commit() error               { return t.txn.Commit() }
