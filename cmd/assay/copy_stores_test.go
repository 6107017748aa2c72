package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

// TestCopyMovesALogIntoTables: the schemes log and queue are in the command.
func TestCopyMovesALogIntoTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.ToSlash(filepath.Join(dir, name)) }
	db, err := kv.Open(t.Context(), "bbolt:"+path("app.db"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.Open(t.Context(), db.Namespace([]byte("z/")), &eventlog.Options{Streams: true})
	if err == nil {
		_, err = log.Append(t.Context(), kv.Synced, "order-1", eventlog.Any, eventlog.Draft{Type: "Placed", Data: []byte("{}")})
	}
	if err = errors.Join(err, log.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"copy", "log:" + path("app.db") + "?prefix=z/", "log:" + path("events.db") + "?form=sql"}, 0,
			"copied and verified 2 pairs"},
		{[]string{"verify", "log:" + path("app.db") + "?prefix=z/", "log:" + path("events.db")}, 0, "equal: 2 pairs"},
		{[]string{"verify", "log:" + path("app.db"), "log:" + path("events.db")}, 1, "hint: name the namespace"},
		{[]string{"inspect", "log:" + path("events.db"), "scan"}, 0, `order-1`},
		{[]string{"inspect", "log:" + path("events.db"), "check"}, 0, "no fault"},
		{[]string{"copy", "log:" + path("events.db"), "log:" + path("back")}, 2, "form=sql"},
	} {
		status, stdout, stderr := runAssay(t, c.args...)
		if status != c.status || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("assay %q: status %d, %s%s; want %d with %s", c.args, status, stdout, stderr, c.status, c.want)
		}
	}
	moved, err := sqllog.Open(t.Context(), filepath.Join(dir, "events.db"),
		&sqllog.Options{Options: eventlog.Options{Streams: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer moved.Close()
	if v, err := moved.StreamVersion(t.Context(), "order-1"); err != nil || v != 1 {
		t.Errorf("the stream has version %d, %v", v, err)
	}
}
