//go:build cgo

package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // "sqlite"

	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/sqlite"
	_ "github.com/assaydb/assay/sqlite/sqldriver" // "sqlite-c"
)

// names are ids of jobs, made before the clock runs, in the order in which they are published.
type names struct {
	next int
	all  []string
}

func newNames() *names {
	n := &names{all: make([]string, 1<<16)}
	for i := range n.all {
		n.all[i] = fmt.Sprintf("run-%09d", i)
	}
	return n
}

// take returns a name whose last job is long gone: the jobs before it are acknowledged first.
func (n *names) take() string {
	n.next++
	return n.all[n.next%len(n.all)]
}

// BenchmarkQueue runs the queue publication's cycle of publish, claim and acknowledge, WAL and
// NORMAL, with 1,000 jobs pending. Two sides take turns: "raw" is the direct API as it is opened by
// default, "kv" what the name says; the ratio is how much longer the latter takes.
func BenchmarkQueue(b *testing.B) {
	for _, where := range []string{"memory", "file"} {
		b.Run(where, func(b *testing.B) {
			path := func() string {
				if where == "memory" {
					return ":memory:"
				}
				return filepath.Join(b.TempDir(), "queue.db")
			}
			direct := func(o *sqlite.Options) (*queueDB, func(n int) error) {
				q, ids := openQueue(b, path(), o), newNames()
				return q, func(n int) error {
					for range n {
						if err := q.cycle(b.Context(), ids.take()); err != nil {
							return err
						}
					}
					return nil
				}
			}
			_, off := direct(nil)
			_, again := direct(nil)
			ring := sqlite.NewRing(1 << 10)
			defer ring.Close()
			_, ringed := direct(&sqlite.Options{Ring: ring})
			var events []sqlite.Event
			drained := func(n int) error {
				err := ringed(n)
				events, _ = ring.Take(events[:0])
				return err
			}
			called, on := direct(nil)
			seen := 0
			check(b, called.c.OnTrace(sqlite.TraceProfile, func(sqlite.Event) { seen++ }))
			drivertest.Thin(b,
				drivertest.Pair{Name: "itself", Limit: 1.0, Raw: off, KV: again},
				drivertest.Pair{Name: "ring", Limit: 1.03, Raw: off, KV: drained},
				drivertest.Pair{Name: "callbacks", Limit: 1.10, Raw: off, KV: on},
				drivertest.Pair{Name: "database/sql", Raw: off, KV: throughSQL(b, "sqlite-c", path())},
				drivertest.Pair{Name: "mattn", Raw: off, KV: throughSQL(b, "sqlite3", path())},
				drivertest.Pair{Name: "modernc", Raw: off, KV: throughSQL(b, "sqlite", path())},
			)
			if seen == 0 || len(events) == 0 {
				b.Error("nothing was traced")
			}
		})
	}
}

// throughSQL is the same through database/sql.
func throughSQL(b *testing.B, driver, path string) func(n int) error {
	b.Helper()
	if path != ":memory:" {
		path = "file:" + (&url.URL{Path: path}).EscapedPath()
	}
	db, err := sql.Open(driver, path)
	check(b, err)
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	ctx := context.Background()
	for _, text := range []string{"PRAGMA journal_mode = wal", "PRAGMA synchronous = normal", queueSchema} {
		_, err := db.ExecContext(ctx, text)
		check(b, err)
	}
	var publish, claim, ack *sql.Stmt
	for s, text := range map[**sql.Stmt]string{&publish: publishSQL, &claim: claimSQL, &ack: ackSQL} {
		*s, err = db.PrepareContext(ctx, text)
		check(b, err)
	}
	payload, now, ids := make([]byte, 256), int64(0), newNames()
	put := func(id string) error {
		now++
		_, err := publish.ExecContext(ctx, id, "bench", payload, now, now)
		return err
	}
	for i := range pending {
		check(b, put(fmt.Sprintf("id-%09d", i)))
	}
	one := func() error {
		if err := put(ids.take()); err != nil {
			return err
		}
		rows, err := claim.QueryContext(ctx, now+30_000_000, "bench", now)
		if err != nil {
			return err
		}
		var id string
		var body sql.RawBytes
		var attempts int64
		if !rows.Next() {
			return fmt.Errorf("no job: %w", rows.Err())
		}
		if err := rows.Scan(&id, &body, &attempts); err != nil {
			return err
		}
		if err := rows.Close(); err != nil {
			return err
		}
		_, err = ack.ExecContext(ctx, id)
		return err
	}
	return func(n int) error {
		for range n {
			if err := one(); err != nil {
				return err
			}
		}
		return nil
	}
}
