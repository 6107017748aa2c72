//go:build cgo

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/sqlite"
)

// losing are ways to have SQLite roll back a whole transaction.
var losing = map[string]func(c *sqlite.Conn) error{
	"an interrupted write": func(c *sqlite.Conn) error {
		ctx, cancel := context.WithCancel(context.Background())
		if err := c.OnProgress(func() error { cancel(); return nil }); err != nil { // once it runs
			return err
		}
		err := c.Exec(ctx, "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i+1 FROM n) INSERT INTO t SELECT i, '' FROM n")
		return errors.Join(err, c.OnProgress(nil))
	},
	"INSERT OR ROLLBACK": func(c *sqlite.Conn) error {
		return c.Exec(context.Background(), "INSERT OR ROLLBACK INTO t VALUES (1, '')")
	},
	"a database that is full": func(c *sqlite.Conn) error {
		return c.Exec(context.Background(), "INSERT INTO t VALUES (100, zeroblob(1000000))")
	},
}

// TestWhatFollowsALostTransactionIsRefused has programs that pass over the error of a statement:
// SQLite would commit what they do next by itself.
func TestWhatFollowsALostTransactionIsRefused(t *testing.T) {
	for how, lose := range losing {
		t.Run(how, func(t *testing.T) {
			c := open(t, filepath.Join(t.TempDir(), "a.db"), &sqlite.Options{Journal: "wal"})
			exec(t, c, "CREATE TABLE t (id INTEGER PRIMARY KEY, b); PRAGMA max_page_count = 100")
			insert := func(n int) error { return c.Exec(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d, '')", n)) }
			fn := func() error {
				check(t, insert(1))
				if err := lose(c); err == nil || c.InTx() {
					t.Errorf("the transaction is not lost: %v", err)
				}
				wantKind(t, insert(2), kv.Closed)
				wantKind(t, c.Begin(t.Context(), sqlite.Immediate), kv.Closed)
				return nil
			}
			wantKind(t, c.Update(t.Context(), fn), kv.Closed)
			wantKind(t, c.Save(t.Context(), fn), kv.Closed)
			wantKind(t, c.Update(t.Context(), func() error { return c.Save(t.Context(), fn) }), kv.Closed)
			check(t, c.Begin(t.Context(), sqlite.Deferred))
			check(t, fn())
			check(t, c.Rollback())
			check(t, c.Begin(t.Context(), sqlite.Deferred))
			check(t, fn())
			wantKind(t, c.Commit(), kv.Closed)
			if got := text(t, c, "SELECT count(*) FROM t"); got != "0" {
				t.Errorf("%s rows were committed", got)
			}
			check(t, c.Update(t.Context(), func() error { return insert(3) }))
			if got := text(t, c, "SELECT id FROM t"); got != "3" {
				t.Error(got)
			}
		})
	}
}

func TestARollbackThatCannotBeIsAnError(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, "CREATE TABLE t (a)")
	check(t, c.Begin(t.Context(), sqlite.Immediate))
	var inside error
	check(t, c.OnUpdate(func(sqlite.Change) { inside = c.Rollback() }))
	exec(t, c, "INSERT INTO t VALUES (1)")
	wantKind(t, inside, kv.Busy)
	check(t, c.Rollback())
	check(t, c.Rollback()) // there is none
	check(t, c.Close())
	wantKind(t, c.Rollback(), kv.Closed)
}
