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

// A sync of many pages that fails leaves a hole, that of one page what the next commit writes once
// more: each must have its turn.
func TestSyncsAreToldApartByHowMuchTheyWrite(t *testing.T) {
	t.Parallel()
	commit := func(bytes int) []powerfs.Step {
		return []powerfs.Step{{Kind: powerfs.OnWrite, Path: "log", Bytes: bytes / 2},
			{Kind: powerfs.OnWrite, Path: "log", Bytes: bytes / 2}, {Kind: powerfs.OnSync, Path: "log"}}
	}
	around := surroundings(course{steps: slices.Concat(commit(100), commit(100), commit(9000), commit(200_000),
		commit(100))})
	syncs := []string{around[5], around[8], around[11]}
	for i, one := range syncs {
		for _, other := range syncs[:i] {
			if one == other {
				t.Errorf("%q stands for syncs of different sizes", one)
			}
		}
	}
	if around[2] != around[5] {
		t.Errorf("the syncs of two small commits are %q and %q", around[2], around[5])
	}
}

// A commit that began before a fault, and is acknowledged behind it, is promised on a disk that has
// lost something.
func TestWhatIsAcknowledgedBehindAFaultTells(t *testing.T) {
	t.Parallel()
	kinds := []powerfs.FaultOp{powerfs.OnWrite, powerfs.OnSync, powerfs.OnWrite, powerfs.OnSync, powerfs.OnRemove,
		powerfs.OnRemove, powerfs.OnRemove}
	r := &recording{}
	for i, kind := range kinds {
		r.steps = append(r.steps, powerfs.Step{Kind: kind, Path: "log", Monotonic: int64(10 * (i + 1))})
	}
	r.steps[1].Failed = true
	r.ledger.acks = [][]ack{{{N: 1, Began: 15, Done: 45}}} // the second sync was for it
	for _, at := range []int{2, 3, 4, 7} {
		if got := r.telling(1); !slices.Contains(got, at) {
			t.Errorf("of the moments behind a fault %v tell most, want %d among them", got, at)
		}
	}
}

// What may be left between two writes may be left before the sync that follows them, with more.
func TestMomentsBeforeSyncsComeBeforeThoseBetweenWrites(t *testing.T) {
	t.Parallel()
	r := &recording{}
	for _, kind := range []powerfs.FaultOp{powerfs.OnCreate, powerfs.OnWrite, powerfs.OnWrite, powerfs.OnSync,
		powerfs.OnWrite, powerfs.OnWrite, powerfs.OnRename, powerfs.OnWrite, powerfs.OnSync} {
		r.steps = append(r.steps, powerfs.Step{Kind: kind, Path: "log"})
	}
	want := []int{9, 8, 7, 6, 3, 1, 0, 5, 4, 2}
	if got := r.pressing([]int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A sync of the same file is another thing in a commit and when a store is closed.
func TestWhatIsDoneBesideCommitsIsAKindOfItsOwn(t *testing.T) {
	t.Parallel()
	r := &recording{}
	for i := range 12 {
		kind := powerfs.OnWrite
		if i%2 == 1 {
			kind = powerfs.OnSync
		}
		r.steps = append(r.steps, powerfs.Step{Kind: kind, Path: "log", Monotonic: int64(10 * i)})
	}
	r.ledger.acks = [][]ack{{{N: 1, Began: 20, Done: 35}, {N: 2, Began: 40, Done: 55}}} // steps 2 to 5
	around := surroundings(r.course())
	if around[3] == around[7] || around[7] != around[9] {
		t.Errorf("a sync of a commit is %q, those of others are %q and %q", around[3], around[7], around[9])
	}
}

// Upkeep goes on beside commits in another order each time, and where commits meet in a slow sync
// the same run has another number of them.
func TestAnOperationIsFoundAgainByItsFileAndWhatItWrites(t *testing.T) {
	t.Parallel()
	commit := func(bytes int, until int64) []powerfs.Step {
		return []powerfs.Step{{Kind: powerfs.OnWrite, Path: "store/007.log", Bytes: bytes},
			{Kind: powerfs.OnSync, Path: "store/007.log", Until: until}}
	}
	steps := slices.Concat(commit(9000, 0), commit(100, 1), commit(9000, 1), commit(200_000, 1), commit(9000, 1),
		[]powerfs.Step{{Kind: powerfs.OnCreate, Path: "store/008.sst"}, {Kind: powerfs.OnSync, Path: "store/008.sst"}})
	got := faultsAt(steps)
	want := []powerfs.Fault{{Op: powerfs.OnSync, Nth: 1, Match: "*.log"}, {Op: powerfs.OnSync, Nth: 2, Match: "*.log"},
		{Op: powerfs.OnSync, Nth: 1, Match: "*.log", Pages: 2}, {Op: powerfs.OnSync, Nth: 1, Match: "*.log", Pages: 17},
		{Op: powerfs.OnSync, Nth: 3, Match: "*.log", Pages: 2}, {Op: powerfs.OnSync, Nth: 1, Match: "*.sst"}}
	for i, w := range want {
		if at := 2*i + 1; got[at] != w {
			t.Errorf("step %d: got %+v, want %+v", at, got[at], w)
		}
	}
}

// Of a large commit a part may be there, which shows at moments within it, of which there are few.
func TestMomentsWithinLargeCommits(t *testing.T) {
	t.Parallel()
	r := &recording{}
	for i := range 60 {
		r.steps = append(r.steps, powerfs.Step{Kind: powerfs.OnWrite, Path: "log", Monotonic: int64(10 * i)})
	}
	r.ledger.acks = [][]ack{{{N: 1, Began: 0, Done: 15}, {N: 2, Began: 20, Done: 65}, {N: 3, Began: 70, Done: 495}}}
	got := r.inside()
	if want := []int{9, 13, 17, 21}; len(got) != 13 || !slices.Equal(got[:4], want) {
		t.Errorf("got %v, want ten moments of the largest commit, from %v on, and the three of another", got, want)
	}
}
