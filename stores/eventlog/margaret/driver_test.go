package margaret_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/assaydb/assay/engines/levelkv"
	"github.com/assaydb/assay/kv"
)

func TestALogIsOpenedByURLAndHasNoKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	db, err := kv.Open(ctx(), "margaret:"+filepath.ToSlash(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := kv.Open(ctx(), "margaret:"+filepath.ToSlash(dir)+"?wait=0s"); !errors.Is(err, kv.Busy) {
		t.Errorf("opened twice: %v, want Busy", err)
	}
	if err := db.Check(ctx()); err != nil {
		t.Error(err)
	}
	if size, err := db.Size(); err != nil || size.Files != 5 {
		t.Errorf("size %+v, %v", size, err)
	}
	put := db.Update(ctx(), kv.Synced, func(tx *kv.Tx) error { return tx.Put([]byte("k"), nil) })
	for _, err := range []error{put, db.View(ctx(), func(*kv.Snapshot) error { return nil }),
		db.Backup(ctx(), dir+"-copy")} {
		if !errors.Is(err, kv.Unsupported) || kv.HintOf(err) == "" {
			t.Errorf("error %v, want Unsupported with a hint", err)
		}
	}
}

// TestAFolderOfAnEngineIsNoLog: opening it as one would make the files of a log there.
func TestAFolderOfAnEngineIsNoLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	db, err := kv.Open(ctx(), "leveldb:"+filepath.ToSlash(dir))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Open(ctx(), "margaret:"+filepath.ToSlash(dir)); !errors.Is(err, kv.Invalid) ||
		!strings.Contains(err.Error(), "a store of leveldb") {
		t.Errorf("opened as a log: %v", err)
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("there are %v, and were %v: %v", after, before, err)
	}
}
