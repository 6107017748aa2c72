// Package pglog keeps an event log in tables of a PostgreSQL server, where programs on several
// machines append to it and read it.
//
//	pool, err := pgxpool.New(ctx, "postgres://app@db.example.com/app")
//	log, err := pglog.Open(ctx, pool, &eventlog.Options{Streams: true})
//
// The promises are those of package eventlog. An append of class Synced is committed with
// synchronous_commit as the session has it, which is to be on or more; any other with off: it
// outlives the program, and a crash of the server may take the last of them back. A commit whose
// answer was lost is looked for, as long as 30 s; what cannot be found out is in doubt, and the log
// goes on.
//
// # Positions
//
// Who appends locks the row of assay_log, gets its positions there, and holds the lock until its
// commit. So positions are in the order of commits, none is left out, and a reader that goes on
// from the last event that it saw misses nothing. The price is that appends of different processes
// come one after the other, each with a sync of its own; those of one process that meet share one.
// A transaction of the program's that has appended keeps all others from appending until it ends:
// append last.
//
// A crash of the server may take back events that readers have seen. It empties assay_log_alive,
// which is UNLOGGED, and by that the next append knows, in whatever process, and goes on above all
// positions that were reserved. So positions have gaps after a crash of the server, and none after
// that of a program. Where a replica takes over that had not all that was committed, Synced must
// mean that it has: set synchronous_standby_names.
//
// Those who wait are woken by NOTIFY; that is lost with the connection, and they look every 100 ms
// as well.
//
// It is a module of its own, since few programs want its client (github.com/jackc/pgx).
//
// # Tables
//
//	assay_log_events         position, stream, version, type, data, time in nanoseconds since 1970, extra: JSON with id
//	                         and meta, or NULL, commit: a number that is the same for events committed together
//	assay_log_truncated      stream, version: of streams whose last events were removed
//	assay_log_ids            n, id, position, version, sum: those that are remembered
//	assay_log_subscriptions  name, position, holder, until: of its lease, in milliseconds since 1970
//	assay_log_parked         name, position, cause
//	assay_log_alive          a row, unless the server has crashed since the last append
//	assay_log                one row: format, streams, last: positions up to it are used or skipped, reserved
//
// They lie in the first schema of the search_path, which holds one log. Names, types, ids and extra
// are their bytes in UTF-8: convert_from(type, 'utf8'). stream is empty for none; version is NULL
// without a stream or without Options.Streams. Other programs may read the tables. They must not
// write them.
package pglog

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/postgres"
)

// Open opens the log in the database of pool, and makes the tables that are not there. The pool is
// the caller's, who closes it after the log. It must have two connections at least; another one,
// which is not counted, listens.
func Open(ctx context.Context, pool *pgxpool.Pool, opts *eventlog.Options) (*eventlog.Log, error) {
	var o eventlog.Options
	if opts != nil {
		o = *opts
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	b := &backend{pool: pool, streams: o.Streams, first: eventlog.FirstBlock(o.Reserve)}
	b.block = b.first
	err := postgres.Create(ctx, pool, "assay_log", tables)
	if err == nil {
		err = b.matchOptions(ctx)
	}
	if err != nil {
		return nil, postgres.Wrap("open log", err)
	}
	log := eventlog.NewLog(b)
	var listening context.Context
	listening, b.end = context.WithCancel(context.Background())
	b.ended.Go(func() {
		postgres.Listen(listening, pool, channel, func(payload string) {
			if payload == b.id {
				log.Wake()
			}
		})
	})
	return log, nil
}

// matchOptions refuses a log that was begun with other options. One without events is changed.
func (b *backend) matchOptions(ctx context.Context) error {
	var stored int
	var streams bool
	err := b.pool.QueryRow(ctx, readOptions).Scan(&stored, &streams, &b.id)
	switch {
	case err != nil:
		return err
	case stored != format:
		return &kv.Error{Kind: kv.Unsupported, Err: fmt.Errorf("format %d, this program knows %d", stored, format),
			Hint: "use a newer program"}
	case streams == b.streams:
		return nil
	}
	tag, err := b.pool.Exec(ctx, changeStreams, b.streams)
	if err == nil && tag.RowsAffected() == 0 {
		return eventlog.OptionMismatch(streams)
	}
	return err
}

// errReserve rolls a transaction back that needs positions reserved first.
var errReserve = errors.New("positions must be reserved")
