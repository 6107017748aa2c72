package eventlog_test

import (
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// A stream whose events were removed keeps one entry in the index, for its version. When it goes on
// that entry is no fault of the log.
func TestAStreamThatGoesOnAfterATruncationIsDumped(t *testing.T) {
	ctx := t.Context()
	db, err := kv.Open(ctx, "bbolt:"+filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log, err := eventlog.Open(ctx, db, &eventlog.Options{Streams: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, stream := range []string{"a", "a", "ended", "b", "b"} {
		if _, err := log.Append(ctx, kv.Synced, stream, eventlog.Any, eventlog.Draft{Type: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Truncate(ctx, kv.Synced, 5); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(ctx, kv.Synced, "a", eventlog.Version(2), eventlog.Draft{Type: "t"}); err != nil {
		t.Fatal(err)
	}
	var events, ended []string
	err = db.View(ctx, func(s *kv.Snapshot) error {
		return eventlog.Dump(s, func(p *eventlog.Item) error {
			switch p.Kind {
			case eventlog.EventItem:
				events = append(events, p.Event.Stream)
			case eventlog.EndedItem:
				ended = append(ended, p.Name)
			}
			return nil
		})
	})
	if err != nil || len(events) != 2 || len(ended) != 1 || ended[0] != "ended" {
		t.Errorf("events of %q, ended %q, %v, want two events, and one stream that has ended", events, ended, err)
	}
}
