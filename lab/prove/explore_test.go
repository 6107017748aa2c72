package prove

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// A pass that follows another goes through the same moments: that before it were all looked at in
// few states changes nothing.
func TestALaterPassHasItsMoments(t *testing.T) {
	t.Parallel()
	l, task := laneOf(t, "bunt", result.FaultPower)
	rec, err := l.record(t.Context(), task, scene{writers: 1, legs: []leg{{"", 12}}}, 7, run{})
	if err != nil {
		t.Fatal(err)
	}
	x := newExplorer(rec, 0, "test")
	x.cells = task.cellOf
	x.states = func(*powerfs.Player, *rand.Rand) []powerfs.State { return nil }
	want := slices.Clone(x.left)
	x.later = []pass{{x.left, x.states}}
	for len(x.later) > 0 {
		if _, err := l.explore(t.Context(), task, x, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if len(want) < 2*chunk || !slices.Equal(x.left, want) {
		t.Errorf("the second pass goes through %v, want %v", x.left, want)
	}
}
