package state_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/stores/internal/frame"
	"github.com/assaydb/assay/stores/state/statetest"
)

func TestBolt(t *testing.T) {
	statetest.Run(t, target(t, "bbolt", "", statetest.Target{Readers: true, Damage: true}))
}

func TestSQLite(t *testing.T) {
	statetest.Run(t, target(t, "sqlite", "", statetest.Target{Readers: true, Past: true, Damage: true, SQLite: true}))
}

func TestSQLiteDelete(t *testing.T) {
	statetest.Run(t, target(t, "sqlite", "?journal_mode=DELETE",
		statetest.Target{Readers: true, Past: true, SQLite: true, Slow: true}))
}

func TestBunt(t *testing.T) {
	statetest.Run(t, target(t, "bunt", "", statetest.Target{Damage: true, Slow: true}))
}
func TestPebble(t *testing.T) {
	statetest.Run(t, target(t, "pebble", "", statetest.Target{Slow: true}))
}
func TestLevelDB(t *testing.T) {
	statetest.Run(t, target(t, "leveldb", "", statetest.Target{Readers: true, Slow: true}))
}
func TestBadger(t *testing.T) {
	statetest.Run(t, target(t, "badger", "", statetest.Target{Readers: true, Slow: true}))
}

func target(t *testing.T, engine, params string, target statetest.Target) statetest.Target {
	t.Helper()
	frame.SkipAlike(t, engine)
	target.URL = func(dir string) string { return engine + ":" + dir + params }
	return target
}
