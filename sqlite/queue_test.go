//go:build cgo

package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/sqlite"
)

// The queue publication's table and statements, which the benchmarks share.
const (
	queueSchema = `CREATE TABLE jobs (id TEXT PRIMARY KEY, queue TEXT NOT NULL, payload BLOB, visible_at INTEGER NOT NULL,
		created_at INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0);
		CREATE INDEX jobs_visible ON jobs(queue, visible_at)`
	publishSQL = `INSERT INTO jobs (id, queue, payload, visible_at, created_at) VALUES (?, ?, ?, ?, ?)`
	claimSQL   = `UPDATE jobs SET visible_at = ?, attempts = attempts + 1 WHERE id = (SELECT id FROM jobs
		WHERE queue = ? AND visible_at <= ? ORDER BY visible_at LIMIT 1) RETURNING id, payload, attempts`
	ackSQL  = `DELETE FROM jobs WHERE id = ?`
	pending = 1000
)

// A queueDB is the queue on a connection of its own.
type queueDB struct {
	c                   *sqlite.Conn
	publish, claim, ack *sqlite.Stmt
	payload, got        []byte
	now                 int64
}

func openQueue(t testing.TB, path string, o *sqlite.Options) *queueDB {
	t.Helper()
	if o == nil {
		o = &sqlite.Options{}
	}
	o.Sync = sqlite.SyncNormal
	if path != ":memory:" {
		o.Journal = "wal"
	}
	c := open(t, path, o)
	exec(t, c, queueSchema)
	q := &queueDB{c: c, payload: make([]byte, 256)}
	q.publish, q.claim, q.ack = prepare(t, c, publishSQL), prepare(t, c, claimSQL), prepare(t, c, ackSQL)
	err := c.Update(t.Context(), func() error {
		for range pending {
			if err := q.put(t.Context(), fmt.Sprintf("id-%09d", q.now)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (q *queueDB) put(ctx context.Context, id string) error {
	q.now++
	s := q.publish
	s.BindText(1, id)
	s.BindText(2, "bench")
	s.BindBlob(3, q.payload)
	s.BindInt(4, q.now)
	s.BindInt(5, q.now)
	return s.Run(ctx)
}

// cycle publishes, claims and acknowledges. The id is the job's that was published so many before.
func (q *queueDB) cycle(ctx context.Context, id string) error {
	if err := q.put(ctx, id); err != nil {
		return err
	}
	s := q.claim
	s.BindInt(1, q.now+30_000_000)
	s.BindText(2, "bench")
	s.BindInt(3, q.now)
	ok, err := s.Next(ctx)
	if !ok {
		return fmt.Errorf("no job: %w", err)
	}
	claimed := s.Text(0)
	q.got = s.Append(q.got[:0], 1)
	if len(q.got) != len(q.payload) {
		return fmt.Errorf("a payload of %d bytes", len(q.got))
	}
	if ok, err := s.Next(ctx); ok || err != nil {
		return fmt.Errorf("a second job: %v, %v", ok, err)
	}
	q.ack.BindText(1, claimed)
	if err := q.ack.Run(ctx); err != nil {
		return err
	}
	if n := q.ack.Changes(); n != 1 {
		return fmt.Errorf("%d jobs were deleted", n)
	}
	return nil
}

// TestACycleAllocatesAtMostTwice counts what a program sees of a cycle: the id that it keeps.
func TestACycleAllocatesAtMostTwice(t *testing.T) {
	if instrumented {
		t.Skip("the race detector and the address sanitizer allocate")
	}
	for _, path := range []string{":memory:", filepath.Join(t.TempDir(), "queue.db")} {
		q := openQueue(t, path, nil)
		ids := make([]string, 2000)
		for i := range ids {
			ids[i] = fmt.Sprintf("run-%09d", i)
		}
		i := 0
		ctx, cancel := context.WithCancel(t.Context()) // one that can end costs no more
		defer cancel()
		allocs := testing.AllocsPerRun(1000, func() {
			if err := q.cycle(ctx, ids[i]); err != nil {
				t.Fatal(err)
			}
			i++
		})
		if allocs > 2 {
			t.Errorf("%s: a cycle allocates %v times, at most 2 are allowed", path, allocs)
		}
		t.Logf("%s: %v allocations", path, allocs)
	}
}
