package bboltkv

import (
	"testing"
	"time"
)

// SetPatience sets how long calls wait within bbolt, until the test ends.
func SetPatience(t *testing.T, d time.Duration) {
	old := patience
	patience = d
	t.Cleanup(func() { patience = old })
}
