package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
)

func commitsOfOthersAreCountedAndNotOnesOwn(t *testing.T, engine string) {
	for _, journal := range []string{"WAL", "DELETE"} {
		path := filepath.Join(t.TempDir(), "db")
		db := open(t, engine, path, "?journal_mode="+journal)
		other := open(t, engine, path, "")
		foreign := func(when string, want int64) {
			t.Helper()
			for _, f := range db.Figures() {
				if f.Name == kv.Foreign {
					if f.Value != want {
						t.Errorf("%s, %s: %d, want %d", journal, when, f.Value, want)
					}
					return
				}
			}
			t.Errorf("%s, %s: not told", journal, when)
		}
		foreign("at first", 0)
		put(t, db, "own", "1")
		foreign("after a commit of one's own", 0)
		put(t, db, "own", "2")
		if err := db.View(t.Context(), func(*kv.Snapshot) error { return nil }); err != nil {
			t.Fatal(err)
		}
		foreign("after more", 0)
		put(t, other, "theirs", "1")
		foreign("after another's commit", 1)
		foreign("after nothing", 1)
		put(t, other, "theirs", "2")
		put(t, db, "own", "3")
		put(t, other, "theirs", "3")
		foreign("after commits of both", 2)

		// Snapshots take connections, so that another one writes.
		var held []*kv.Snapshot
		for range 3 {
			if journal == "WAL" {
				s, err := db.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				held = append(held, s)
			}
			put(t, db, "own", "4")
			foreign("after own commits by other connections", 2)
			put(t, db, "own", "5")
			foreign("after one more", 2)
		}
		for _, s := range held {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			put(t, db, "own", "6")
			foreign("after the end of a snapshot", 2)
		}
		if err := db.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		foreign("after a compaction of one's own", 2)
	}
}

// commitsOfOthersAreCountedBetweenOnesOwn has another handle commit where no look came between its
// commit and those of the one that counts.
func commitsOfOthersAreCountedBetweenOnesOwn(t *testing.T, engine string) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, engine, path, "?journal_mode=WAL")
	other := open(t, engine, path, "")
	foreign := func(when string, want int64) {
		t.Helper()
		for _, f := range db.Figures() {
			if f.Name == kv.Foreign && f.Value != want {
				t.Errorf("%s: %d, want %d", when, f.Value, want)
			}
		}
	}
	snapshot := func() *kv.Snapshot {
		s, err := db.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	closed := func(s *kv.Snapshot) {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	put(t, db, "own", "1")
	put(t, other, "theirs", "1")
	foreign("between the first commit and the first look", 1)

	// Two connections, both idle: another one writes than before.
	first := snapshot()
	put(t, db, "own", "2")
	closed(first)
	first = snapshot()
	second := snapshot()
	closed(second)
	closed(first)
	foreign("after own commits", 1)
	put(t, other, "theirs", "2")
	put(t, db, "own", "3")
	foreign("before another connection writes", 2)
	put(t, other, "theirs", "3")
	foreign("after another connection wrote", 3)
}

func checkpointsAreCounted(t *testing.T, engine string) {
	db := open(t, engine, filepath.Join(t.TempDir(), "db"), "?wal_autocheckpoint=4")
	figures := func() map[string]int64 {
		all := map[string]int64{}
		for _, f := range db.Figures() {
			all[f.Name] = f.Value
		}
		return all
	}
	put(t, db, "key", "value")
	before := figures()
	if before[kv.LogBytes] == 0 {
		t.Errorf("a log with a commit has no bytes: %v", before)
	}
	for i := range 20 { // the same value again would not be written
		put(t, db, "key", fmt.Sprint("value ", i))
	}
	if after := figures(); after[kv.Checkpoints] <= before[kv.Checkpoints] {
		t.Errorf("20 commits with a checkpoint after 4 pages: %v, before %v", after, before)
	}
}
