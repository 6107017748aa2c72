package powertest_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
)

// TestASyncedCommitCoversTheWeakerOnesBefore has the power fail right behind a synced commit.
// docs/durability.md says on which engines none before it is lost.
func TestASyncedCommitCoversTheWeakerOnesBefore(t *testing.T) {
	for _, c := range []struct {
		engine, options string
		class           kv.Durability
	}{
		{"sqlite", "", kv.Flushed},
		{"bunt", "", kv.Flushed},
		{"pebble", "?MemTableSize=262144", kv.Buffered},
		{"bbolt", "", kv.Flushed},
		{"leveldb", "?WriteBuffer=262144", kv.Flushed},
	} {
		t.Run(c.engine, func(t *testing.T) {
			ctx := context.Background()
			disk := powertest.NewDisk(t, nil)
			url := func(dir string) string {
				return c.engine + ":" + filepath.ToSlash(filepath.Join(dir, "store")) + c.options
			}
			db, err := kv.Open(ctx, url(disk.Dir()), kv.WithWeakest(c.class))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			n := 0
			for round := range 20 { // so that some logs have just been changed
				for range 5 + round {
					if err := db.Put(ctx, c.class, kv.AppendUint64(nil, uint64(n)), noise(4000, n)); err != nil {
						t.Fatal(err)
					}
					n++
				}
				if err := db.Put(ctx, kv.Synced, []byte("synced"), kv.AppendUint64(nil, uint64(n))); err != nil {
					t.Fatal(err)
				}
				missing, err := lost(ctx, url(disk.Cut(t)), n)
				switch {
				case err != nil:
					t.Fatalf("behind %d commits: %v", n, err)
				case missing > 0:
					t.Errorf("%d of %d commits before a synced one are lost", missing, n)
				}
			}
		})
	}
}

// noise returns n bytes that cannot be compressed.
func noise(n, seed int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	return b
}

// lost returns how many of the numbers below n are not in the store.
func lost(ctx context.Context, url string, n int) (missing int, err error) {
	db, err := kv.Open(ctx, url)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	if v, err := db.Get(ctx, []byte("synced")); err != nil || !bytes.Equal(v, kv.AppendUint64(nil, uint64(n))) {
		return 0, fmt.Errorf("the synced commit wrote %d, there is %x: %w", n, v, err)
	}
	for i := range n {
		has, err := db.Has(ctx, kv.AppendUint64(nil, uint64(i)))
		if err != nil {
			return 0, err
		}
		if !has {
			missing++
		}
	}
	return missing, nil
}
