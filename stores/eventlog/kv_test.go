package eventlog_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
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
	"github.com/assaydb/assay/stores/internal/frame"
)

func TestMem(t *testing.T)     { logtest.Run(t, target(t, "mem", "")) }
func TestBolt(t *testing.T)    { logtest.Run(t, target(t, "bbolt", "")) }
func TestPebble(t *testing.T)  { logtest.Run(t, target(t, "pebble", "")) }
func TestLevelDB(t *testing.T) { logtest.Run(t, target(t, "leveldb", "")) }
func TestBadger(t *testing.T)  { logtest.Run(t, target(t, "badger", "")) }

// Opened like this it delivers no Synced, and reserves nothing: what it promises is what survives a
// kill.
func TestBadgerFlushed(t *testing.T) { logtest.Run(t, target(t, "badger", "?durability=flushed")) }

func TestBunt(t *testing.T)   { logtest.Run(t, target(t, "bunt", "")) }
func TestSQLite(t *testing.T) { logtest.Run(t, target(t, "sqlite", "")) }

// target describes the log kept in an engine, asking an open store what it promises.
func target(t *testing.T, engine, params string) logtest.Target {
	probe := frame.Probe(t, engine+":"+filepath.Join(t.TempDir(), "probe")+params)
	return logtest.Target{
		Open: func(dir string, o eventlog.Options) (*eventlog.Log, func() error, error) {
			return open(engine+":"+filepath.Join(dir, "log")+params, o)
		},
		Join: joinKV,
		Lose: func(dir string, position uint64) error {
			return lose(engine+":"+filepath.Join(dir, "log")+params, position)
		},
		Delivers:  probe.Delivers,
		Volatile:  probe.Volatile,
		Processes: probe.Processes,
		Brief:     probe.Brief,
	}
}

// stores holds in which store each log is that was opened.
var stores sync.Map

func joinKV(ctx context.Context, log *eventlog.Log, d kv.Durability, fn func(tx *eventlog.Tx) error) error {
	db, _ := stores.Load(log)
	return db.(*kv.DB).Update(ctx, d, func(tx *kv.Tx) error {
		events, err := log.In(tx)
		if err != nil {
			return err
		}
		return fn(events)
	})
}

func open(url string, o eventlog.Options) (*eventlog.Log, func() error, error) {
	db, err := kv.Open(context.Background(), url, kv.WithWait(frame.Patience))
	if err != nil {
		return nil, nil, err
	}
	log, err := eventlog.Open(context.Background(), db, &o)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	stores.Store(log, db)
	return log, func() error {
		stores.Delete(log)
		return errors.Join(log.Close(), db.Close())
	}, nil
}

// lose deletes the events above position, each after the entry of its stream, if the log has one
// stream called s.
func lose(url string, position uint64) error {
	ctx := context.Background()
	db, err := kv.Open(ctx, url)
	if err != nil {
		return err
	}
	events := kv.Range{Start: kv.AppendUint64([]byte{'e'}, position+1), End: []byte{'f'}}
	entries := kv.Range{Start: kv.AppendUint64(kv.AppendString([]byte{'s'}, "s"), position+1), End: []byte{'t'}}
	err = db.Update(ctx, db.Caps().Cheapest(), func(tx *kv.Tx) error {
		return errors.Join(tx.DeleteRange(events), tx.DeleteRange(entries))
	})
	return errors.Join(err, db.Close())
}

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
