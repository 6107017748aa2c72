//go:build !race

package driver_test

import (
	"testing"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// syncer is a file.
type syncer interface{ Sync() error }

type still struct{ n int }

func (s *still) Sync() error { s.n++; return nil }

func TestTellingOfSyncsAllocatesNothing(t *testing.T) {
	var file syncer = new(still)
	for _, tell := range []driver.OnSync{nil, func(time.Duration, error) {}} {
		if n := testing.AllocsPerRun(100, func() { _ = tell.Time(file.Sync) }); n != 0 {
			t.Errorf("%v allocations, asked for %v", n, tell != nil)
		}
	}
}
