package bboltkv_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
)

// random returns how the maps of the file at path are to be read: bbolt's advice is that it is at
// random, which the kernel shows as a flag.
func random(t *testing.T, path string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(maps), path)
	_, flags, flagged := strings.Cut(after, "VmFlags:")
	if !found || !flagged {
		t.Skip("NOT TESTED: the kernel does not show flags of maps")
	}
	flags, _, _ = strings.Cut(flags, "\n")
	return strings.Contains(flags, " rr")
}

// filled returns a store of n pairs, whose values have size bytes, and its path.
func filled(t *testing.T, n, size int) (db *kv.DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.db")
	db, err := kv.Open(t.Context(), "bbolt:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	err = db.Update(t.Context(), kv.Flushed, func(tx *kv.Tx) error {
		for i := range n {
			if err := tx.Put(fmt.Appendf(nil, "%06d", i), make([]byte, size)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return db, path
}

func TestALongWalkReadsAhead(t *testing.T) {
	db, path := filled(t, 5000, 200)
	s, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var were []bool
	n := 0
	for range s.Scan(kv.Range{}) {
		if n++; n == 10 || n == 4000 {
			were = append(were, random(t, path))
		}
	}
	if were = append(were, random(t, path)); fmt.Sprint(were) != "[true false true]" {
		t.Errorf("at the 10th pair, the 4,000th and behind the walk the map is read at random: %v", were)
	}
}

// Keys alone are read without the pages of large values.
func TestKeysOfLargeValuesAreNoLongWalk(t *testing.T) {
	db, path := filled(t, 30, 100_000)
	err := db.View(t.Context(), func(s *kv.Snapshot) error {
		n := 0
		for range s.Keys(kv.Range{}) {
			if n++; n == 20 && !random(t, path) {
				t.Error("at the 20th key the kernel reads ahead")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
