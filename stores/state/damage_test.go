package state_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
)

// A bbolt page begins with its number (8 bytes), what it is (2), how many elements it has (2) and
// how many pages follow it (4). An element of a leaf begins with its flags.
const (
	pageSize     = 4096
	pageKind     = 8
	pageFollowed = 12
	firstElement = 16
	leafKind     = 2
)

// boltDamages are two that no reading of entries meets.
var boltDamages = map[string]func(page []byte){
	// A commit that lets go of the page meets pages that are free already: it is in doubt, and
	// behind that is damage.
	"met in a commit": func(page []byte) {
		if page[pageKind] == leafKind {
			binary.LittleEndian.PutUint32(page[pageFollowed:], 8)
		}
	},
	// The bucket of the entries is none: it looks like another program's file.
	"met among the buckets": func(page []byte) {
		if page[pageKind] == leafKind && string(page[firstElement+16:][:2]) == "kv" {
			page[firstElement] = 0
		}
	},
}

// Damage is told as such, whatever it looks like, and a damaged cache is replaced.
func TestDamageThatLooksLikeSomethingElse(t *testing.T) {
	for what, damage := range boltDamages {
		for kind, name := range map[state.Kind]string{state.State: "state.db", state.Cache: "cache.db"} {
			t.Run(what+" of "+name, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, name)
				buckets := []state.Bucket{{Name: "b", Kind: kind}}
				store, err := state.New("bbolt:"+dir+"?PageSize=4096", &state.Options{Buckets: buckets})
				if err != nil {
					t.Fatal(err)
				}
				put := func(i int) error {
					return store.Put(t.Context(), "b", fmt.Appendf(nil, "%03d", i),
						make([]byte, 100))
				}
				for i := range 100 {
					if err := put(i); err != nil {
						t.Fatal(err)
					}
				}
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for at := 2 * pageSize; at < len(data); at += pageSize {
					damage(data[at : at+pageSize])
				}
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				switch err := put(1); {
				case kind == state.Cache && (err != nil || len(store.Incidents()) != 1):
					t.Errorf("a put: %v, incidents %v, want the cache replaced", err, store.Incidents())
				case kind == state.State && (kv.KindOf(err) != kv.Corrupt || !strings.Contains(kv.HintOf(err), path)):
					t.Errorf("a put: %v, hint %q, want Corrupt with the file in the hint", err, kv.HintOf(err))
				}
			})
		}
	}
}

// A process that was killed amid a commit leaves a journal. Who reads undoes it, and waits for
// nobody.
func TestAJournalThatAKilledProcessLeftIsUndone(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	options := &state.Options{Buckets: []state.Bucket{{Name: "b"}}, Wait: time.Second}
	store, err := state.New("sqlite:"+from+"?journal_mode=DELETE", options)
	if err == nil {
		err = store.Put(t.Context(), "b", []byte("k"), []byte("kept"))
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := kv.Open(t.Context(), "sqlite:"+filepath.Join(from, "state.db")+"?journal_mode=DELETE")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin(t.Context(), kv.Flushed)
	if err == nil {
		err = tx.Put([]byte("another"), []byte("lost"))
	}
	for _, name := range []string{"state.db", "state.db-journal"} {
		data, failed := os.ReadFile(filepath.Join(from, name))
		if err = errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "-journal") {
			data[0] = 0xd9 // the first magic byte, which is there as soon as it is synced
		}
		if err := os.WriteFile(filepath.Join(to, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if store, err = state.New("sqlite:"+to+"?journal_mode=DELETE", options); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Get(t.Context(), "b", []byte("k")); err != nil || string(got) != "kept" {
		t.Errorf("got %q, %v", got, err)
	}
}
