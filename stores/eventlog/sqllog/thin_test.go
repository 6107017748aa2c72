package sqllog_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

// BenchmarkThin measures appends of class Flushed against prepared statements that insert the same
// rows into the same table, with the same promise: in a transaction as wide as the append, the
// events one by one or 50 with a statement, and one event as a statement alone. What a log does
// besides is in the ratio: it reads where it ends, for other processes may have appended, and
// whether its position is reserved.
func BenchmarkThin(b *testing.B) {
	log := benchLog(b)
	raw, err := openRaw(b)
	if err != nil {
		b.Fatal(err)
	}
	drivertest.Thin(b,
		drivertest.Pair{Name: "append1", Limit: 1.15, Raw: raw.insert(1, 1), KV: appendEach(log, 1)},
		drivertest.Pair{Name: "append1-alone", Limit: 1.15, Raw: raw.alone, KV: appendEach(log, 1)},
		drivertest.Pair{Name: "append100", Limit: 1.15, Raw: raw.insert(100, 50), KV: appendEach(log, 100)},
		drivertest.Pair{Name: "append100-by-one", Limit: 1.15, Raw: raw.insert(100, 1), KV: appendEach(log, 100)},
		drivertest.Pair{Name: "ack-beside-append1", Limit: 1, Raw: appendEach(log, 1), KV: ackEach(b)},
	)
}

// ackEach acknowledges the events of a log of its own, one after the other.
func ackEach(b *testing.B) func(int) error {
	const many = 10_000
	ctx, log, drafts := b.Context(), benchLog(b), benchDrafts(many)
	sub, err := log.Subscribe(ctx, "thin")
	position, last := uint64(0), uint64(0)
	return func(times int) error {
		for range times {
			if position == last && err == nil {
				var done eventlog.Appended
				done, err = log.Append(ctx, kv.Flushed, "", eventlog.Any, drafts...)
				last = done.Last
			}
			if err != nil {
				return err
			}
			position++
			err = sub.Ack(ctx, kv.Flushed, position)
		}
		return err
	}
}

func appendEach(log *eventlog.Log, n int) func(int) error {
	drafts := benchDrafts(n)
	return func(times int) error {
		for range times {
			if _, err := log.Append(context.Background(), kv.Flushed, "", eventlog.Any, drafts...); err != nil {
				return err
			}
		}
		return nil
	}
}

// rawLog is a second file with the tables of a log, and a connection to it.
type rawLog struct {
	conn          *sql.Conn
	begin, commit *sql.Stmt
	single        *sql.Stmt
}

func openRaw(b *testing.B) (*rawLog, error) {
	path := filepath.Join(b.TempDir(), "raw.db")
	log, err := sqllog.Open(b.Context(), path, &sqllog.Options{Options: eventlog.Options{Reserve: eventlog.NoReserve}})
	if err != nil {
		return nil, err
	}
	if err := log.Close(); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file://"+path+"?_journal_mode=WAL&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, err
	}
	b.Cleanup(func() { db.Close() })
	r := new(rawLog)
	if r.conn, err = db.Conn(b.Context()); err != nil {
		return nil, err
	}
	b.Cleanup(func() { r.conn.Close() })
	if r.begin, err = r.conn.PrepareContext(b.Context(), `BEGIN IMMEDIATE`); err != nil {
		return nil, err
	}
	if r.commit, err = r.conn.PrepareContext(b.Context(), `COMMIT`); err != nil {
		return nil, err
	}
	r.single, err = r.conn.PrepareContext(b.Context(), `INSERT INTO events (stream, version, type, data, time) VALUES (?, ?, ?, ?, ?)`)
	return r, err
}

// alone inserts one row with a statement that is a transaction of its own.
func (r *rawLog) alone(times int) error {
	ctx := context.Background()
	d := benchDrafts(1)[0]
	for range times {
		if _, err := r.single.ExecContext(ctx, "", nil, d.Type, d.Data, d.Time.UnixNano()); err != nil {
			return err
		}
	}
	return nil
}

// insert returns what inserts n rows in a transaction, so many by one statement.
func (r *rawLog) insert(n, rows int) func(int) error {
	drafts := benchDrafts(n)
	query := `INSERT INTO events (stream, version, type, data, time) VALUES (?, ?, ?, ?, ?)`
	for range rows - 1 {
		query += `, (?, ?, ?, ?, ?)`
	}
	ctx := context.Background()
	stmt, err := r.conn.PrepareContext(ctx, query)
	var args []any
	return func(times int) error {
		if err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		for range times {
			if _, err := r.begin.ExecContext(ctx); err != nil {
				return err
			}
			for i := 0; i < n; i += rows {
				args = args[:0]
				for _, d := range drafts[i : i+rows] {
					args = append(args, "", nil, d.Type, d.Data, d.Time.UnixNano())
				}
				if _, err := stmt.ExecContext(ctx, args...); err != nil {
					return err
				}
			}
			if _, err := r.commit.ExecContext(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
