package sqlite

import (
	"context"
	"errors"

	"github.com/assaydb/assay/kv/driver"
)

// txn is the open transaction of the connection that it is part of.
type txn struct {
	reader
	ended bool // committed, or rolled back by SQLite
}

var (
	_ driver.RangeDeleter = (*txn)(nil)
	_ driver.Applier      = (*Store)(nil)
)

// Begin starts a transaction.
func (s *Store) Begin(_ context.Context, d driver.Durability) (driver.Txn, error) {
	c, err := s.forWriting(d)
	if err != nil {
		return nil, err
	}
	if err := c.begin(); err != nil {
		return nil, errors.Join(err, s.endWriting(c))
	}
	c.txn.ended = false
	return &c.txn, nil
}

// Put sets key to value.
func (t *txn) Put(key, value []byte) error { return t.write(kindPut, key, notNil(value)) }

// Delete removes key.
func (t *txn) Delete(key []byte) error { return t.write(kindDelete, key, nil) }

// DeleteRange removes all pairs in [start, end).
func (t *txn) DeleteRange(start, end []byte) error {
	shape, first, second := shapeOf(driver.Range{Start: start, End: end})
	return t.write(kindDeleteRange+shape, first, second)
}

func (t *txn) write(k kind, a, b []byte) error {
	if t.ended {
		return errRolledBack
	}
	rc := t.c.run(k, a, b)
	if rc == Done {
		return nil
	}
	err := t.c.db.Failure(rc)
	t.ended = t.c.db.Autocommit()
	return err
}

// errRolledBack is returned by writes, and by Commit, after a write that failed so badly (no space,
// no memory, an I/O error) that SQLite ended the transaction by itself: they would be commits of
// their own.
var errRolledBack = &driver.Error{Kind: driver.Closed,
	Err:  errors.New("SQLite rolled the transaction back after an error"),
	Hint: "return the first error of Put or Delete from the function"}

// Commit makes the transaction visible. In DELETE mode it is Busy while there are readers; then it
// keeps new ones out until it is called again or rolled back.
func (t *txn) Commit() error {
	if t.ended {
		return errRolledBack
	}
	rc := t.c.run(kindCommit, nil, nil)
	if rc != Done {
		return t.c.committed(rc)
	}
	err := t.c.cover()
	t.ended = err == nil
	return err
}

// Close rolls back what is not committed.
func (t *txn) Close() error {
	if t.ended {
		return t.s.takeBack(t.c, writer)
	}
	return t.s.endWriting(t.c)
}

// committed returns the error for what ended a commit before it was done. SQLite: Full is a write
// that found no space, behind which it rolls back. What it has written is taken out of the log, so
// that nothing of it can come back. What else fails, above all a sync, is in doubt: the commit may
// stand in the log as a whole, and earlier ones that were not synced may be lost before it.
func (c *conn) committed(rc int32) error {
	err := c.db.Failure(rc)
	switch rc & 0xff {
	case Full:
		err = c.unwrite(err)
	case NoMem: // whenever that was
		err = &driver.Error{Kind: driver.InDoubt, Err: err}
	}
	c.doubt = driver.IsInDoubt(err)
	return err
}

// Apply commits ops as one transaction. SQLite: a statement alone is one. In DELETE mode one whose
// commit finds readers starts anew and lets further readers in, where COMMIT holds its place.
func (s *Store) Apply(ctx context.Context, ops []driver.Op, d driver.Durability) error {
	if len(ops) == 1 && s.journal == wal {
		return s.applyOne(&ops[0], d)
	}
	return driver.InSteps(ctx, s, ops, d)
}

func (s *Store) applyOne(op *driver.Op, d driver.Durability) error {
	c, err := s.forWriting(d)
	if err != nil {
		return driver.NotDone(err)
	}
	k, value := kindPut, notNil(op.Value)
	if op.Delete {
		k, value = kindDelete, nil
	}
	if rc := c.run(k, op.Key, value); rc != Done {
		return errors.Join(c.committed(rc), s.endWriting(c))
	}
	return errors.Join(c.cover(), s.endWriting(c))
}

// notNil makes an empty value of a missing one: bind takes nil for no argument.
func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
