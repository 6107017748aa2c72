package sqlfeed_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/feedtest"
	"github.com/assaydb/assay/stores/eventlog/sqlfeed"
)

func TestConformance(t *testing.T) { feedtest.Run(t, target(feed.Options{})) }

func TestConformanceZstd(t *testing.T) {
	feedtest.Run(t, target(feed.Options{Compression: feed.Zstd, Block: 2 << 10}))
}

func target(o feed.Options) feedtest.Target {
	return feedtest.Target{
		Open: func(dir string) (*feed.Feed, func() error, error) {
			f, err := sqlfeed.Open(context.Background(), filepath.Join(dir, "a file?#%.db"), &sqlfeed.Options{Options: o})
			if err != nil {
				return nil, nil, err
			}
			return f, f.Close, nil
		},
		Delivers:  map[kv.Durability]kv.Durability{kv.Synced: kv.Synced, kv.Flushed: kv.Flushed, kv.Buffered: kv.Flushed},
		Processes: true,
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		path string
		opts sqlfeed.Options
		hint string
	}{
		{"an unknown pragma", "feed.db", sqlfeed.Options{Pragmas: map[string]string{"synchronous": "OFF"}}, "wal_autocheckpoint"},
		{"a pragma that is more than a value", "feed.db", sqlfeed.Options{Pragmas: map[string]string{"cache_size": "1); DROP TABLE feed"}}, "word"},
		{"no path", "", sqlfeed.Options{}, "path"},
		{"memory", ":memory:", sqlfeed.Options{}, "path"},
		{"a negative number of readers", "feed.db", sqlfeed.Options{Readers: -1}, "positive"},
		{"a block too large", "feed.db", sqlfeed.Options{Options: feed.Options{Block: 1 << 30}}, "default"},
	} {
		path := c.path
		if path == "feed.db" {
			path = filepath.Join(t.TempDir(), path)
		}
		_, err := sqlfeed.Open(t.Context(), path, &c.opts)
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
	if _, err := sqlfeed.Open(t.Context(), path, nil); !errors.Is(err, kv.Corrupt) {
		t.Errorf("a file that is no database: got %v, want Corrupt", err)
	}
	if _, err := sqlfeed.Open(t.Context(), dir, nil); err == nil {
		t.Error("a folder was opened as a database")
	}
}

// The tables are a format that other programs read: they must not change.
func TestTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "feed.db")
	f, err := sqlfeed.Open(t.Context(), path, &sqlfeed.Options{
		Options: feed.Options{Compression: feed.Zstd, Block: 100}, Pragmas: map[string]string{"page_size": "8192"}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Append(t.Context(), kv.Synced, bytes.Repeat([]byte("a"), 60), bytes.Repeat([]byte("b"), 60), []byte("c")); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for query, want := range map[string]string{
		`SELECT group_concat(seq||'|'||CAST(message AS TEXT)) FROM messages`:    "2|c",
		`SELECT group_concat(first||'|'||hex(substr(block, 1, 3))) FROM blocks`: "0|01027A",
		`SELECT id||meta FROM feed`: `1{"format":1,"compression":"zstd"}`,
		`SELECT group_concat(name) FROM (SELECT name FROM sqlite_master ORDER BY 1)`: "blocks,feed,messages",
		`PRAGMA journal_mode`: "wal",
		`PRAGMA page_size`:    "8192",
	} {
		var got string
		if err := db.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", query, got, err, want)
		}
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "feed.db")
	f, err := sqlfeed.Open(t.Context(), path, &sqlfeed.Options{Wait: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec(`BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	_, err = f.Append(t.Context(), kv.Synced, []byte("x"))
	if !errors.Is(err, kv.Busy) || kv.HintOf(err) == "" {
		t.Errorf("append while another process writes: got %v, want Busy with a hint", err)
	}
	if _, err := other.Exec(`COMMIT`); err != nil {
		t.Fatal(err)
	}
	if first, err := f.Append(t.Context(), kv.Synced, []byte("x")); err != nil || first != 0 {
		t.Errorf("append afterwards: %d, %v", first, err)
	}
}
