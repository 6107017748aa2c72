package sqlqueue_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/frame"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/queuetest"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

func TestConformance(t *testing.T) { queuetest.Run(t, target("sqlite")) }

// target is queues in tables that a driver of database/sql opens.
func target(driver string) queuetest.Target {
	return queuetest.Target{
		Open: func(dir string, o queue.Options) (*queue.Store, func() error, error) {
			store, err := sqlqueue.Open(context.Background(), filepath.Join(dir, "a file?#%.db"),
				&sqlqueue.Options{Options: o, Driver: driver, Wait: frame.Patience})
			if err != nil {
				return nil, nil, err
			}
			return store, store.Close, nil
		},
		Delivers: map[kv.Durability]kv.Durability{kv.Synced: kv.Synced, kv.Flushed: kv.Flushed,
			kv.Buffered: kv.Flushed},
		Processes: true,
	}
}

// Large payloads stand in a table of their own, and go with their jobs.
func TestLargePayloadsGoWithTheirJobs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.db")
	store, err := sqlqueue.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	q, err := store.Queue("work", nil)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	wantLarge := func(want int) {
		t.Helper()
		var got int
		if err := db.QueryRow(`SELECT count(*) FROM payloads`).Scan(&got); err != nil || got != want {
			t.Fatalf("%d large payloads, %v, want %d", got, err, want)
		}
	}
	var drafts []queue.Draft
	for _, size := range []int{0, 1, 1024, 1025, 5000, 100_000} {
		drafts = append(drafts, queue.Draft{Payload: bytes.Repeat([]byte{'x'}, size)})
	}
	for range 2 {
		for _, draft := range drafts {
			if _, err := q.Publish(t.Context(), kv.Flushed, draft); err != nil {
				t.Fatal(err)
			}
		}
		wantLarge(3)
		jobs, err := q.Claim(t.Context(), kv.Flushed, 5)
		for i, job := range jobs {
			if !bytes.Equal(job.Payload, drafts[i].Payload) {
				t.Errorf("job %d: payload of %d bytes, want %d", i, len(job.Payload), len(drafts[i].Payload))
			}
		}
		if err != nil || len(jobs) != 5 {
			t.Fatal(len(jobs), err)
		}
		if listed, err := q.List(t.Context(), queue.Claimed, 5); err != nil || len(listed[4].Payload) != 5000 {
			t.Fatal(listed, err)
		}
		if err := q.Nack(t.Context(), kv.Flushed, time.Hour, jobs[3].Receipt); err != nil {
			t.Fatal(err)
		}
		wantLarge(3)
		if err := q.Ack(t.Context(), kv.Flushed, jobs[4].Receipt); err != nil {
			t.Fatal(err)
		}
		wantLarge(2)
		if n, err := q.Purge(t.Context(), kv.Flushed); n != 5 || err != nil {
			t.Fatal(n, err)
		}
		wantLarge(0)
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		path string
		opts sqlqueue.Options
		hint string
	}{
		{"an unknown pragma", "q.db", sqlqueue.Options{Pragmas: map[string]string{"synchronous": "OFF"}},
			"wal_autocheckpoint"},
		{"a pragma that is more than a value",
			"q.db", sqlqueue.Options{Pragmas: map[string]string{"cache_size": "1); DROP TABLE jobs"}}, "word"},
		{"no path", "", sqlqueue.Options{}, "path"},
		{"memory", ":memory:", sqlqueue.Options{}, "path"},
		{"a negative number of readers", "q.db", sqlqueue.Options{Readers: -1}, "positive"},
		{"a negative poll", "q.db", sqlqueue.Options{Options: queue.Options{Poll: -1}}, "millisecond"},
	} {
		path := c.path
		if path == "q.db" {
			path = filepath.Join(t.TempDir(), path)
		}
		_, err := sqlqueue.Open(t.Context(), path, &c.opts)
		if !errors.Is(err, kv.Invalid) || !strings.Contains(kv.HintOf(err), c.hint) {
			t.Errorf("%s: got %v (hint %q), want Invalid and a hint with %q", c.name, err, kv.HintOf(err), c.hint)
		}
	}
}

// Tables of the format before become those of this one when they are opened, and not by looking at
// them.
func TestOldTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec(`
CREATE TABLE jobs (queue TEXT NOT NULL, state INTEGER NOT NULL, rank INTEGER NOT NULL, at INTEGER NOT NULL, id INTEGER NOT NULL,
	priority INTEGER NOT NULL, visible_at INTEGER NOT NULL, created_at INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
	token INTEGER NOT NULL DEFAULT 0, extended INTEGER NOT NULL DEFAULT 0, payload BLOB, PRIMARY KEY (queue, state, rank, at, id)) WITHOUT ROWID;
CREATE TABLE payloads (queue TEXT NOT NULL, id INTEGER NOT NULL, payload BLOB NOT NULL, PRIMARY KEY (queue, id)) WITHOUT ROWID;
CREATE TRIGGER jobs_deleted AFTER DELETE ON jobs WHEN old.payload IS NULL BEGIN
	DELETE FROM payloads WHERE queue = old.queue AND id = old.id;
END;
CREATE INDEX jobs_extended ON jobs (queue, id) WHERE extended = 1;
CREATE TABLE queues (name TEXT PRIMARY KEY NOT NULL, holder INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE jobqueue (id INTEGER PRIMARY KEY CHECK (id = 1), format INTEGER NOT NULL);
INSERT INTO jobqueue VALUES (1, 1);
INSERT INTO queues VALUES ('work', 7, 5000);
INSERT INTO jobs (queue, state, rank, at, id, priority, visible_at, created_at, payload) VALUES ('work', 0, 0, 5, 5000, 0, 5, 5, NULL);
INSERT INTO payloads VALUES ('work', 5000, x'616263');`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlqueue.Open(t.Context(), path, &sqlqueue.Options{Existing: true}); !errors.Is(err, kv.Unsupported) {
		t.Errorf("to look at them: %v, want Unsupported", err)
	}
	store, err := sqlqueue.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	q, err := store.Queue("work", nil)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := q.Claim(t.Context(), kv.Flushed, 1)
	if err != nil || len(jobs) != 1 || string(jobs[0].Payload) != "abc" {
		t.Fatal(jobs, err)
	}
	if err := q.Fail(t.Context(), kv.Flushed, errors.New("why"), 0, jobs[0].Receipt); err != nil {
		t.Fatal(err)
	}
	if job, err := q.Find(t.Context(), 5000); err != nil || len(job.Failures()) != 1 {
		t.Errorf("%+v, %v", job, err)
	}
	if err := q.Delete(t.Context(), kv.Flushed, 5000); err != nil {
		t.Error(err)
	}
	for _, table := range []string{"jobs", "payloads", "failures"} {
		var left int
		if err := db.QueryRow(`SELECT count(*) FROM ` + table).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d rows are left in %s, %v", left, table, err)
		}
	}
}
