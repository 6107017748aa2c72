package badgerkv

import (
	"math"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/assaydb/assay/kv/driver"
)

func TestWritesEndWithFullBeforeTheDiskIsFull(t *testing.T) {
	dir := t.TempDir()
	free, err := freeSpace(dir)
	if err != nil {
		t.Fatal(err)
	}
	if free == math.MaxInt64 {
		t.Skip("NOT TESTED: free space is not known on this system")
	}
	r := newRoom(dir, badger.DefaultOptions(dir).WithMemTableSize(1<<20))
	if err := r.take(1 << 10); err != nil {
		t.Errorf("with %d bytes free: %v", free, err)
	}
	r.reserve = math.MaxInt64 / 2 // more than any disk has
	for range 2 {
		if err := r.take(free); driver.KindOf(err) != driver.Full || driver.HintOf(err) == "" {
			t.Errorf("got %v, want Full with a hint", err)
		}
	}
	r.reserve = 0
	if err := r.take(1 << 10); err != nil {
		t.Errorf("when space is free again: %v", err)
	}
}
