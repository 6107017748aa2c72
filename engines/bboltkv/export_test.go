package bboltkv

import (
	"context"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
)

// SetPatience sets how long calls wait within bbolt, until the test ends.
func SetPatience(t *testing.T, d time.Duration) {
	old := patience
	patience = d
	t.Cleanup(func() { patience = old })
}

// KeepLate begins a snapshot of db, and returns what keeps it as its Close would if it were held up
// between its look for a change and the keeping.
func KeepLate(t *testing.T, db *kv.DB) (keep func()) {
	s := db.Driver().(*store)
	r, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return func() { s.reader.Store(r.(*reader)) }
}
