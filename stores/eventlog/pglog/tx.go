package pglog

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/postgres"
)

// In returns the log within tx, a transaction of the same database that the program began: events
// and rows of the program are committed together, or not at all. See [eventlog.Tx]. ctx holds for
// all that is done with it.
//
//	tx, err := pool.Begin(ctx)
//	_, err = tx.Exec(ctx, `INSERT INTO orders ...`)
//	events, err := pglog.In(ctx, tx, log)
//	_, err = events.Append("order-17", eventlog.Any, eventlog.Draft{Type: "OrderPlaced"})
//	err = tx.Commit(ctx)
//
// From its first Append until it ends nobody else appends. The class of tx is its
// synchronous_commit: where that is off, positions must be reserved, see [eventlog.Log.Reserve].
// One that is REPEATABLE READ or SERIALIZABLE fails if others have appended since it began. An
// error other than a Conflict rolls tx back.
//
// The log is not told that tx was committed, but by the server, as all others are; and a
// subscription whose Ack was part of it stands where it was until Subscribe is called again.
func In(ctx context.Context, tx pgx.Tx, log *eventlog.Log) (*eventlog.Tx, error) {
	b, ok := log.Backend().(*backend)
	if !ok {
		return nil, &kv.Error{Op: "join", Kind: kv.Unsupported, Err: errors.New("the log is not kept in PostgreSQL"),
			Hint: "use Log.In, or sqllog.In, with a transaction of its store"}
	}
	return log.Join(&joined{ctx: ctx, b: b, tx: tx})
}

// joined is a log within a transaction of the program's.
type joined struct {
	ctx context.Context
	b   *backend
	tx  pgx.Tx
}

var _ eventlog.Joined = (*joined)(nil)

// Append implements eventlog.Joined.
func (j *joined) Append(parts []*eventlog.Pending) (refill uint64, err error) {
	w := newWriting(j.tx, j.b.streams)
	if err := w.read(j.ctx, &pgx.Batch{}, parts); err != nil {
		return 0, postgres.Wrap("append", err)
	}
	needed, _, err := w.appender.Append(w.state, parts)
	if err != nil {
		return 0, postgres.Wrap("append", err)
	}
	if parts[0].Err != nil {
		return 0, parts[0].Err
	}
	class := kv.Flushed
	if w.synced {
		class = kv.Synced
	}
	refill, err = w.state.Refill(needed, j.b.first, class)
	if err != nil || len(w.events.positions) == 0 {
		return 0, postgres.Wrap("append", err)
	}
	var batch pgx.Batch
	w.queue(&batch, rand.Int64())
	batch.Queue(notifyAll, channel, j.b.id) // the server tells who waits when it is committed
	return refill, postgres.Wrap("append", j.tx.SendBatch(j.ctx, &batch).Close())
}

// Ack implements eventlog.Joined.
func (j *joined) Ack(name string, position uint64) error {
	var last uint64
	mark := &eventlog.Mark{Name: name, Position: position}
	var batch pgx.Batch
	batch.Queue(lastPosition).QueryRow(func(row pgx.Row) error { return row.Scan(&last) })
	queueMarks(&batch, []*eventlog.Mark{mark})
	err := j.tx.SendBatch(j.ctx, &batch).Close()
	if err == nil {
		err = mark.Err
	}
	if err == nil && position > last {
		err = eventlog.AboveLast(position, last)
	}
	return postgres.Wrap("ack", err)
}

// Bookmark implements eventlog.Joined.
func (j *joined) Bookmark(name string) (position uint64, err error) {
	err = j.tx.QueryRow(j.ctx, readBookmark+" FOR UPDATE", []byte(name)).Scan(&position)
	if errors.Is(err, pgx.ErrNoRows) {
		err = eventlog.NoSubscription(name)
	}
	return position, postgres.Wrap("ack", err)
}

// OnCommit implements eventlog.Joined.
func (j *joined) OnCommit(func()) {}

// Fail implements eventlog.Joined.
func (j *joined) Fail(error) { _ = j.tx.Rollback(context.WithoutCancel(j.ctx)) } // it has ended, or its commit fails
