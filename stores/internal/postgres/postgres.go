// Package postgres is what stores in the tables of a PostgreSQL server share. It is a module of its
// own, as they are.
package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/kv"
)

// Levels are what begins a transaction of a class, but for BEGIN.
var Levels = map[kv.Durability][]string{kv.Flushed: {asynchronous}, kv.Buffered: {asynchronous}}

const asynchronous = "SET LOCAL synchronous_commit = off"

// Create makes tables that are not there, of which table is the last. PostgreSQL: who may not make
// tables may not say IF NOT EXISTS either; and two that make one at once meet in its catalogue.
func Create(ctx context.Context, pool *pgxpool.Pool, table, text string) (err error) {
	for range 3 {
		var there bool
		err = pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", table).Scan(&there)
		if err == nil && !there {
			_, err = pool.Exec(ctx, text)
		}
		if !IsState(err, uniqueViolation, duplicateTable) {
			return err
		}
	}
	return err
}

// Listen calls fn with what others say on a channel, until ctx ends. What they say while there is
// no connection is lost.
func Listen(ctx context.Context, pool *pgxpool.Pool, channel string, fn func(payload string)) {
	for ctx.Err() == nil {
		listenOnce(ctx, pool, channel, fn)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func listenOnce(ctx context.Context, pool *pgxpool.Pool, channel string, fn func(payload string)) {
	pooled, err := pool.Acquire(ctx)
	if err != nil {
		return
	}
	conn := pooled.Hijack() // it is not to be used by others, who would listen as well
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		fn(n.Payload)
	}
}

// Patience is how long a server that was lost is waited for.
const Patience = 30 * time.Second

// Pauses between attempts.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// Again calls do, and calls it again while the server is not reached, or has rolled back what do
// did because of others, until ctx ends or Patience is over. What do does must do no harm if it is
// done twice.
func Again(ctx context.Context, do func() error) error {
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := do()
		if !passing(err) || time.Since(began) > Patience {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// passing reports whether what failed with err may succeed later, or on another connection.
func passing(err error) bool {
	var said *pgconn.PgError
	var ours *kv.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, pgx.ErrNoRows):
		return false
	case errors.As(err, &ours):
		return ours.Kind == kv.Aborted
	case errors.As(err, &said):
		return said.SeverityUnlocalized != "ERROR" || IsState(err, SerializationFailure, DeadlockDetected)
	}
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}
