package sqltable

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/kv/driver"
)

// txn writes: a reader whose transaction no other writer runs beside.
type txn struct {
	*reader
	prepared map[string]*sql.Stmt
}

var _ driver.Txn = (*txn)(nil)

// Begin begins a transaction that writes.
func (s *store) Begin(ctx context.Context, _ driver.Durability) (driver.Txn, error) {
	r, err := s.begin(ctx, "BEGIN IMMEDIATE")
	if err != nil {
		return nil, err
	}
	return &txn{reader: r, prepared: map[string]*sql.Stmt{}}, nil
}

func (x *txn) exec(query string, args ...any) (err error) {
	s, ok := x.prepared[query]
	if !ok {
		if s, err = x.conn.PrepareContext(context.Background(), query); err != nil {
			return classed(err)
		}
		x.prepared[query] = s
	}
	_, err = s.ExecContext(context.Background(), args...)
	return classed(err)
}

// row returns the table that key belongs to, and the columns of the key.
func (x *txn) row(key []byte) (*table, []any, error) {
	t, rest := x.s.find(key)
	if t == nil {
		return nil, nil, invalid("give one table no prefix, or leave the key out",
			"no table has keys that begin as %.40q does", key)
	}
	values, ok := t.keyValues(rest)
	if !ok || len(rest) == 0 {
		return nil, nil, invalid("see the package's page on keys", "table %s: %.40q is no key of %v", t.Name, key,
			t.kinds)
	}
	return t, values, nil
}

// Put sets the columns of a row, or makes it.
func (x *txn) Put(key, value []byte) error {
	t, args, err := x.row(key)
	if err != nil {
		return err
	}
	values, err := t.columnValues(value)
	if err != nil {
		return err
	}
	if err := x.exec(t.put, append(args, values...)...); err != nil || t.raw {
		return err
	}
	again, err := x.Get(nil, key)
	if err != nil && err != error(driver.NotFound) {
		return err
	}
	if !bytes.Equal(again, value) { // SQLite: what a column is declared for may be made of what is put there
		return invalid("leave the types of the columns out: they then keep what is put there",
			"table %s: the row of %.40q comes back as another one, %.80s", t.Name, key, again)
	}
	return nil
}

// Delete removes a row.
func (x *txn) Delete(key []byte) error {
	t, rest := x.s.find(key)
	if t == nil {
		return nil
	}
	args, ok := t.keyValues(rest)
	if !ok {
		return nil
	}
	return x.exec(t.delete, args...)
}

// Commit commits.
func (x *txn) Commit() error {
	_, err := x.conn.ExecContext(context.Background(), "COMMIT")
	return classed(err)
}

// Close ends the transaction, without what was not committed.
func (x *txn) Close() error {
	var err error
	for _, s := range x.prepared {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, x.reader.Close())
}
