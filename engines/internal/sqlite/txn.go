package sqlite

import (
	"errors"

	"github.com/assaydb/assay/kv/driver"
)

// txn is the open transaction of the connection that it is part of.
type txn struct {
	reader
}

var _ driver.Txn = (*txn)(nil)

// Put sets key to value.
func (t *txn) Put(key, value []byte) error {
	if !t.c.inTransaction() {
		return errRolledBack
	}
	return t.c.put(key, value)
}

// Delete removes key.
func (t *txn) Delete(key []byte) error {
	if !t.c.inTransaction() {
		return errRolledBack
	}
	return t.c.delete(key)
}

// errRolledBack is returned by writes after one that failed so badly (no space, no memory, an I/O error) that SQLite
// ended the transaction by itself: they would be commits of their own. Commit is refused by SQLite.
var errRolledBack = &driver.Error{Kind: driver.Closed, Err: errors.New("SQLite rolled the transaction back after an error"),
	Hint: "return the first error of Put or Delete from the function"}

// Commit makes the transaction visible. In DELETE mode it waits for the readers to end, until busy_timeout has passed.
func (t *txn) Commit() error {
	w := waiter{limit: t.s.options.busy, longest: longestCommit}
	if err := t.c.run(&w, kindCommit, nil, nil); err != nil {
		return errors.Join(err, t.c.rollback())
	}
	return nil
}

// Close rolls back what is not committed.
func (t *txn) Close() error { return t.s.releaseWriter(t.c) }

// apply commits ops as one transaction. What fails is rolled back when the connection is released.
func (c *conn) apply(w *waiter, journal string, ops []driver.Op) error {
	if len(ops) == 1 && journal == journalWAL {
		return c.applyOne(w, ops[0])
	}
	if err := c.run(w, kindBegin, nil, nil); err != nil {
		return err
	}
	for i := range ops {
		op := &ops[i]
		var err error
		if op.Delete {
			err = c.delete(op.Key)
		} else {
			err = c.put(op.Key, op.Value)
		}
		if err != nil {
			return err
		}
	}
	w = &waiter{limit: w.limit, longest: longestCommit} // a commit that began does not consult the context
	return c.run(w, kindCommit, nil, nil)
}

// applyOne commits op alone. SQLite: a statement alone is a transaction. In DELETE mode one whose commit finds readers
// starts anew and lets further readers in, where COMMIT holds its place; therefore it is for WAL mode only.
func (c *conn) applyOne(w *waiter, op driver.Op) error {
	if op.Delete {
		return c.run(w, kindDelete, op.Key, nil)
	}
	return c.run(w, kindPut, op.Key, notNil(op.Value))
}

func (c *conn) put(key, value []byte) error {
	if rc := c.try(kindPut, key, notNil(value)); rc != Done {
		return c.db.Failure(rc)
	}
	return nil
}

func (c *conn) delete(key []byte) error {
	if rc := c.try(kindDelete, key, nil); rc != Done {
		return c.db.Failure(rc)
	}
	return nil
}

// notNil makes an empty value of a missing one: bind takes nil for no argument.
func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
