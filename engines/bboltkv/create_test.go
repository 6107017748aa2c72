package bboltkv

import (
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/kv/driver"
)

func TestCreationLeavesTheStoreOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.db")
	for range 2 { // to create it, and to open what was created
		s, err := Driver{}.Open(t.Context(), driver.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want the store alone", entries, err)
	}
	if err := create(path, bolt.Options{}); err != nil {
		t.Errorf("another process created the store meanwhile: %v, want no error", err)
	}
}
