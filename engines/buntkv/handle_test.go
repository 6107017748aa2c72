package buntkv_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/engines/buntkv"
	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
)

func TestOpenTakesBuntDBsConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, err := buntkv.Open(ctx, path, &buntdb.Config{SyncPolicy: buntdb.Always, AutoShrinkDisabled: true}, kv.MustDeliver(kv.Synced))
	if err != nil {
		t.Fatal(err)
	}
	if p := db.Caps().Promise(kv.Flushed); p.Class != kv.Synced || !p.KillAtomic {
		t.Errorf("flushed promises %+v", p)
	}
	put(t, db, "a=1")
	h, ok := buntkv.Handle(db)
	if !ok {
		t.Fatal("no handle")
	}
	err = h.View(func(tx *buntdb.Tx) error {
		if v, err := tx.Get("a"); v != "1" || err != nil {
			t.Errorf("got %q, %v", v, err)
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Error(err)
	}
	if _, err := buntkv.Open(ctx, path, &buntdb.Config{OnExpiredSync: func(_, _ string, _ *buntdb.Tx) error { return nil }}); !errors.Is(err, kv.Unsupported) {
		t.Errorf("OnExpiredSync: %v", err)
	}
	db, err = buntkv.Open(ctx, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := all(t, db, kv.Range{}); len(got) != 1 {
		t.Errorf("got %q", got)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestHandleIsOfThisEngineOnly(t *testing.T) {
	db, err := kv.Open(ctx, "mem:", kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, ok := buntkv.Handle(db); ok {
		t.Error("a handle of another engine")
	}
}

func TestWrapLeavesTheDatabaseToTheProgram(t *testing.T) {
	for _, path := range []string{":memory:", filepath.Join(t.TempDir(), "db")} {
		h, err := buntdb.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		db, err := buntkv.Wrap(h)
		if err != nil {
			t.Fatal(err)
		}
		want := kv.Flushed
		if path == ":memory:" {
			want = kv.Buffered
		}
		if p := db.Caps().Promise(kv.Buffered); p.Class != want || db.Caps().Promise(kv.Synced).Supported {
			t.Errorf("%s: %+v", path, db.Caps().Promises)
		}
		if err := db.Put(ctx, kv.Buffered, []byte("a"), []byte("1")); err != nil {
			t.Fatal(err)
		}
		backup := filepath.Join(t.TempDir(), "backup")
		if err := db.Backup(ctx, backup); path != ":memory:" && err != nil {
			t.Error(err)
		}
		if err := errors.Join(db.Check(ctx), db.Compact(ctx), db.Close()); err != nil {
			t.Error(err)
		}
		err = h.View(func(tx *buntdb.Tx) error {
			if v, err := tx.Get("a"); v != "1" || err != nil {
				t.Errorf("%s: got %q, %v", path, v, err)
			}
			return nil
		})
		if err := errors.Join(err, h.Close()); err != nil {
			t.Error(err)
		}
		if path != ":memory:" {
			if got := all(t, open(t, backup, ""), kv.Range{}); len(got) != 1 {
				t.Errorf("the backup holds %q", got)
			}
		}
	}
}
