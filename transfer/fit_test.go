package transfer_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
)

// TestShortPairs: as many short pairs as a megabyte holds are more than a transaction of Badger.
func TestShortPairs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := "pebble:"+filepath.Join(dir, "old"), "badger:"+filepath.Join(dir, "new")
	const n = 150_000
	db, err := kv.Open(t.Context(), from, kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	for i := range uint32(n) {
		b.Put(binary.BigEndian.AppendUint32(nil, i)[1:], nil)
	}
	if err := errors.Join(db.Write(t.Context(), kv.Buffered, &b), db.Close()); err != nil {
		t.Fatal(err)
	}
	if report := copied(t, from, to, nil); report.Pairs != n {
		t.Errorf("%d pairs were copied, want %d", report.Pairs, n)
	}
}

// TestLooksOnlyForWhatMayNotFit: where the source's engine holds nothing that the destination's
// does not, the source is read once.
func TestLooksOnlyForWhatMayNotFit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, engine := range []string{"bbolt", "pebble"} {
		from := engine + ":" + filepath.Join(dir, engine)
		db, err := kv.Open(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		var b kv.Batch
		for i := range 3 {
			b.Put(fmt.Append(nil, i), make([]byte, 1<<20))
		}
		if err := errors.Join(db.Write(t.Context(), kv.Synced, &b), db.Close()); err != nil {
			t.Fatal(err)
		}
		looked := false
		copied(t, from, "bbolt:"+filepath.Join(dir, "from-"+engine), &transfer.Options{
			Progress: func(p transfer.Progress) { looked = looked || p.Phase == "check" }})
		if want := engine == "pebble"; looked != want {
			t.Errorf("from %s to bbolt: it looked whether pairs fit: %v, want %v", engine, looked, want)
		}
	}
}
