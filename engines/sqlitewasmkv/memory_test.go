package sqlitewasmkv_test

import (
	"path/filepath"
	"testing"

	_ "github.com/assaydb/assay/engines/sqlitewasmkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// TestTheEndOfAConnectionsMemoryIsAnError was the end of the process: go-sqlite3 panics. What is
// written here is more than a connection may have, so that kv would refuse it.
func TestTheEndOfAConnectionsMemoryIsAnError(t *testing.T) {
	ctx := t.Context()
	db, err := kv.Open(ctx, "sqlite-wasm:"+filepath.Join(t.TempDir(), "p.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	large := make([]byte, 257<<20)
	tx, err := db.Driver().Begin(ctx, driver.Flushed)
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"put":    tx.Put([]byte("a"), large),
		"delete": tx.Delete(large),
	} {
		if kv.KindOf(err) != kv.TooLarge || kv.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q, want too large", what, err, kv.HintOf(err))
		}
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	if err := db.Put(ctx, kv.Flushed, []byte("a"), make([]byte, db.Caps().MaxValue+1)); kv.KindOf(err) != kv.TooLarge {
		t.Errorf("a value above the bound: %v", err)
	}
	if err := db.Put(ctx, kv.Flushed, []byte("a"), []byte("1")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
