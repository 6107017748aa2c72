package pglog

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/postgres"
)

// backend keeps a log in PostgreSQL.
type backend struct {
	pool    *pgxpool.Pool
	streams bool   // Options.Streams
	first   uint64 // positions that are reserved first, 0 for none
	id      string // of the log in its database

	end   context.CancelFunc // of the listener
	ended sync.WaitGroup

	// Of Commit alone.
	block    uint64    // positions to reserve next, 0 for none
	notified time.Time // when others were last told of events
}

var _ eventlog.Backend = (*backend)(nil)

// Traits implements eventlog.Backend.
func (b *backend) Traits() eventlog.Traits { return eventlog.Traits{Streams: b.streams, Shared: true} }

// Close implements eventlog.Backend. It ends the reservation at the last position given out. A
// process that still uses it reserves again.
func (b *backend) Close() error {
	b.end()
	b.ended.Wait()
	if b.first == 0 {
		return nil
	}
	_, err := b.write(context.Background(), "close log", kv.Synced, giveBack)
	return err
}

// sender is the pool, a connection, or a transaction of the program's.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// write runs a statement as a transaction of class d, and returns how many rows it was for. It may
// run it again.
func (b *backend) write(ctx context.Context, op string, d kv.Durability, text string, args ...any) (rows int64,
	err error) {
	err = postgres.Again(ctx, func() error {
		var batch pgx.Batch
		begin(&batch, d)
		batch.Queue(text, args...).Exec(func(tag pgconn.CommandTag) error {
			rows = tag.RowsAffected()
			return nil
		})
		batch.Queue("COMMIT")
		return b.pool.SendBatch(ctx, &batch).Close()
	})
	return rows, postgres.Wrap(op, err)
}

// begin begins a transaction of class d.
func begin(batch *pgx.Batch, d kv.Durability) {
	batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	for _, text := range postgres.Levels[d] {
		batch.Queue(text)
	}
}

// collect returns what the rows of a query are.
func collect[T any](ctx context.Context, b *backend, op string, row pgx.RowToFunc[T], text string,
	args ...any) (all []T, err error) {
	err = postgres.Again(ctx, func() error {
		rows, err := b.pool.Query(ctx, text, args...)
		if err == nil {
			all, err = pgx.CollectRows(rows, row)
		}
		return err
	})
	if err != nil || len(all) == 0 {
		return nil, postgres.Wrap(op, err)
	}
	return all, nil
}

// one returns what the one row of a query is.
func one[T any](ctx context.Context, b *backend, op string, text string, args ...any) (v T, err error) {
	err = postgres.Again(ctx, func() error { return b.pool.QueryRow(ctx, text, args...).Scan(&v) })
	return v, postgres.Wrap(op, err)
}
