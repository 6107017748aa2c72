package sqllog

import (
	"context"
	"database/sql"
	"errors"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/sqlite"
)

// backend keeps a log in SQLite: one connection that writes and several that read.
type backend struct {
	file    sqlite.File
	indexed bool // Options.Streams

	writers *sql.DB // of one connection
	readers *sql.DB
	read    statements

	// The rest is used while holding turn.
	turn     chan struct{} // of capacity 1: the writer's connection
	writer   *sql.Conn
	block    uint64 // positions to reserve next, 0 for none
	first    uint64 // positions that are reserved first
	begin    *sql.Stmt
	commit   *sql.Stmt
	rollback *sql.Stmt
	single   *sql.Stmt // an append as a transaction of its own
	*writing
}

var _ eventlog.Backend = (*backend)(nil)

// Traits implements eventlog.Backend.
func (b *backend) Traits() eventlog.Traits { return eventlog.Traits{Streams: b.indexed, Shared: true} }

// Close implements eventlog.Backend.
func (b *backend) Close() error {
	return errors.Join(b.wrap("close log", b.giveBack()), b.wrap("close log", b.release()))
}

// release closes what was opened; the statements go with their connections.
func (b *backend) release() error {
	var err error
	if b.readers != nil {
		err = b.readers.Close()
	}
	if b.writer != nil {
		err = errors.Join(err, b.writer.Close())
	}
	if b.writers != nil {
		err = errors.Join(err, b.writers.Close())
	}
	return err
}

// begins prepares the turns of the writer.
func (b *backend) begins() error {
	b.turn = make(chan struct{}, 1)
	return b.prepareAll(map[**sql.Stmt]string{&b.begin: `BEGIN IMMEDIATE`, &b.commit: `COMMIT`,
		&b.rollback: `ROLLBACK`})
}

// prepareWriter prepares what needs the tables.
func (b *backend) prepareWriter() error {
	b.writing = newWriting(b.writer, b.indexed)
	err := b.prepareAll(map[**sql.Stmt]string{&b.single: `INSERT INTO events (stream, type, data, time) SELECT ?, ?, ?, ? FROM eventlog
		WHERE ? OR reserved > (SELECT seq FROM sqlite_sequence WHERE name = 'events')`})
	if err != nil {
		return err
	}
	return b.prepare(context.Background(), b.writer)
}

func (b *backend) prepareAll(queries map[**sql.Stmt]string) error {
	for stmt, query := range queries {
		var err error
		if *stmt, err = b.writer.PrepareContext(context.Background(), query); err != nil {
			return err
		}
	}
	return nil
}

// transaction runs fn in a transaction of class d that no other writer is in. ctx is not consulted
// once it began.
func (b *backend) transaction(ctx context.Context, d kv.Durability, fn func() error) error {
	return b.inTurn(ctx, d, func() error {
		if err := b.file.Retry(ctx, func() error { return run(b.begin) }); err != nil {
			return err
		}
		err := fn()
		if err == nil {
			err = b.file.Committed(run(b.commit))
		}
		if err != nil {
			_ = run(b.rollback) // SQLite: some errors have rolled back already, and then this one fails
		}
		return err
	})
}

// inTurn runs fn, which uses the writer's connection for commits of class d, when nobody else of
// this process does.
func (b *backend) inTurn(ctx context.Context, d kv.Durability, fn func() error) error {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := b.file.SetLevel(d, func(query string) error { return b.exec(query) }); err != nil {
		return err
	}
	return fn()
}

// run executes a statement that has begun or ends a transaction: it is not to be interrupted.
func run(stmt *sql.Stmt, args ...any) error {
	_, err := stmt.ExecContext(context.Background(), args...)
	return err
}

// wrap makes err an error of kv.
func (b *backend) wrap(op string, err error) error { return b.file.Wrap(op, err) }
