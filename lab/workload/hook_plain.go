package workload

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/assaydb/assay/kv"
)

// plainForm is SQLite as a program without kv has it: a table, database/sql and a busy_timeout.
const plainForm = "sql"

const plainTable = "CREATE TABLE IF NOT EXISTS hook (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID"

// setupPlain loads version 1 of every key.
func (r *stormRunner) setupPlain(ctx context.Context) error {
	start := time.Now()
	err := r.plain.with(ctx, func(c *sql.Conn) error {
		for _, statement := range []string{"PRAGMA journal_mode = WAL", plainTable, "BEGIN"} {
			if _, err := c.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		for i := range r.versions {
			key, value := r.first(i)
			if _, err := c.ExecContext(ctx, "INSERT INTO hook VALUES (?, ?)", key, value); err != nil {
				return err
			}
		}
		_, err := c.ExecContext(ctx, "COMMIT")
		return err
	})
	if err != nil {
		return err
	}
	about := &r.plain.about
	about.Open = time.Since(start)
	about.Promise = kv.Promise{Supported: true, Class: min(r.env.Durability, kv.Flushed), Intact: true}
	return r.plain.readSettings(ctx)
}

// verifyPlain compares the table.
func (r *stormRunner) verifyPlain(ctx context.Context, c *comparison) error {
	return r.plain.with(ctx, func(conn *sql.Conn) error {
		if c.some != nil {
			return c.get(func(key []byte) (value []byte, err error) {
				err = conn.QueryRowContext(ctx, "SELECT v FROM hook WHERE k = ?", key).Scan(&value)
				if errors.Is(err, sql.ErrNoRows) {
					err = kv.NotFound
				}
				return value, err
			})
		}
		rows, err := conn.QueryContext(ctx, "SELECT k, v FROM hook ORDER BY k")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var k, v []byte
			if err := rows.Scan(&k, &v); err != nil {
				return err
			}
			if err := c.pair(k, v); err != nil {
				return err
			}
		}
		return errors.Join(rows.Err(), c.absent(c.count))
	})
}

// inPlain does t in the table, and returns when its transaction had begun. SQLite: FULL syncs the
// log at each commit.
func (t hookTask) inPlain(ctx context.Context, stdout io.Writer) (begun time.Time, err error) {
	level := "NORMAL"
	if t.durability == kv.Synced {
		level = "FULL"
	}
	db, err := sql.Open(pureEngine, fmt.Sprintf("file:%s?_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=synchronous(%s)&_pragma=journal_mode(WAL)",
		t.url, t.wait.Milliseconds(), level))
	if err != nil {
		return begun, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err = db.ExecContext(ctx, plainTable); err == nil {
		begun = time.Now()
		_, err = db.ExecContext(ctx, "INSERT OR REPLACE INTO hook VALUES (?, ?)", appendHookKey(nil, t.key),
			t.values.append(nil, uint64(t.key), t.version))
	}
	var coded interface{ Code() int }
	if errors.As(err, &coded) && coded.Code()&0xff == 5 { // SQLITE_BUSY
		return begun, &kv.Error{Op: "put", Engine: "sqlite", Kind: kv.Busy, Err: err, Hint: "wait longer"}
	}
	if err == nil {
		_, err = fmt.Fprintf(stdout, lineDone, t.version)
	}
	return begun, err
}
