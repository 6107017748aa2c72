package sqllog_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		path string
		opts sqllog.Options
		hint string
	}{
		{"an unknown pragma", "log.db", sqllog.Options{Pragmas: map[string]string{"synchronous": "OFF"}},
			"wal_autocheckpoint"},
		{"a pragma that is more than a value",
			"log.db", sqllog.Options{Pragmas: map[string]string{"cache_size": "1); DROP TABLE events"}}, "word"},
		{"an unknown column", "log.db", sqllog.Options{Indexes: []string{"data"}}, "stream, time, type"},
		{"no path", "", sqllog.Options{}, "path"},
		{"memory", ":memory:", sqllog.Options{}, "path"},
		{"a negative number of readers", "log.db", sqllog.Options{Readers: -1}, "positive"},
		{"a negative reserve", "log.db", sqllog.Options{Options: eventlog.Options{Reserve: -2}}, "NoReserve"},
	} {
		path := c.path
		if path == "log.db" {
			path = filepath.Join(t.TempDir(), path)
		}
		_, err := sqllog.Open(t.Context(), path, &c.opts)
		if !errors.Is(err, kv.Invalid) || !strings.Contains(kv.HintOf(err), c.hint) {
			t.Errorf("%s: got %v (hint %q), want Invalid and a hint with %q", c.name, err, kv.HintOf(err), c.hint)
		}
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "text.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database ", 500)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := sqllog.Open(t.Context(), path, nil); !errors.Is(err, kv.Corrupt) {
		t.Errorf("a file that is no database: got %v, want Corrupt", err)
	}
	if _, err := sqllog.Open(t.Context(), dir, nil); err == nil {
		t.Error("a folder was opened as a database")
	}
}

// The tables are a format that other programs read: they must not change.
func TestTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "log.db")
	log, err := sqllog.Open(t.Context(), path, &sqllog.Options{Options: eventlog.Options{Streams: true},
		Indexes: []string{"type", "time"},
		Pragmas: map[string]string{"page_size": "8192", "cache_size": "-65536"}})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	at := time.Unix(0, 1234567890123456789)
	_, err = log.Append(t.Context(), kv.Synced, "s", eventlog.Empty,
		eventlog.Draft{Type: "T", Data: []byte(`{"a":1}`), Time: at})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), kv.Synced, "", eventlog.Any, eventlog.Draft{Type: "U", Time: at}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for query, want := range map[string]string{
		`SELECT group_concat(position||'|'||stream||'|'||ifnull(version,'NULL')||'|'||type||'|'||hex(data)||'|'||time, ' ') FROM events`: "1|s|1|T|7B2261223A317D|1234567890123456789 2||NULL|U||1234567890123456789",
		`SELECT json_extract(CAST(data AS TEXT), '$.a') FROM events WHERE position = 1`:                                                  "1",
		`SELECT format||'|'||streams||'|'||reserved FROM eventlog`:                                                                       "2|1|0",
		`SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name)`:    "events_time events_type events_version",
		`PRAGMA journal_mode`: "wal",
		`PRAGMA page_size`:    "8192",
	} {
		var got string
		if err := db.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", query, got, err, want)
		}
	}
	var plan strings.Builder
	rows, err := db.Query(`EXPLAIN QUERY PLAN SELECT max(version) FROM events WHERE stream = 's' AND version IS NOT NULL`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(detail)
	}
	if err := rows.Err(); err != nil || !strings.Contains(plan.String(), "events_version (stream=?") {
		t.Errorf("the version of a stream is found by %q, %v, want the index", plan.String(), err)
	}
}

// Two logs on one file are what two processes are.
func TestTwoLogs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	var logs []*eventlog.Log
	for range 2 {
		log, err := sqllog.Open(t.Context(), path, &sqllog.Options{Options: eventlog.Options{Streams: true}})
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		logs = append(logs, log)
	}
	var wg sync.WaitGroup
	for i, log := range logs {
		wg.Go(func() {
			for n := range 50 {
				d := []kv.Durability{kv.Synced, kv.Flushed}[(n+i)%2]
				if _, err := log.Append(t.Context(), d, "s", eventlog.Any, eventlog.Draft{Type: "T"}); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for _, log := range logs {
		if last, err := log.LastPosition(t.Context()); last != 100 || err != nil {
			t.Errorf("the log is at %d, %v, want 100", last, err)
		}
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	log, err := sqllog.Open(t.Context(), path, &sqllog.Options{Wait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	_, err = log.Append(t.Context(), kv.Synced, "", eventlog.Any, eventlog.Draft{Type: "T"})
	if !errors.Is(err, kv.Busy) || kv.HintOf(err) == "" {
		t.Errorf("append while another process writes: got %v, want Busy with a hint", err)
	}
	if _, err := other.Exec(`COMMIT`); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), kv.Synced, "", eventlog.Position(0), eventlog.Draft{Type: "T"}); err != nil {
		t.Errorf("append afterwards: %v", err)
	}
}

// However the appends come to be grouped, one that is canceled fails alone, at once, and the others
// go on.
func TestCanceledWhileBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	log, err := sqllog.Open(t.Context(), path, &sqllog.Options{Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	var cancels []context.CancelFunc
	var canceled, others sync.WaitGroup
	for i := range 12 {
		ctx, group := t.Context(), &others
		want := kv.Kind(0)
		if i%3 != 2 {
			c, cancel := context.WithCancel(ctx)
			cancels = append(cancels, cancel)
			ctx, group, want = c, &canceled, kv.Canceled
		}
		group.Go(func() {
			_, err := log.Append(ctx, kv.Flushed, "", eventlog.Any, eventlog.Draft{Type: "T"})
			if want == 0 && err != nil || want != 0 && !errors.Is(err, want) {
				t.Errorf("append: got %v, want %v", err, want)
			}
		})
	}
	for _, cancel := range cancels {
		time.Sleep(2 * time.Millisecond) // so that groups form; what is tested does not depend on it
		cancel()
	}
	canceled.Wait()
	if _, err := other.Exec(`COMMIT`); err != nil {
		t.Fatal(err)
	}
	others.Wait()
	if last, err := log.LastPosition(t.Context()); last != 4 || err != nil {
		t.Errorf("the log is at %d, %v, want 4", last, err)
	}
}

// A name may have a byte that is 0, at which SQLite takes a text to end when it counts its letters.
func TestLeasesOfANameWithAZeroByte(t *testing.T) {
	log, err := sqllog.Open(t.Context(), filepath.Join(t.TempDir(), "log.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	b := log.Backend()
	for _, name := range []string{"a\x00b/0", "a\x00b/1", "a\x00c/0", "a/0"} {
		if err := b.Lease(t.Context(), name, "holder", 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	leases, err := b.Leases(t.Context(), "a\x00b/")
	if err != nil || len(leases) != 2 || leases[1].Name != "a\x00b/1" || leases[1].Until != 2 {
		t.Errorf("leases %+v, %v, want those of a\\x00b/0 and a\\x00b/1", leases, err)
	}
}
