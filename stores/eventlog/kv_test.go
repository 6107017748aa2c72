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
