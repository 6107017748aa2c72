//go:build cgo

package sqlite

import (
	"context"
	"errors"
	"fmt"
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
	if !c.InTx() {
		return nil
	}
	return c.keep(context.Background(), "ROLLBACK")
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
	c.saves++
	name := fmt.Sprintf("assay_%d", c.saves) // by its depth, so that each is prepared once
	defer func() { c.saves-- }()
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
