package prove

import (
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
)

// A promise of which few states were found has the next slice before one that is worth more, unless
// its engine is so slow that it would have all of the time.
func TestWhatLagsComesFirst(t *testing.T) {
	t.Parallel()
	of := func(class kv.Durability, states int, spent time.Duration) *job {
		p := &pair{states: states, spent: spent}
		p.caps.Class = class
		return &job{task: &task{pair: p, weight: 1}, spent: spent}
	}
	const half = DefaultBudget / 2
	synced := of(kv.Synced, 2400, 80*time.Second)
	for _, c := range []struct {
		name    string
		other   *job
		elapsed time.Duration
		want    bool // that it comes before the synced one
	}{
		{"one that lags", of(kv.Flushed, 700, 50*time.Second), half, true},
		{"one that has its part", of(kv.Flushed, 1100, 50*time.Second), half, false},
		{"one that is slow to open", of(kv.Flushed, 700, 300*time.Second), half, false},
	} {
		if got := c.other.before(synced, c.elapsed); got != c.want {
			t.Errorf("%s: before a synced one: %v, want %v", c.name, got, c.want)
		}
	}
	if !synced.before(of(kv.Flushed, 1600, 80*time.Second), time.Minute) {
		t.Error("a synced one with half as much again has no slice before a flushed one")
	}
}
