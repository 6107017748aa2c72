//go:build cgo

package sqlite

// #include "cross.h"
import "C"

import (
	"context"
	"errors"
	"fmt"

	"github.com/assaydb/assay/kv"
)

// A TxKind says when a transaction takes its locks.
type TxKind int

// Kinds of transactions.
const (
	Immediate TxKind = iota // the lock for writing at once, so that it cannot be refused later
	Deferred                // none until the first statement, that for writing with the first write
	Exclusive               // as Immediate; nobody reads either, in journal modes other than WAL
)

// Begin begins a transaction. It waits for locks as long as the connection's Options.Wait, and no
// longer than ctx.
//
// SQLite rolls back the whole transaction after some errors: a full disk, a write that was
// interrupted. What the program runs then would be committed by itself, so it is refused with an
// error of kind [kv.Closed] until Rollback or Commit, which is an error, has been called.
func (c *Conn) Begin(ctx context.Context, kind TxKind) error {
	switch kind {
	case Immediate:
		return c.keep(ctx, "BEGIN IMMEDIATE")
	case Deferred:
		return c.keep(ctx, "BEGIN")
	case Exclusive:
		return c.keep(ctx, "BEGIN EXCLUSIVE")
	}
	return c.invalid("begin", "", "kind %d", kind)
}

// Commit commits the transaction. Once it has begun, it does not end with a context. After an error
// of kind [kv.Busy] the transaction is open still, and may be committed again.
func (c *Conn) Commit() error { return c.keep(context.Background(), "COMMIT") }

// Rollback ends the transaction, as if it had not been; without one it does nothing.
func (c *Conn) Rollback() error {
	if err := c.enter("rollback"); err != nil {
		return err
	}
	none := C.sqlite3_get_autocommit(c.c.db) != 0
	if none {
		c.begun, c.lost = false, nil
	}
	c.leave()
	if none {
		return nil
	}
	return c.keep(context.Background(), "ROLLBACK")
}

// gone is the error of what runs in a transaction that SQLite has rolled back. A commit ends it.
func (c *Conn) gone(op string, r role) error {
	err := &kv.Error{Op: op, Engine: engine, Path: c.path, Kind: kv.Closed, Hint: "call Rollback, and begin again",
		Err: fmt.Errorf("SQLite has rolled the transaction back: %v", c.lost)} // what it was is not what this is
	if r == ends {
		c.begun, c.lost = false, nil
	}
	return err
}

// turn notes what BEGIN, COMMIT or ROLLBACK did.
func (c *Conn) turn(r role, err error) {
	switch {
	case r == begins && err == nil:
		c.begun = true
	case r == ends && (err == nil || C.sqlite3_get_autocommit(c.c.db) != 0):
		c.begun, c.lost = false, nil
	}
}

// Update runs fn in an immediate transaction, which it commits; an error or a panic of fn rolls
// back.
func (c *Conn) Update(ctx context.Context, fn func() error) error {
	return c.within(ctx, Immediate, fn)
}

// View runs fn in a transaction that sees one state of the database throughout.
func (c *Conn) View(ctx context.Context, fn func() error) error { return c.within(ctx, Deferred, fn) }

func (c *Conn) within(ctx context.Context, kind TxKind, fn func() error) (err error) {
	if err := c.Begin(ctx, kind); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			err = errors.Join(err, c.Rollback())
		}
	}()
	if err := fn(); err != nil {
		return err
	}
	if err := c.Commit(); err != nil {
		return err
	}
	done = true
	return nil
}

// Save runs fn within a savepoint: an error or a panic of fn takes back what it did, and nothing
// before. Savepoints nest; one outside a transaction is a deferred transaction.
func (c *Conn) Save(ctx context.Context, fn func() error) (err error) {
	if !c.InTx() {
		return c.within(ctx, Deferred, fn)
	}
	name := fmt.Sprintf("assay_%d", c.saves.Add(1)) // by its depth, so that each is prepared once
	defer c.saves.Add(-1)
	if err := c.keep(ctx, "SAVEPOINT "+name); err != nil {
		return err
	}
	done := false
	defer func() {
		if done || !c.InTx() { // SQLite: some errors roll back everything
			return
		}
		ctx := context.Background()
		err = errors.Join(err, c.keep(ctx, "ROLLBACK TO "+name), c.keep(ctx, "RELEASE "+name))
	}()
	if err := fn(); err != nil {
		return err
	}
	if err := c.keep(context.Background(), "RELEASE "+name); err != nil {
		return err
	}
	done = true
	return nil
}
