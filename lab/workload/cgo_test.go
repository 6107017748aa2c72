//go:build cgo

package workload_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/sqliteckv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
	_ "github.com/assaydb/assay/sqlite/sqldriver" // "sqlite-c" of database/sql
)

// TestTablesThroughC runs what is kept in tables on SQLite in C, by both drivers.
func TestTablesThroughC(t *testing.T) {
	for _, c := range []struct{ workload, op, form string }{{"events", "append1", "sql"}, {"events", "size", "sql"},
		{"queue", "cycle", "sql"}, {"queue", "cycle", "published"}, {"queue", "cycle", "published-sqldriver"}, {"queue", "claim", "published-sqldriver"}} {
		t.Run(c.workload+" "+c.op+" "+c.form, func(t *testing.T) {
			r := start(t, c.workload, c.op, workload.Env{Engine: "sqlite-c", Form: c.form, Durability: kv.Flushed, Seed: 1,
				Params: map[string]map[string]string{"events": {"events": "1k"}, "queue": {"backlog": "20"}}[c.workload]})
			if err := slice(t.Context(), r, 1, 20); err != nil {
				t.Fatal(err)
			}
			describes(t, r, true)
		})
	}
}
