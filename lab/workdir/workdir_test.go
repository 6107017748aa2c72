package workdir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

func TestNewRunRemovesWhatAKilledOneLeft(t *testing.T) {
	parent := t.TempDir()
	stale, err := New(parent)
	if err != nil {
		t.Fatal(err)
	}
	alive, err := New(parent)
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(parent, "assay-run-notes")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := stale.lock.Unlock(); err != nil { // as when its process was killed
		t.Fatal(err)
	}
	fresh, err := New(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{stale.Path: false, alive.Path: true, foreign: true, fresh.Path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: there = %v, want %v", filepath.Base(path), err == nil, want)
		}
	}
	if err := fresh.Remove(); err != nil {
		t.Error(err)
	}
	if ok, err := flock.New(filepath.Join(alive.Path, lockName)).TryLock(); ok || err != nil {
		t.Errorf("the lock of a running run could be taken: %v, %v", ok, err)
	}
	if err := alive.Remove(); err != nil {
		t.Error(err)
	}
}

// TestAnHeirRemovesWhatHasLostItsLock: a process of the run, which ends by itself, wrote a file
// while the folder was removed, and the lock was gone already.
func TestAnHeirRemovesWhatHasLostItsLock(t *testing.T) {
	dead, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dead.Path, "node0"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Inherit(dead.Path); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dead.Path); err == nil {
		t.Error("the folder is left")
	}
}
