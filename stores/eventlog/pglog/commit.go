package pglog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/postgres"
)

// Commit implements eventlog.Backend. A reservation must be durable before positions are given out,
// so it is a transaction of its own.
func (b *backend) Commit(ctx context.Context, d kv.Durability, group []*eventlog.Pending) error {
	for {
		var needed uint64
		err := postgres.Again(ctx, func() (err error) {
			needed, err = b.commit(ctx, d, group)
			return err
		})
		if err != errReserve {
			return postgres.Wrap("append", err)
		}
		if _, err := b.write(ctx, "append", kv.Synced, reserve, int64(needed+b.block)); err != nil {
			return err
		}
		b.block = eventlog.NextBlock(b.block)
	}
}

// commit appends in two round trips, between which nobody else appends, and returns up to what
// position must be reserved. If the error is Aborted nothing was done.
func (b *backend) commit(ctx context.Context, d kv.Durability, group []*eventlog.Pending) (needed uint64, err error) {
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release() // which closes one that is still in a transaction
	w := newWriting(conn, b.streams)
	var first pgx.Batch
	begin(&first, d)
	if err := w.read(ctx, &first, group); err != nil {
		return 0, err
	}
	needed, repeated, err := w.appender.Append(w.state, group)
	if err == nil && d != kv.Synced && b.first > 0 && needed > max(w.state.Reserved, w.state.Floor) {
		err = errReserve
	}
	if err != nil || len(w.events.positions) == 0 && !repeated {
		_, _ = conn.Exec(ctx, "ROLLBACK") // Release closes the connection of one that is not
		return needed, err
	}
	return needed, b.send(ctx, conn, w)
}

// send sends the events, the commit and what wakes others. What has begun here does not end with
// ctx.
func (b *backend) send(ctx context.Context, conn *pgxpool.Conn, w *writing) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), postgres.Patience)
	defer cancel()
	var batch pgx.Batch
	number, done := rand.Int64(), false
	w.queue(&batch, number)
	batch.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		done = tag.String() == "COMMIT"
		return nil
	})
	// PostgreSQL: a transaction that notifies holds a lock of the whole server while it commits.
	// This one has nothing else to commit.
	if now := time.Now(); now.Sub(b.notified) >= notifyEvery {
		b.notified = now
		batch.Queue(notifyAll, channel, b.id)
	}
	err := conn.SendBatch(bounded, &batch).Close()
	switch {
	case done: // who was not woken looks by himself
		return nil
	case err == nil:
		return errors.New("the transaction was rolled back")
	case postgres.Refused(err):
		return err
	}
	if len(w.events.positions) == 0 {
		return aborted(err)
	}
	return b.resolve(ctx, w.events.positions[0], number, err)
}

// resolve finds out what became of a commit whose answer was lost because of err. Who appends has
// the lock until his commit has ended: so what is not there when another gets the lock, never will
// be. It does not end with ctx, which may be why the answer was lost.
func (b *backend) resolve(ctx context.Context, position, number int64, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), postgres.Patience)
	defer cancel()
	var found int64
	lerr := postgres.Again(ctx, func() error {
		var batch pgx.Batch
		begin(&batch, kv.Synced)
		batch.Queue(lockHead)
		batch.Queue(findCommit, position).QueryRow(func(row pgx.Row) error { return row.Scan(&found) })
		batch.Queue("COMMIT")
		return b.pool.SendBatch(ctx, &batch).Close()
	})
	switch {
	case lerr != nil:
		return &kv.Error{Kind: kv.InDoubt, Err: fmt.Errorf("%w; asked again: %w", err, lerr),
			Hint: "see whether the server runs; append again with the same Draft.ID, or look for the events"}
	case found != number:
		return aborted(err)
	}
	return nil
}

// aborted is the error of an append that was not done, and may be tried again.
func aborted(err error) error { return &kv.Error{Kind: kv.Aborted, Err: err} }
