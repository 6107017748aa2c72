// Package suites is what other projects ask of a store, as tests of any engine: their own suites,
// and what those leave out.
package suites

import (
	"context"
	"testing"

	"github.com/assaydb/assay/kv"
)

// Open returns an empty store, and the cheapest class of durability that it takes. A store that
// the test has not closed is closed at its end; what is still open in it then fails the test.
type Open func(options ...kv.Option) (*kv.DB, kv.Durability)

// At returns what opens stores, each of a URL of its own.
func At(t *testing.T, url func() string) Open {
	return func(options ...kv.Option) (*kv.DB, kv.Durability) {
		t.Helper()
		options = append([]kv.Option{kv.WithWeakest(kv.Buffered)}, options...)
		db, err := kv.Open(context.Background(), url(), options...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db, db.Caps().Cheapest()
	}
}
