package sqlfeed

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// table keeps the rows of a feed in SQLite: one connection that writes and several that read.
type table struct {
	path    string
	wait    time.Duration
	writers *sql.DB // of one connection
	writer  *writer
	readers *sql.DB
	free    chan *session // of readers; nil is one to be opened
}

var _ feed.Table = (*table)(nil)

// Shared implements feed.Table.
func (t *table) Shared() bool { return true }

// View implements feed.Table.
func (t *table) View(ctx context.Context, fn func(feed.Rows) error) (err error) {
	var s *session
	select {
	case s = <-t.free:
	case <-ctx.Done():
		return t.wrap("view", ctx.Err())
	}
	defer func() { t.free <- s }()
	if s == nil {
		if s, err = t.session(ctx); err != nil {
			s = nil
			return t.wrap("view", err)
		}
	}
	if err := run(s.begin); err != nil {
		return t.wrap("view", err)
	}
	defer func() { err = t.wrap("view", errors.Join(err, run(s.rollback))) }() // after a panic too
	return fn(s)
}

func (t *table) session(ctx context.Context) (*session, error) {
	conn, err := t.readers.Conn(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn}
	if err := errors.Join(s.prepare("BEGIN"), s.prepareRows()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

// Update implements feed.Table.
func (t *table) Update(ctx context.Context, d kv.Durability, fn func(feed.Rows, feed.Writer) error) error {
	if int(d) > int(kv.Buffered) {
		return t.wrap("append", &kv.Error{Kind: kv.Invalid, Err: errors.New("unknown class of durability")})
	}
	return t.wrap("append", t.transaction(ctx, d, func() error { return fn(&t.writer.session, t.writer) }))
}

// transaction runs fn in a transaction of class d that no other process writes in. ctx is not consulted once it began.
func (t *table) transaction(ctx context.Context, d kv.Durability, fn func() error) error {
	if err := t.writer.setLevel(d); err != nil {
		return err
	}
	if err := t.retry(ctx, func() error { return run(t.writer.begin) }); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		err = run(t.writer.commit)
	}
	if err != nil {
		_ = run(t.writer.rollback) // SQLite: some errors have rolled back already, and then this one fails
	}
	return err
}

// Close implements feed.Table. The statements go with their connections.
func (t *table) Close() error {
	var err error
	if t.readers != nil {
		for range cap(t.free) {
			if s := <-t.free; s != nil {
				err = errors.Join(err, s.conn.Close())
			}
		}
		err = errors.Join(err, t.readers.Close())
	}
	if t.writer != nil {
		err = errors.Join(err, t.writer.conn.Close())
	}
	if t.writers != nil {
		err = errors.Join(err, t.writers.Close())
	}
	return t.wrap("close feed", err)
}

// retry runs try again while another process holds a lock.
func (t *table) retry(ctx context.Context, try func() error) error {
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
			deadline = now.Add(t.wait)
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
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == lib.SQLITE_BUSY || e.Code()&0xff == lib.SQLITE_LOCKED)
}

// wrap makes an error of SQLite one of kv. Others, those of a function that was given in, stay as they are.
func (t *table) wrap(op string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		var k *kv.Error
		if err == nil || errors.As(err, &k) || kv.KindOf(err) == 0 {
			return err
		}
		return &kv.Error{Op: op, Engine: "sqlite", Path: t.path, Kind: kv.KindOf(err), Err: err}
	}
	wrapped := &kv.Error{Op: op, Engine: "sqlite", Path: t.path, Kind: kinds[e.Code()&0xff], Err: err}
	if wrapped.Kind == kv.Busy {
		wrapped.Hint = "another process is writing: end it, or set Options.Wait higher"
	}
	return wrapped
}

var kinds = map[int]kv.Kind{
	lib.SQLITE_PERM: kv.Permission, lib.SQLITE_AUTH: kv.Permission, lib.SQLITE_BUSY: kv.Busy, lib.SQLITE_LOCKED: kv.Busy,
	lib.SQLITE_READONLY: kv.NotWritable, lib.SQLITE_INTERRUPT: kv.Canceled, lib.SQLITE_CORRUPT: kv.Corrupt,
	lib.SQLITE_NOTADB: kv.Corrupt, lib.SQLITE_FULL: kv.Full, lib.SQLITE_TOOBIG: kv.TooLarge,
}

func invalid(err error, hint string) error {
	return &kv.Error{Op: "open feed", Engine: "sqlite", Kind: kv.Invalid, Err: err, Hint: hint}
}
