//go:build cgo

package sqldriver_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // "sqlite"

	"github.com/assaydb/assay/sqlite/sqldriver"
)

// TestACycleAllocatesAtMost25Times runs the queue publication's cycle: publish, claim, acknowledge.
func TestACycleAllocatesAtMost25Times(t *testing.T) {
	if instrumented {
		t.Skip("the race detector and the address sanitizer allocate")
	}
	allocs := cycleAllocations(t, sqldriver.Name)
	if t.Logf("%v allocations", allocs); allocs > 25 {
		t.Errorf("a cycle allocates %v times, at most 25 are allowed", allocs)
	}
	for _, other := range []string{"sqlite3", "sqlite"} {
		t.Logf("%s: %v allocations", other, cycleAllocations(t, other))
	}
}

func cycleAllocations(t *testing.T, driver string) float64 {
	db, err := sql.Open(driver, filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec(t, db, "PRAGMA journal_mode = wal")
	exec(t, db, "PRAGMA synchronous = normal")
	exec(t, db, `CREATE TABLE jobs (id TEXT PRIMARY KEY, queue TEXT NOT NULL, payload BLOB, visible_at INTEGER NOT NULL,
		created_at INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0);
		CREATE INDEX jobs_visible ON jobs(queue, visible_at)`)
	prepare := func(query string) *sql.Stmt {
		s, err := db.Prepare(query)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	publish := prepare(`INSERT INTO jobs (id, queue, payload, visible_at, created_at) VALUES (?, ?, ?, ?, ?)`)
	claim := prepare(`UPDATE jobs SET visible_at = ?, attempts = attempts + 1 WHERE id = (SELECT id FROM jobs
		WHERE queue = ? AND visible_at <= ? ORDER BY visible_at LIMIT 1) RETURNING id, payload, attempts`)
	ack := prepare(`DELETE FROM jobs WHERE id = ?`)
	payload := make([]byte, 256)
	now := int64(1000)
	put := func(id string) {
		now++
		if _, err := publish.Exec(id, "bench", payload, now, now); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		put(fmt.Sprintf("id-%09d", i))
	}
	ids := make([]string, 1002)
	for i := range ids {
		ids[i] = fmt.Sprintf("run-%09d", i)
	}
	var ( // as a program keeps them that counts
		i        int
		id       string
		body     sql.RawBytes
		attempts int64
	)
	return testing.AllocsPerRun(1000, func() {
		put(ids[i])
		i++
		rows, err := claim.Query(now+30_000_000, "bench", now)
		if err != nil || !rows.Next() {
			t.Fatal(err)
		}
		if err := rows.Scan(&id, &body, &attempts); err != nil || len(body) != 256 {
			t.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := ack.Exec(id); err != nil {
			t.Fatal(err)
		}
	})
}
