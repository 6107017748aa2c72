package state_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
)

func lineStore(t *testing.T, dir string, wait time.Duration) *state.Store {
	t.Helper()
	store, err := state.New("bbolt:"+dir, &state.Options{Wait: wait, Buckets: []state.Bucket{{Name: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// A writer that waits for readers is not passed by readers that come later: one after the other would keep it out.
func TestReadersThatComeLaterDoNotPassAWriter(t *testing.T) {
	dir, key := t.TempDir(), []byte("k")
	patient := lineStore(t, dir, time.Minute)
	if err := patient.Put(t.Context(), "a", key, []byte("old")); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	err := patient.View(t.Context(), "a", func(*state.View) error {
		go func() { written <- patient.Put(t.Context(), "a", key, []byte("new")) }()
		for {
			if _, err := os.Lstat(filepath.Join(dir, ".sign-state")); err == nil {
				break
			}
			select {
			case err := <-written:
				t.Errorf("the writer did not wait: %v", err)
				return nil
			case <-time.After(time.Millisecond):
			}
		}
		if v, err := lineStore(t, dir, time.Millisecond).Get(t.Context(), "a", key); !errors.Is(err, kv.Busy) {
			t.Errorf("a reader passed the writer that waits: it got %q, %v", v, err)
		}
		return nil
	})
	if err = errors.Join(err, <-written); err != nil {
		t.Fatal(err)
	}
	if v, err := patient.Get(t.Context(), "a", key); string(v) != "new" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
}

func TestASignThatAKilledWriterLeftIsTakenDown(t *testing.T) {
	dir := t.TempDir()
	store := lineStore(t, dir, time.Minute)
	sign := filepath.Join(dir, ".sign-state")
	err := errors.Join(store.Put(t.Context(), "a", []byte("k"), []byte("v")), os.WriteFile(sign, nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := store.Get(t.Context(), "a", []byte("k")); string(v) != "v" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	if _, err := os.Lstat(sign); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the sign is still there: %v", err)
	}
}

// What lies beside a file and is not the store's is left alone, whatever it is called.
func TestSettingAsideTouchesItsOwnFilesOnly(t *testing.T) {
	dir := t.TempDir()
	store, err := state.New("bbolt:"+dir, &state.Options{Files: map[state.Kind]string{state.Cache: "mytool", state.State: "mytool-state"},
		Buckets: []state.Bucket{{Name: "a"}, {Name: "c", Kind: state.Cache}}})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(store.Put(t.Context(), "a", []byte("k"), []byte("kept")), store.Put(t.Context(), "c", []byte("k"), []byte("v")))
	for _, name := range []string{"mytool.new", "mytool-notes", "mytool-state.new"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
	}
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "mytool"), []byte("damage"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "c", []byte("k"), []byte("w")); err != nil {
		t.Fatal(err)
	}
	if v, err := store.Get(t.Context(), "a", []byte("k")); string(v) != "kept" || err != nil {
		t.Errorf("the state: got %q, %v", v, err)
	}
	for _, name := range []string{"mytool.new", "mytool-notes", "mytool-state.new"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); string(data) != name {
			t.Errorf("%s of another program: %q, %v", name, data, err)
		}
	}
}
