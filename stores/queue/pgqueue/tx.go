package pgqueue

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/postgres"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// In returns a queue within tx, a transaction of the same database that the program began, at the
// level READ COMMITTED: jobs and rows of the program are committed together, or not at all. See
// [queue.Tx]. ctx holds for all that is done with it.
//
//	tx, err := pool.Begin(ctx)
//	_, err = tx.Exec(ctx, `INSERT INTO orders ...`)
//	jobs, err := pgqueue.In(ctx, tx, mail)
//	_, err = jobs.Publish(queue.Draft{Payload: letter})
//	err = tx.Commit(ctx)
//
// The class of tx is its synchronous_commit. An error other than a [*queue.StaleError] rolls it
// back. Ids are taken outside of it.
func In(ctx context.Context, tx pgx.Tx, q *queue.Queue) (*queue.Tx, error) {
	b, ok := q.Backend().(*backend)
	if !ok {
		return nil, &kv.Error{Op: "join", Kind: kv.Unsupported, Err: errors.New("the queue is not kept in PostgreSQL"),
			Hint: "use Queue.In, or sqlqueue.In, with a transaction of its store"}
	}
	return q.Join(&joined{session{ctx: ctx, on: tx, pool: b.pool, dues: intables.Dues{},
		notified: map[string]time.Time{}}, tx}), nil
}

// joined is queues within a transaction of the program's.
type joined struct {
	session
	tx pgx.Tx
}

var _ queue.Joined = (*joined)(nil)

// Do implements queue.Joined. The server tells who waits when the transaction is committed.
func (j *joined) Do(op *queue.Op) error {
	op.Begin()
	if err := intables.Do(&j.session, op); err != nil {
		return postgres.Wrap(op.Verb.String(), err)
	}
	return postgres.Wrap(op.Verb.String(), j.notify([]*queue.Op{op}))
}

// OnCommit implements queue.Joined.
func (j *joined) OnCommit(func()) {}

// Fail implements queue.Joined.
func (j *joined) Fail(error) { _ = j.tx.Rollback(context.WithoutCancel(j.ctx)) } // it has ended, or its commit fails
