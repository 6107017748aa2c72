package postgreskv

import (
	"bytes"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/kv/driver"
)

// txn is a transaction that writes. Its writes are sent together, before it reads or commits.
type txn struct {
	*reader
	batch pgx.Batch
	bytes int
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
	t.batch.Queue(text, args...)
	if t.bytes += size; t.bytes < mostWriteBytes && t.batch.Len() < mostWrites {
		return nil
	}
	return t.flush()
}

// flush sends what was written.
func (t *txn) flush() error {
	if t.batch.Len() == 0 {
		return nil
	}
	err := t.conn.SendBatch(t.ctx, &t.batch).Close()
	t.batch, t.bytes = pgx.Batch{}, 0
	return classify(err)
}

// Commit commits. PostgreSQL: the commit of a transaction in which something failed rolls back, and
// is no error.
func (t *txn) Commit() error {
	if err := t.flush(); err != nil {
		return driver.NotDone(err)
	}
	t.ended = true
	tag, err := t.conn.Exec(context.WithoutCancel(t.ctx), "COMMIT")
	if err != nil {
		return committed(err)
	}
	if tag.String() != "COMMIT" {
		return driver.NotDone(errors.New("an earlier step of the transaction has failed"))
	}
	return nil
}
