package sqlite

import (
	"context"
	"errors"

	"github.com/assaydb/assay/kv/driver"
)

// txn is the open transaction of the connection that it is part of.
type txn struct {
	reader
}

var (
	_ driver.Txn          = (*txn)(nil)
	_ driver.RangeDeleter = (*txn)(nil)
)

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
	if !t.c.inTransaction() {
		return errRolledBack
	}
	return t.c.do(k, a, b)
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
	if !t.c.inTransaction() {
		return errRolledBack
	}
	return t.c.committed(t.c.run(kindCommit, nil, nil))
}

// Close rolls back what is not committed.
func (t *txn) Close() error { return t.s.endWriting(t.c) }

// committed returns the error for what ended a commit. SQLite: Full is a write that found no space,
// before the last one of the commit; then it rolls back, and nothing of it can come back. What else
// fails, above all a sync, is in doubt: the commit may stand in the log as a whole, and earlier
// ones that were not synced may be lost before it.
func (c *conn) committed(rc int32) error {
	switch {
	case rc == Done:
		return nil
	case rc&0xff == Full:
		return driver.NotDone(c.db.Failure(rc))
	}
	return c.db.Failure(rc)
}

// Apply commits ops as one transaction.
func (s *Store) Apply(_ context.Context, ops []driver.Op, d driver.Durability) error {
	c, err := s.forWriting(d)
	if err != nil {
		return driver.NotDone(err)
	}
	if err := c.apply(ops, s.journal == wal); err != nil {
		return errors.Join(err, s.endWriting(c))
	}
	return s.takeBack(c, writer)
}

// apply leaves what fails to be rolled back by endWriting. SQLite: a statement alone is a
// transaction. In DELETE mode one whose commit finds readers starts anew and lets further readers
// in, where COMMIT holds its place.
func (c *conn) apply(ops []driver.Op, single bool) error {
	if single && len(ops) == 1 {
		return c.committed(c.op(&ops[0]))
	}
	rc := c.run(kindBegin, nil, nil)
	for i := 0; i < len(ops) && rc == Done; i++ {
		rc = c.op(&ops[i])
	}
	if rc != Done {
		return driver.NotDone(c.db.Failure(rc))
	}
	return c.committed(c.run(kindCommit, nil, nil))
}

func (c *conn) op(op *driver.Op) int32 {
	if op.Delete {
		return c.run(kindDelete, op.Key, nil)
	}
	return c.run(kindPut, op.Key, notNil(op.Value))
}

// notNil makes an empty value of a missing one: bind takes nil for no argument.
func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
