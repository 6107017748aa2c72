package badgerkv

import (
	"testing"
	"time"
)

// SetPatience sets how long anything may take after the first trouble, until the test ends.
func SetPatience(t *testing.T, d time.Duration) {
	old := patience
	patience = d
	t.Cleanup(func() { patience = old })
}

var Record = record
