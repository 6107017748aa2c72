package feed_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/feedtest"
	"github.com/assaydb/assay/stores/internal/frame"
)

func TestMem(t *testing.T)     { feedtest.Run(t, target(t, "mem", nil)) }
func TestBolt(t *testing.T)    { feedtest.Run(t, target(t, "bbolt", nil)) }
func TestPebble(t *testing.T)  { feedtest.Run(t, target(t, "pebble", nil)) }
func TestLevelDB(t *testing.T) { feedtest.Run(t, target(t, "leveldb", nil)) }
func TestBadger(t *testing.T)  { feedtest.Run(t, target(t, "badger", nil)) }
func TestBunt(t *testing.T)    { feedtest.Run(t, target(t, "bunt", nil)) }
func TestSQLite(t *testing.T)  { feedtest.Run(t, target(t, "sqlite", nil)) }

func TestMemZstd(t *testing.T)    { feedtest.Run(t, target(t, "mem", small)) }
func TestBoltZstd(t *testing.T)   { feedtest.Run(t, target(t, "bbolt", small)) }
func TestPebbleZstd(t *testing.T) { feedtest.Run(t, target(t, "pebble", small)) }
func TestBadgerZstd(t *testing.T) {
	if testing.Short() {
		t.Skip("to open Badger takes long")
	}
	feedtest.Run(t, target(t, "badger", small))
}

func TestBuntZstd(t *testing.T)   { feedtest.Run(t, target(t, "bunt", small)) }
func TestSQLiteZstd(t *testing.T) { feedtest.Run(t, target(t, "sqlite", small)) }

// small makes many blocks of few messages.
var small = &feed.Options{Compression: feed.Zstd, Block: 2 << 10}

// target describes the feed kept in an engine, asking an open store what it promises.
func target(t *testing.T, engine string, o *feed.Options) feedtest.Target {
	probe := frame.Probe(t, engine+":"+filepath.Join(t.TempDir(), "probe"))
	return feedtest.Target{
		Open: func(dir string) (*feed.Feed, func() error, error) {
			return open(engine+":"+filepath.Join(dir, "feed"), o)
		},
		Delivers:  probe.Delivers,
		Volatile:  probe.Volatile,
		Processes: probe.Processes,
		Brief:     probe.Brief || o != nil && engine != "mem",
	}
}

func open(url string, o *feed.Options) (*feed.Feed, func() error, error) {
	db, err := kv.Open(context.Background(), url, kv.WithWait(frame.Patience))
	if err != nil {
		return nil, nil, err
	}
	f, err := feed.Open(context.Background(), db, o)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return f, func() error { return errors.Join(f.Close(), db.Close()) }, nil
}
