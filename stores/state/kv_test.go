package state_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/stores/state/statetest"
)

func TestBolt(t *testing.T) {
	statetest.Run(t, target("bbolt", "", statetest.Target{Readers: true, Damage: true}))
}

func TestSQLite(t *testing.T) {
	statetest.Run(t, target("sqlite", "", statetest.Target{Readers: true, Past: true, Damage: true, SQLite: true}))
}

func TestSQLiteDelete(t *testing.T) {
	statetest.Run(t, target("sqlite", "?journal_mode=DELETE",
		statetest.Target{Readers: true, Past: true, SQLite: true, Slow: true}))
}

func TestBunt(t *testing.T) {
	statetest.Run(t, target("bunt", "", statetest.Target{Damage: true, Slow: true}))
}
func TestPebble(t *testing.T) { statetest.Run(t, target("pebble", "", statetest.Target{Slow: true})) }
func TestLevelDB(t *testing.T) {
	statetest.Run(t, target("leveldb", "", statetest.Target{Readers: true, Slow: true}))
}
func TestBadger(t *testing.T) {
	statetest.Run(t, target("badger", "", statetest.Target{Readers: true, Slow: true}))
}

func target(engine, params string, t statetest.Target) statetest.Target {
	t.URL = func(dir string) string { return engine + ":" + dir + params }
	return t
}
