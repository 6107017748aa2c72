//go:build !race && !kvdebug

package observe_test

import (
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/observe"
)

// TestObservingAllocatesNothingButTheListOfWhatIsRunning compares a store with an observer to one
// without.
func TestObservingAllocatesNothingButTheListOfWhatIsRunning(t *testing.T) {
	bare, err := kv.Open(t.Context(), "mem:", kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	listed, _ := mem(t, &observe.Options{Every: -1})
	counted, _ := mem(t, &observe.Options{Every: -1, Long: -1})
	key, value, dst := []byte("key"), []byte("value"), make([]byte, 0, 64)
	ctx := t.Context()
	get := func(s *kv.Snapshot) error { _, err := s.Append(dst, key); return err }
	for _, c := range []struct {
		what    string
		listing float64 // allocations that the list takes
		run     func(db *kv.DB) error
	}{
		{"put", 0, func(db *kv.DB) error { return db.Put(ctx, kv.Buffered, key, value) }},
		{"view and get", 1, func(db *kv.DB) error { return db.View(ctx, get) }},
		{"update", 1, func(db *kv.DB) error {
			return db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error { return tx.Put(key, value) })
		}},
	} {
		allocations := func(db *kv.DB) float64 {
			return testing.AllocsPerRun(200, func() {
				if err := c.run(db); err != nil {
					t.Error(err)
				}
			})
		}
		none := allocations(bare)
		if got := allocations(counted); got != none {
			t.Errorf("%s: %v allocations, without an observer %v", c.what, got, none)
		}
		if got := allocations(listed); got != none+c.listing {
			t.Errorf("%s: %v allocations with the list, without an observer %v", c.what, got, none)
		}
	}
}
