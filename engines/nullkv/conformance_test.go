package nullkv_test

import (
	"context"
	"errors"
	"os"
	"testing"

	_ "github.com/assaydb/assay/engines/nullkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// The engine keeps nothing, so that drivertest does not apply to it.

func open(t *testing.T, url string) *kv.DB {
	t.Helper()
	db, err := kv.Open(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestNothingIsKept(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	for _, url := range []string{"null:", "null:some/path", "null:/no/such/folder/x?mode=ro"} {
		db := open(t, url)
		var b kv.Batch
		b.Put([]byte("k"), []byte("v"))
		for _, d := range driver.Durabilities {
			if db.Mode() == kv.ReadOnly {
				continue
			}
			if err := db.Write(ctx, d, &b); err != nil {
				t.Fatal(err)
			}
			err := db.Update(ctx, d, func(tx *kv.Tx) error { return tx.Put([]byte("k"), []byte("v")) })
			if err != nil {
				t.Fatal(err)
			}
		}
		err := db.View(ctx, func(s *kv.Snapshot) error {
			if _, err := s.Get([]byte("k")); !errors.Is(err, kv.NotFound) {
				t.Errorf("%s: get: %v, want NotFound", url, err)
			}
			for k := range s.Scan(kv.Range{}) {
				t.Errorf("%s: scan finds %q", url, k)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Check(ctx); err != nil {
			t.Errorf("%s: check: %v", url, err)
		}
		if err := db.Backup(ctx, "backup"); kv.KindOf(err) != kv.Unsupported {
			t.Errorf("%s: backup: got %v, want unsupported", url, err)
		}
	}
	if made, err := os.ReadDir("."); err != nil || len(made) > 0 {
		t.Errorf("the folder holds %v (%v), want nothing", made, err)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	ctx := context.Background()
	db := open(t, "null:")
	var b kv.Batch
	b.Put([]byte("k"), []byte("v"))
	key, buf := []byte("k"), make([]byte, 0, 8)
	put := func(tx *kv.Tx) error { return tx.Put(key, key) }
	get := func(s *kv.Snapshot) error {
		if _, err := s.Append(buf, key); !errors.Is(err, kv.NotFound) {
			return err
		}
		return nil
	}
	scan := func(s *kv.Snapshot) error {
		for range s.Scan(kv.Range{Start: key}) {
			return errors.New("a pair")
		}
		return nil
	}
	cases := map[string]func() error{
		"get":   func() error { return db.View(ctx, get) },
		"scan":  func() error { return db.View(ctx, scan) },
		"put":   func() error { return db.Update(ctx, kv.Synced, put) },
		"write": func() error { return db.Write(ctx, kv.Synced, &b) },
	}
	for name, op := range cases {
		var err error
		got := testing.AllocsPerRun(1000, func() { err = errors.Join(err, op()) })
		if err != nil || got != 0 {
			t.Errorf("%s: %v allocations (%v), want 0", name, got, err)
		}
	}
}
