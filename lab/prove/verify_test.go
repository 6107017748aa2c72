package prove

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
)

// TestPagesThatLeadInACircleEnd reads a bbolt file in which a page with children has itself for the
// last of them, as a crash may leave it where nothing is promised. A scan of it never ends.
func TestPagesThatLeadInACircleEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // for who reads on
	defer cancel()
	spec := storeSpec{Entry: bench.Entry{Engine: "bbolt"}, Dir: t.TempDir(), Class: kv.Flushed}
	path := filepath.Join(spec.Dir, "store")
	db, err := kv.Open(ctx, "bbolt:"+path)
	if err != nil {
		t.Fatal(err)
	}
	var batch kv.Batch
	for n := range uint64(1000) {
		batch.Put(kv.AppendUint64(nil, n), make([]byte, 100))
	}
	if err := db.Write(ctx, kv.Synced, &batch); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if o := examine(ctx, spec, past{}); !strings.Contains(o.Broken, "written by nobody") {
		t.Fatalf("whole: %+v", o)
	}
	leadInACircle(t, path)
	// Who looked a counter up would go down for ever.
	if o := examine(ctx, spec, newPast(1, 1)); !o.Gone || !strings.Contains(o.Broken, "stands behind") {
		t.Fatalf("%+v", o)
	}
}

// leadInACircle makes the root of the pairs of a bbolt file its own last child.
func leadInACircle(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var root uint64
	if err := db.View(func(tx *bolt.Tx) error {
		root = uint64(tx.Bucket([]byte("kv")).Root())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	at := int(root) * db.Info().PageSize
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const header, element, ofChild, branch = 16, 16, 8, 1 // of bbolt's pages
	page := data[at:]
	if flags := binary.NativeEndian.Uint16(page[8:]); flags != branch {
		t.Fatalf("the root has no children: flags %#x", flags)
	}
	children := int(binary.NativeEndian.Uint16(page[10:]))
	binary.NativeEndian.PutUint64(page[header+(children-1)*element+ofChild:], root)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
