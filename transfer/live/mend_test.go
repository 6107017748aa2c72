package live_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer/live"
)

// TestDifferencesAreCountedAndMended changes the shadow behind the back of the switch.
func TestDifferencesAreCountedAndMended(t *testing.T) {
	change := func(t *testing.T) (dir, old, new string, want map[string]string) {
		dir, old, new = urls(t, "sqlite", "pebble")
		want = fill(t, old, 500)
		db, s := open(t, dir, old, new)
		_, err := s.Compare(t.Context())
		must(t, errors.Join(err, db.Close()))
		db, err = kv.Open(t.Context(), new)
		must(t, err)
		must(t, db.Update(t.Context(), kv.Synced, func(tx *kv.Tx) error {
			return errors.Join(tx.Put([]byte("before/000100"), []byte("another")), tx.Delete([]byte("before/000200")),
				tx.Put([]byte("nobody"), []byte("wrote this")))
		}))
		must(t, db.Close())
		return dir, old, new, want
	}
	t.Run("Compare", func(t *testing.T) {
		dir, _, new, want := change(t)
		db, s := open(t, dir, "", "")
		err := s.Move(t.Context(), live.Flipped)
		if !errors.Is(err, kv.Conflict) {
			t.Errorf("a move to a store that differs: %v", err)
		}
		st := s.Status()
		var keys []string
		for _, d := range st.First {
			keys = append(keys, fmt.Sprintf("%s %v %v", d.Key, d.A != nil, d.B != nil))
		}
		if text := strings.Join(keys, ", "); st.Differing != 3 ||
			text != "before/000100 true true, before/000200 true false, nobody false true" {
			t.Errorf("%d differ: %s", st.Differing, text)
		}
		must(t, s.Move(t.Context(), live.Flipped))
		must(t, db.Close())
		holds(t, new, want)
	})
	for name, read := range map[string]func(s *kv.Snapshot){
		"Get of a value":       func(s *kv.Snapshot) { _, _ = s.Get([]byte("before/000100")) },
		"Get of what it lacks": func(s *kv.Snapshot) { _, _ = s.Get([]byte("before/000200")) },
		"Get of what nobody wrote": func(s *kv.Snapshot) {
			if _, err := s.Get([]byte("nobody")); err != kv.NotFound {
				t.Errorf("got %v", err)
			}
		},
		"Scan": func(s *kv.Snapshot) {
			for range s.Scan(kv.Range{}) {
			}
		},
		"Scan back": func(s *kv.Snapshot) {
			for range s.Scan(kv.Range{Reverse: true}) {
			}
		},
		"Keys": func(s *kv.Snapshot) {
			for range s.Keys(kv.Range{}) {
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _, new, want := change(t)
			db, s := open(t, dir, "", "")
			must(t, db.View(t.Context(), func(s *kv.Snapshot) error { read(s); return nil }))
			if st := s.Status(); st.Differing != 1 || st.Err == nil {
				t.Errorf("%+v", st)
			}
			if st, err := s.Compare(t.Context()); err != nil || st.Mended != 3 || !st.InStep {
				t.Errorf("mended: %+v, %v", st, err)
			}
			must(t, db.Close())
			holds(t, new, want)
		})
	}
}

// TestWhatTheShadowCannotHold never keeps the program from writing it, and keeps the switch from
// flipping.
func TestWhatTheShadowCannotHold(t *testing.T) {
	dir, old, new := urls(t, "pebble", "bbolt")
	want := fill(t, old, 10)
	db, s := open(t, dir, old, new)
	_, err := s.Compare(t.Context())
	must(t, err)
	long := bytes.Repeat([]byte("k"), 40_000) // bbolt takes 32,768
	must(t, db.Put(t.Context(), kv.Synced, long, []byte("v")))
	if st := s.Status(); st.Missed != 1 || st.InStep || !errors.Is(st.Err, kv.TooLarge) {
		t.Errorf("%+v", st)
	}
	if err := s.Move(t.Context(), live.Flipped); !errors.Is(err, kv.TooLarge) {
		t.Errorf("a move: %v", err)
	}
	must(t, db.Delete(t.Context(), kv.Synced, long))
	must(t, db.Put(t.Context(), kv.Synced, []byte("short"), nil))
	want["short"] = ""
	must(t, s.Move(t.Context(), live.Flipped))
	if err := db.Put(t.Context(), kv.Synced, long, []byte("v")); !errors.Is(err, kv.TooLarge) {
		t.Errorf("a key that the truth cannot hold now: %v", err)
	}
	must(t, db.Close())
	holds(t, old, want)
	holds(t, new, want)
}

// TestADamagedShadow keeps nobody from the truth, and is filled anew once it is removed.
func TestADamagedShadow(t *testing.T) {
	dir, old, new := urls(t, "bbolt", "sqlite")
	want := fill(t, old, 500)
	db, s := open(t, dir, old, new)
	_, err := s.Compare(t.Context())
	must(t, errors.Join(err, db.Close()))
	path, err := kv.PathOf(new)
	must(t, err)
	must(t, os.WriteFile(path, bytes.Repeat([]byte("rubbish "), 5000), 0o600))
	db, s = open(t, dir, old, new)
	must(t, db.Put(t.Context(), kv.Synced, []byte("after"), []byte("1")))
	want["after"] = "1"
	st, err := s.Compare(t.Context())
	if !errors.Is(err, kv.Stopped) || st.InStep || st.Err == nil {
		t.Errorf("compared with a damaged shadow: %+v, %v", st, err)
	}
	if err := s.Move(t.Context(), live.Flipped); !errors.Is(err, kv.Stopped) {
		t.Errorf("moved to a damaged shadow: %v", err)
	}
	must(t, errors.Join(db.Close(), os.Remove(path)))
	db, s = open(t, dir, old, new)
	must(t, s.Move(t.Context(), live.Flipped))
	must(t, db.Close())
	holds(t, new, want)
}
