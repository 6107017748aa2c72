package feed_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/eventlog/feedtest"
	_ "github.com/assaydb/assay/stores/internal/aborts"
)

// Functions of transactions that meet others run again.
func TestAborts(t *testing.T) { feedtest.Run(t, feedtest.OnKV(t, "mem-aborts", "", nil)) }

func TestMem(t *testing.T)     { feedtest.Run(t, feedtest.OnKV(t, "mem", "", nil)) }
func TestBolt(t *testing.T)    { feedtest.Run(t, feedtest.OnKV(t, "bbolt", "", nil)) }
func TestPebble(t *testing.T)  { feedtest.Run(t, feedtest.OnKV(t, "pebble", "", nil)) }
func TestLevelDB(t *testing.T) { feedtest.Run(t, feedtest.OnKV(t, "leveldb", "", nil)) }
func TestBadger(t *testing.T)  { feedtest.Run(t, feedtest.OnKV(t, "badger", "", nil)) }
func TestBunt(t *testing.T)    { feedtest.Run(t, feedtest.OnKV(t, "bunt", "", nil)) }
func TestSQLite(t *testing.T)  { feedtest.Run(t, feedtest.OnKV(t, "sqlite", "", nil)) }

func TestMemZstd(t *testing.T)    { feedtest.Run(t, feedtest.OnKV(t, "mem", "", small)) }
func TestBoltZstd(t *testing.T)   { feedtest.Run(t, feedtest.OnKV(t, "bbolt", "", small)) }
func TestPebbleZstd(t *testing.T) { feedtest.Run(t, feedtest.OnKV(t, "pebble", "", small)) }
func TestBadgerZstd(t *testing.T) {
	if testing.Short() {
		t.Skip("to open Badger takes long")
	}
	feedtest.Run(t, feedtest.OnKV(t, "badger", "", small))
}

func TestBuntZstd(t *testing.T)   { feedtest.Run(t, feedtest.OnKV(t, "bunt", "", small)) }
func TestSQLiteZstd(t *testing.T) { feedtest.Run(t, feedtest.OnKV(t, "sqlite", "", small)) }

// small makes many blocks of few messages.
var small = &feed.Options{Compression: feed.Zstd, Block: 2 << 10}
