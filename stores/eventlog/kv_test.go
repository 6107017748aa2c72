package eventlog_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/logtest"
	_ "github.com/assaydb/assay/stores/internal/aborts"
	"github.com/assaydb/assay/stores/internal/frame"
)

// Functions of transactions that meet others run again.
func TestAborts(t *testing.T) { logtest.Run(t, logtest.OnKV(t, "mem-aborts", "")) }

func TestMem(t *testing.T)     { logtest.Run(t, logtest.OnKV(t, "mem", "")) }
func TestBolt(t *testing.T)    { logtest.Run(t, logtest.OnKV(t, "bbolt", "")) }
func TestPebble(t *testing.T)  { logtest.Run(t, logtest.OnKV(t, "pebble", "")) }
func TestLevelDB(t *testing.T) { logtest.Run(t, logtest.OnKV(t, "leveldb", "")) }
func TestBadger(t *testing.T)  { logtest.Run(t, logtest.OnKV(t, "badger", "")) }

// Opened like this it delivers no Synced, and reserves nothing: what it promises is what survives a
// kill.
func TestBadgerFlushed(t *testing.T) {
	logtest.Run(t, logtest.OnKV(t, "badger", "?durability=flushed"))
}

func TestBunt(t *testing.T)   { logtest.Run(t, logtest.OnKV(t, "bunt", "")) }
func TestSQLite(t *testing.T) { logtest.Run(t, logtest.OnKV(t, "sqlite", "")) }

func TestNamespace(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:namespace")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, name := range []string{"a/", "b/"} {
		log, err := eventlog.Open(t.Context(), db.Namespace([]byte(name)), nil)
		if err != nil {
			t.Fatal(err)
		}
		done, err := log.Append(t.Context(), kv.Buffered, "", eventlog.Position(0), eventlog.Draft{Type: "T"})
		if err != nil || done.First != 1 {
			t.Errorf("two logs in one store: %+v, %v, want position 1", done, err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	var keys []string
	err = db.View(t.Context(), func(s *kv.Snapshot) error {
		for key := range s.Scan(kv.Range{}) {
			keys = append(keys, string(key))
		}
		return nil
	})
	want := []string{"a/e\x00\x00\x00\x00\x00\x00\x00\x01", "a/m", "b/e\x00\x00\x00\x00\x00\x00\x00\x01", "b/m"}
	if err != nil || !slices.Equal(keys, want) {
		t.Errorf("keys %q, %v, want %q", keys, err, want)
	}
}

// TestFollowEndsWithItsContext: also where the end comes amid a wait for another transaction.
func TestFollowEndsWithItsContext(t *testing.T) {
	db, err := kv.Open(t.Context(), "bunt:"+filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log, err := eventlog.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin(t.Context(), kv.Flushed)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for _, partitions := range []int{0, 2} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		err := log.Follow(ctx, "workers", func(context.Context, eventlog.Event) error { return nil },
			&eventlog.FollowOptions{Partitions: partitions})
		cancel()
		if kv.KindOf(err) != kv.Canceled {
			t.Errorf("%d partitions: got %v, want canceled", partitions, err)
		}
	}
}

// A call whose context ends while another process has the store is Canceled, whatever it does.
func TestACallThatItsContextEndsAmidAWaitIsCanceled(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "log")
	var tracer frame.AtALock
	db, err := kv.Open(t.Context(), url, kv.WithTracer(&tracer))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log, err := eventlog.Open(t.Context(), db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	draft := eventlog.Draft{Type: "T"}
	sub, err := log.Subscribe(t.Context(), "reader")
	if err == nil {
		_, err = log.Append(t.Context(), kv.Flushed, "", eventlog.Any, draft, draft)
	}
	if err != nil {
		t.Fatal(err)
	}
	tracer.WantCanceled(t, url, map[string]func(context.Context) error{
		"append": func(ctx context.Context) error {
			_, err := log.Append(ctx, kv.Flushed, "", eventlog.Any, draft)
			return err
		},
		"append of parts": func(ctx context.Context) error {
			_, err := log.AppendParts(ctx, kv.Flushed, eventlog.Part{Stream: "a", Events: []eventlog.Draft{draft}})
			return err
		},
		"ack":       func(ctx context.Context) error { return sub.Ack(ctx, kv.Flushed, 1) },
		"truncate":  func(ctx context.Context) error { return log.Truncate(ctx, kv.Flushed, 2) },
		"subscribe": func(ctx context.Context) error { _, err := log.Subscribe(ctx, "new"); return err },
		"follow": func(ctx context.Context) error {
			return log.Follow(ctx, "follower", func(context.Context, eventlog.Event) error { return nil }, nil)
		},
	})
}
