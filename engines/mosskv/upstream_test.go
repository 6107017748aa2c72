package mosskv

import (
	"io"
	"testing"

	"github.com/couchbase/moss"
)

// What moss does by itself, and why this package goes around it. These tests pass as long as the
// faults are there.

// executed commits key=value through moss alone, and waits until it is written.
func executed(t *testing.T, c moss.Collection, key, value string) {
	t.Helper()
	b, err := c.NewBatch(1, len(key)+len(value))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Set([]byte(key), []byte(value)); err != nil {
		t.Fatal(err)
	}
	if err := c.ExecuteBatch(b, moss.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for stats, err := c.Stats(); stats.CurDirtyOps > 0; stats, err = c.Stats() {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func opened(t *testing.T, folder string) (*moss.Store, moss.Collection) {
	t.Helper()
	persist := moss.StorePersistOptions{CompactionConcern: moss.CompactionAllow}
	s, c, err := moss.OpenStoreCollection(folder, defaults(), persist)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// OpenStoreCollection closes the snapshot that it opened once more than it took it, after the first
// write: snapshots that are open then find nothing of what was in the file.
func TestMossLosesItsFirstState(t *testing.T) {
	folder := t.TempDir()
	s, c := opened(t, folder)
	executed(t, c, "a", "1")
	c.Close()
	s.Close()
	s, c = opened(t, folder)
	defer s.Close()
	defer c.Close()
	before, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	if v, err := before.Get([]byte("a"), moss.ReadOptions{}); string(v) != "1" || err != nil {
		t.Fatalf("before the first write: got %q, %v, want 1", v, err)
	}
	executed(t, c, "b", "2")
	if v, err := before.Get([]byte("a"), moss.ReadOptions{}); v != nil || err != nil {
		t.Errorf("got %q, %v: moss is mended, and so start can be moss's own OpenCollection", v, err)
	}
}

// A footer of which the first bytes alone were written ends the search for the one before it.
func TestMossStopsAtATornFooter(t *testing.T) {
	folder, file := made(t)
	f, _, next := atItsEnd(t, file)
	if _, err := f.WriteAt(moss.StoreMagicBeg, next); err != nil {
		t.Fatal(err)
	}
	o := defaults()
	if _, err := moss.ReadFooter(&o, f); err != io.EOF {
		t.Errorf("got %v: moss is mended, and so hasFooter need not cut", err)
	}
	holds(t, folder)
}
