package sqlqueue

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// backend keeps queues in SQLite: one connection that writes and several that read.
type backend struct {
	path string
	wait time.Duration

	readers *sql.DB
	read    readStatements

	// The rest is used by Commit alone.
	writer   *conn
	level    string // of synchronous on it
	begin    stmt
	commit   stmt
	rollback stmt
	write    statements
	inside   bool             // a transaction is open
	dues     map[string]*due  // by queue
	held     map[string]*held // by queue
	self     int64            // in queues.holder; another one for each backend
}

var _ queue.Backend = (*backend)(nil)

// Traits implements queue.Backend.
func (b *backend) Traits() queue.Traits { return queue.Traits{Shared: true} }

// Close implements queue.Backend. SQLite: the last connection copies the log into the database and
// removes it.
func (b *backend) Close() error {
	var err error
	if b.readers != nil {
		err = b.readers.Close()
	}
	if b.writer != nil {
		err = errors.Join(err, b.writer.close())
	}
	return b.wrap("close queues", err)
}

// prepare takes pairs of a *stmt and its text.
func (b *backend) prepare(pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		var err error
		if *pairs[i].(*stmt), _, err = b.writer.prepare(pairs[i+1].(string)); err != nil {
			return err
		}
	}
	return nil
}

// transaction runs fn in a transaction of class d. ctx is not consulted once it began.
func (b *backend) transaction(ctx context.Context, d kv.Durability, fn func() error) error {
	if err := b.setLevel(d); err != nil {
		return err
	}
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
	err := b.writer.exec("PRAGMA synchronous = " + level)
	if err == nil {
		b.level = level
	}
	return err
}

// run runs a statement whose changes need no counting.
func run(s stmt, args ...any) error {
	_, err := s.run(args...)
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
	code, _ := codeOf(err)
	return code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED
}

// codeOf returns the primary result code that err is of, if it is one of SQLite.
func codeOf(err error) (code int, ok bool) {
	var f *failure
	if errors.As(err, &f) {
		return int(f.code & 0xff), true
	}
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff, true
	}
	return 0, false
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

func kindOf(err error) kv.Kind {
	if code, ok := codeOf(err); ok {
		return kinds[code]
	}
	if errors.Is(err, sql.ErrConnDone) {
		return kv.Closed
	}
	return kv.KindOf(err)
}

func invalid(err error, hint string) error {
	return &kv.Error{Op: "open queues", Engine: "sqlite", Kind: kv.Invalid, Err: err, Hint: hint}
}
