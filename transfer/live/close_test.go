package live_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer/live"
)

// A comparison that runs when the store is closed ends, and is over before the two stores are
// closed: it reads them past kv, which waits for its own calls alone.
func TestCloseWaitsForAComparison(t *testing.T) {
	for round := range 5 {
		dir := filepath.Join(t.TempDir(), "switch")
		db, err := kv.Open(t.Context(), "switch:"+filepath.ToSlash(dir)+"?old=bbolt&new=pebble")
		if err != nil {
			t.Fatal(err)
		}
		var b kv.Batch
		for i := range 20_000 {
			b.Put(fmt.Appendf(nil, "%06d", i), make([]byte, 200))
		}
		if err := db.Write(t.Context(), kv.Flushed, &b); err != nil {
			t.Fatal(err)
		}
		w, err := live.Of(db)
		if err != nil {
			t.Fatal(err)
		}
		began, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			for first := true; ; first = false {
				_, err := w.Compare(t.Context())
				if err != nil {
					ended <- err
					return
				}
				if first {
					close(began)
				}
			}
		}()
		<-began
		if err := db.Close(); err != nil {
			t.Fatalf("round %d: close: %v", round, err)
		}
		if err := <-ended; !errors.Is(err, kv.Closed) {
			t.Errorf("round %d: a comparison while the store is closed: %v, want Closed", round, err)
		}
		if err := w.Move(t.Context(), live.Flipped); !errors.Is(err, kv.Closed) {
			t.Errorf("a move after that: %v, want Closed", err)
		}
	}
}
