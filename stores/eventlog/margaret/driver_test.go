package margaret_test

import (
	"errors"
	"path/filepath"
	"testing"

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
	if size, err := db.Size(); err != nil || size.Files != 4 {
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
