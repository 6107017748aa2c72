package record_test

import (
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	_ "github.com/assaydb/assay/kv/memkv"
	_ "github.com/assaydb/assay/stores/internal/aborts"
	"github.com/assaydb/assay/stores/record"
	"github.com/assaydb/assay/stores/record/recordtest"
)

// Functions of transactions that meet others run again.
func TestAborts(t *testing.T) {
	recordtest.Run(t, recordtest.OnKV(t, "mem-aborts", "", record.Binary))
}

func TestMem(t *testing.T)     { recordtest.Run(t, recordtest.OnKV(t, "mem", "", record.Binary)) }
func TestBolt(t *testing.T)    { recordtest.Run(t, recordtest.OnKV(t, "bbolt", "", record.Binary)) }
func TestPebble(t *testing.T)  { recordtest.Run(t, recordtest.OnKV(t, "pebble", "", record.Binary)) }
func TestLevelDB(t *testing.T) { recordtest.Run(t, recordtest.OnKV(t, "leveldb", "", record.Binary)) }
func TestBadger(t *testing.T)  { recordtest.Run(t, recordtest.OnKV(t, "badger", "", record.Binary)) }
func TestBunt(t *testing.T)    { recordtest.Run(t, recordtest.OnKV(t, "bunt", "", record.Binary)) }
func TestSQLite(t *testing.T)  { recordtest.Run(t, recordtest.OnKV(t, "sqlite", "", record.Binary)) }

// The codec does not see the engine.
func TestJSON(t *testing.T) { recordtest.Run(t, recordtest.OnKV(t, "mem", "", record.JSON)) }
func TestJSONSQLite(t *testing.T) {
	if testing.Short() {
		t.Skip("the same runs in memory")
	}
	recordtest.Run(t, recordtest.OnKV(t, "sqlite", "", record.JSON))
}
