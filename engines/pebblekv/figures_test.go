package pebblekv_test

import (
	"testing"

	"github.com/assaydb/assay/kv"
)

func TestFiguresCountSyncsAndTheLog(t *testing.T) {
	db := open(t, "pebble:"+t.TempDir()+"/db")
	figures := func() map[string]int64 {
		all := map[string]int64{}
		for _, f := range db.Figures() {
			all[f.Name] = f.Value
		}
		return all
	}
	before := figures()
	for range 5 {
		if err := db.Put(t.Context(), kv.Synced, []byte("k"), make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	after := figures()
	// Pebble counts the last one after its commit has returned.
	if syncs := after[kv.Syncs] - before[kv.Syncs]; syncs < 4 || after[kv.SyncTime] <= before[kv.SyncTime] {
		t.Errorf("5 synced commits, one after the other: %d syncs, figures %v", syncs, after)
	}
	if after[kv.LogBytes] < before[kv.LogBytes]+5000 {
		t.Errorf("the log grew from %d to %d bytes by 5 values of 1000", before[kv.LogBytes], after[kv.LogBytes])
	}
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := figures(); after[kv.Checkpoints] == before[kv.Checkpoints] {
		t.Errorf("a compaction wrote no table out: %v", after)
	}
}
