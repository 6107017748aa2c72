package live

import (
	"bytes"
	"context"

	"github.com/assaydb/assay/kv/driver"
)

// Begin starts a transaction of the truth, which holds the turn until it is closed.
func (s *store) Begin(ctx context.Context, d driver.Durability) (driver.Txn, error) {
	if err := s.enterWriting(ctx); err != nil {
		return nil, err
	}
	truth, shadow := s.sides()
	t, err := truth.Begin(ctx, d)
	if err != nil {
		s.leave()
		return nil, err
	}
	return &txn{Txn: t, s: s, ctx: ctx, d: d, caps: truth.Caps(), shadowed: shadow != nil}, nil
}

// txn is a transaction of the truth that remembers its writes for the shadow. It hides what else
// the truth's can do: kv then reads the keys of a range that it deletes, and the shadow is told
// each.
type txn struct {
	driver.Txn
	s        *store
	ctx      context.Context
	d        driver.Durability
	caps     driver.Caps
	shadowed bool
	ops      []driver.Op
}

var _ driver.Txn = (*txn)(nil)

func (t *txn) Put(key, value []byte) error { return t.write(driver.Op{Key: key, Value: value}) }

func (t *txn) Delete(key []byte) error { return t.write(driver.Op{Key: key, Delete: true}) }

func (t *txn) write(op driver.Op) error {
	err := fits(&t.caps, &op)
	if err == nil {
		err = op.Run(t.Txn)
	}
	if err == nil && t.shadowed {
		t.ops = append(t.ops, driver.Op{Key: bytes.Clone(op.Key), Value: bytes.Clone(op.Value), Delete: op.Delete})
	}
	return err
}

func (t *txn) Commit() error {
	t.s.begun()
	err := t.Txn.Commit()
	if err == nil {
		t.s.follow(t.ctx, t.ops, t.d)
	}
	t.s.done(err)
	return err
}

func (t *txn) Close() error {
	defer t.s.leave()
	return t.Txn.Close()
}
