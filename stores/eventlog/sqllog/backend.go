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
	streams bool

	writers *sql.DB // of one connection
	readers *sql.DB
	read    statements

	// The rest is used while holding turn.
	turn     chan struct{} // of capacity 1: the writer's connection
	writer   *sql.Conn
	level    string // of synchronous on it
	block    uint64 // positions to reserve next, 0 for none
	begin    *sql.Stmt
	commit   *sql.Stmt
	rollback *sql.Stmt
	state    *sql.Stmt
	version  *sql.Stmt
	mark     *sql.Stmt
	insert   []*sql.Stmt // for as many events as rows says
	single   *sql.Stmt   // an append as a transaction of its own
	versions map[string]uint64
	args     []any
}

var _ eventlog.Backend = (*backend)(nil)

// Traits implements eventlog.Backend.
func (b *backend) Traits() eventlog.Traits { return eventlog.Traits{Streams: b.streams, Shared: true} }

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
	return b.prepare(map[**sql.Stmt]string{&b.begin: `BEGIN IMMEDIATE`, &b.commit: `COMMIT`, &b.rollback: `ROLLBACK`})
}

func (b *backend) prepare(queries map[**sql.Stmt]string) error {
	for stmt, query := range queries {
		var err error
		if *stmt, err = b.writer.PrepareContext(context.Background(), query); err != nil {
			return err
		}
	}
	return nil
}

// transaction runs fn in a transaction of class d that no other writer is in. ctx is not consulted once it began.
func (b *backend) transaction(ctx context.Context, d kv.Durability, fn func() error) error {
	return b.inTurn(ctx, d, func() error {
		if err := b.retry(ctx, func() error { return run(b.begin) }); err != nil {
			return err
		}
		err := fn()
		if err == nil {
			err = run(b.commit)
		}
		if err != nil {
			_ = run(b.rollback) // SQLite: some errors have rolled back already, and then this one fails
		}
		return err
	})
}

// inTurn runs fn, which uses the writer's connection for commits of class d, when nobody else of this process does.
func (b *backend) inTurn(ctx context.Context, d kv.Durability, fn func() error) error {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := b.setLevel(d); err != nil {
		return err
	}
	return fn()
}

// setLevel sets synchronous.
func (b *backend) setLevel(d kv.Durability) error {
	level := sqlite.Level(d)
	if level == b.level {
		return nil
	}
	err := b.exec("PRAGMA synchronous = " + level)
	if err == nil {
		b.level = level
	}
	return err
}

// run executes a statement that has begun or ends a transaction: it is not to be interrupted.
func run(stmt *sql.Stmt, args ...any) error {
	_, err := stmt.ExecContext(context.Background(), args...)
	return err
}

// retry runs try again while another process holds a lock.
func (b *backend) retry(ctx context.Context, try func() error) error { return b.file.Retry(ctx, try) }

// wrap makes err an error of kv.
func (b *backend) wrap(op string, err error) error { return b.file.Wrap(op, err) }
