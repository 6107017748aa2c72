package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// backend keeps a log in SQLite: one connection that writes and several that read.
type backend struct {
	path    string
	indexed bool // Options.Streams
	wait    time.Duration

	writers *sql.DB // of one connection
	readers *sql.DB
	read    statements

	// The rest is used while holding turn.
	turn     chan struct{} // of capacity 1: the writer's connection
	writer   *sql.Conn
	level    string // of synchronous on it
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
	return b.prepareAll(map[**sql.Stmt]string{&b.begin: `BEGIN IMMEDIATE`, &b.commit: `COMMIT`, &b.rollback: `ROLLBACK`})
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

// setLevel sets synchronous. SQLite: it is fixed once a transaction begins.
func (b *backend) setLevel(d kv.Durability) error {
	level := "NORMAL"
	if d == kv.Synced {
		level = "FULL"
	}
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
func (b *backend) retry(ctx context.Context, try func() error) error {
	var deadline time.Time
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := try()
		if !isBusy(err) {
			return err
		}
		if now := time.Now(); deadline.IsZero() {
			deadline = now.Add(b.wait)
		} else if now.After(deadline) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func isBusy(err error) bool {
	code := codeOf(err)
	return code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED
}

// wrap makes err an error of kv.
func (b *backend) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	wrapped := kv.Error{Kind: kindOf(err), Err: err}
	var e *kv.Error
	if errors.As(err, &e) {
		wrapped = *e
	}
	wrapped.Op, wrapped.Engine, wrapped.Path = op, "sqlite", b.path
	if wrapped.Kind == kv.Busy && wrapped.Hint == "" {
		wrapped.Hint = "another process is writing: end it, or set Options.Wait higher"
	}
	return &wrapped
}

var kinds = map[int]kv.Kind{
	lib.SQLITE_PERM: kv.Permission, lib.SQLITE_AUTH: kv.Permission, lib.SQLITE_BUSY: kv.Busy, lib.SQLITE_LOCKED: kv.Busy,
	lib.SQLITE_READONLY: kv.NotWritable, lib.SQLITE_INTERRUPT: kv.Canceled, lib.SQLITE_CORRUPT: kv.Corrupt,
	lib.SQLITE_NOTADB: kv.Corrupt, lib.SQLITE_FULL: kv.Full, lib.SQLITE_TOOBIG: kv.TooLarge,
}

// codeOf returns SQLite's primary code of an error, 0 if it has none.
func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func kindOf(err error) kv.Kind {
	if code := codeOf(err); code != 0 {
		return kinds[code]
	}
	if errors.Is(err, sql.ErrConnDone) {
		return kv.Closed
	}
	return kv.KindOf(err)
}

func invalid(err error, hint string) error {
	return &kv.Error{Op: "open log", Engine: "sqlite", Kind: kv.Invalid, Err: err, Hint: hint}
}
