package postgreskv

import (
	"bytes"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/assaydb/assay/kv/driver"
)

// txn is a transaction that writes. Its writes are sent together, before it reads or commits.
type txn struct {
	*reader
	durability driver.Durability
	batch      pgx.Batch
	bytes      int
	wrote      bool
}

var _ driver.RangeDeleter = (*txn)(nil)

// How much is sent at once.
const (
	mostWrites     = 1000
	mostWriteBytes = 1 << 20
)

// Put sets key to value.
func (t *txn) Put(key, value []byte) error {
	if value == nil {
		value = []byte{} // nil is NULL
	}
	return t.queue(len(key)+len(value), t.s.put, bytes.Clone(key), append([]byte{}, value...))
}

// Delete removes key.
func (t *txn) Delete(key []byte) error { return t.queue(len(key), t.s.delete, bytes.Clone(key)) }

// DeleteRange removes all pairs in [start, end).
func (t *txn) DeleteRange(start, end []byte) error {
	text, args := t.s.where(start, end)
	return t.queue(len(start)+len(end), "DELETE FROM "+t.s.table+text, args...)
}

func (t *txn) queue(size int, text string, args ...any) error {
	t.begin()
	t.wrote = true
	t.batch.Queue(text, args...)
	if t.bytes += size; t.bytes < mostWriteBytes && t.batch.Len() < mostWrites {
		return nil
	}
	return t.flush()
}

// begin puts the beginning of the transaction in front of what is sent first.
func (t *txn) begin() {
	if t.begun {
		return
	}
	t.begun = true
	t.batch.Queue("BEGIN ISOLATION LEVEL SERIALIZABLE")
	if t.durability != driver.Synced {
		t.batch.Queue("SET LOCAL synchronous_commit = off")
	}
}

// flush sends what was written.
func (t *txn) flush() error {
	t.begin()
	if t.batch.Len() == 0 {
		return nil
	}
	return t.failed(t.send(t.ctx))
}

func (t *txn) send(ctx context.Context) error {
	err := t.conn.SendBatch(ctx, &t.batch).Close()
	t.batch, t.bytes = pgx.Batch{}, 0
	return err
}

// Commit sends what is left of the writes, the mark and the commit at once. A statement that fails
// keeps the server from those behind it.
func (t *txn) Commit() error {
	if !t.begun {
		return nil
	}
	// It ends with the commit: what is undone, or in doubt, is no transaction of this connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), t.s.o.timeout())
	defer cancel()
	var serial int64
	if t.wrote {
		serial = t.s.mark(&t.batch)
	}
	done := false
	t.batch.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		done = tag.String() == "COMMIT"
		return nil
	})
	err := t.send(ctx)
	t.ended = err == nil
	switch {
	case done && err == nil:
		return nil
	case err == nil: // PostgreSQL: the commit of a transaction in which something failed rolls back
		return driver.NotDone(errors.New("an earlier step of the transaction has failed"))
	case refused(err):
		return driver.NotDone(classify(err))
	case !t.wrote:
		return &driver.Error{Kind: driver.Aborted, Err: err}
	}
	return t.s.resolve(t.ctx, serial, err)
}
