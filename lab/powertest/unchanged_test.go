package powertest_test

import (
	"context"
	"path/filepath"
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	_ "github.com/assaydb/assay/engines/sqlitewasmkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
)

// TestASyncedCommitOfWhatIsThereAlready: what a weaker commit has written, a synced one writes
// again. It is acknowledged as synced, so that a power loss takes it no more.
func TestASyncedCommitOfWhatIsThereAlready(t *testing.T) {
	for _, c := range []struct {
		url, options string
		class        kv.Durability
	}{
		{"sqlite", "", kv.Flushed}, {"sqlite", "?journal_mode=DELETE", kv.Flushed},
		{"sqlite-wasm", "", kv.Flushed},
		{"bunt", "", kv.Flushed}, {"pebble", "", kv.Buffered}, {"bbolt", "", kv.Flushed}, {"leveldb", "", kv.Flushed},
	} {
		for _, deleted := range []bool{false, true} {
			name := c.url + c.options + " put"
			if deleted {
				name = c.url + c.options + " delete"
			}
			t.Run(name, func(t *testing.T) {
				ctx := context.Background()
				disk := powertest.NewDisk(t, nil)
				url := func(dir string) string {
					return c.url + ":" + filepath.ToSlash(filepath.Join(dir, "store")) + c.options
				}
				db, err := kv.Open(ctx, url(disk.Dir()), kv.WithWeakest(c.class))
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				key := []byte("k")
				write := func(class kv.Durability) {
					t.Helper()
					var err error
					if deleted {
						err = db.Delete(ctx, class, key)
					} else {
						err = db.Put(ctx, class, key, []byte("new"))
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := db.Put(ctx, kv.Synced, key, []byte("old")); err != nil {
					t.Fatal(err)
				}
				write(c.class)
				write(kv.Synced)
				left, err := kv.Open(ctx, url(disk.Cut(t)))
				if err != nil {
					t.Fatal(err)
				}
				defer left.Close()
				v, err := left.Get(ctx, key)
				if !deleted && string(v) != "new" || deleted && err == nil {
					t.Errorf("behind the power loss there is %q, %v", v, err)
				}
			})
		}
	}
}
