package prove

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// One pass has a thousand moments: the others have their part all the same, and what follows a pass
// has its moments when that is done.
func TestPassesTakeTurns(t *testing.T) {
	t.Parallel()
	moments := make([]int, 1000)
	x := &explorer{pass: pass{left: moments, weight: 3},
		later: []pass{{left: moments[:60], weight: 2, then: &pass{left: moments[:30]}},
			{left: moments[:24], weight: 1}}}
	all, had := 0, map[int]int{} // by weight
	for x.turn() {
		n := min(chunk, len(x.left))
		x.left, x.had = x.left[n:], x.had+n
		all, had[x.weight] = all+n, had[x.weight]+n
		if all == 6*chunk && (had[3] != 3*chunk || had[2] != 2*chunk || had[1] != chunk) {
			t.Errorf("of the first %d the passes had %v, by weight", all, had)
		}
	}
	if want := 1000 + 60 + 30 + 24; all != want || had[2] != 90 {
		t.Errorf("the passes had %d moments, want %d: %v, by weight", all, want, had)
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
		commit(3<<20), commit(100))})
	syncs := []string{around[5], around[8], around[11], around[14]}
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

// Who mends what a fault has left reads what the disk may lack.
func TestWhatIsSyncedUntilCommitsAreTakenAgainTells(t *testing.T) {
	t.Parallel()
	r := &recording{}
	kinds := []powerfs.FaultOp{powerfs.OnWrite, powerfs.OnSync, powerfs.OnWrite, powerfs.OnSync, powerfs.OnWrite,
		powerfs.OnSync, powerfs.OnWrite, powerfs.OnSync}
	for i, kind := range kinds {
		r.steps = append(r.steps, powerfs.Step{Kind: kind, Path: "log", Monotonic: int64(10 * (i + 1))})
	}
	r.steps[1].Failed = true
	r.ledger.acks = [][]ack{{{N: 1, Began: 65, Done: 85}}}
	for _, at := range []int{3, 5, 7} {
		if got := r.telling(1); !slices.Contains(got, at) {
			t.Errorf("of the moments behind a fault %v tell most, want %d among them", got, at)
		}
	}
}

// Who opens the store behind a fault may write over the one name that it still has, long before its
// last syncs.
func TestTheFirstSyncsOfTheOpeningThatFollowsTell(t *testing.T) {
	t.Parallel()
	r := &recording{}
	for i := range 40 {
		kind := powerfs.OnWrite
		if i%2 == 1 {
			kind = powerfs.OnSync
		}
		r.steps = append(r.steps, powerfs.Step{Kind: kind, Path: "log", Monotonic: int64(10 * (i + 1))})
	}
	r.steps[3].Failed = true
	r.ledger.opened = []int64{5, 35, 65} // it fails in the second
	r.ledger.acks = [][]ack{{{N: 1, Began: 365, Done: 395}}}
	got := r.telling(3)
	for _, at := range []int{8, 10, 12, 14, 35, 40} {
		if !slices.Contains(got, at) {
			t.Errorf("of the moments behind a fault %v tell most, want %d among them", got, at)
		}
	}
}

// A store that is being made has nothing to lose: of a kind what fails behind a commit comes first.
func TestWhatFailsBehindACommitComesFirst(t *testing.T) {
	t.Parallel()
	var steps []powerfs.Step
	for range 6 {
		steps = append(steps, powerfs.Step{Kind: powerfs.OnSync, Path: "folder"})
	}
	for seed := range uint64(8) {
		made, used := course{steps: steps, first: len(steps)}, course{steps: steps}
		if p := order([]course{made, used}, failing, rand.New(rand.NewPCG(seed, 1))); p[0].of != 1 {
			t.Errorf("seed %d: step %d of run %d fails first, in which nothing is committed yet", seed, p[0].step, p[0].of)
		}
	}
}

// Behind a loose commit there may be anything, until one is synced.
func TestNothingIsLookedAtBehindLooseCommits(t *testing.T) {
	t.Parallel()
	r := &recording{at: 100}
	for i := range 8 {
		r.steps = append(r.steps, powerfs.Step{Kind: powerfs.OnWrite, Path: "log", Monotonic: int64(10 * i)})
	}
	r.ledger.acks = [][]ack{{{N: 2, Weak: true, Done: 15}, {N: 3, Done: 25}, {N: 4, Done: 35}, {N: 5, Done: 36},
		{N: 6, Done: 45}, {N: 7, Weak: true, Done: 55}, {N: 8, Weak: true, Done: 58}, {N: 8, Done: 65}}}
	if got := r.loose(); got != nil {
		t.Errorf("without such commits nothing is said of %v", got)
	}
	r.past.Work.Loose = kv.Flushed
	want := []bool{true, true, true, false, false, true, true, false, false}
	if got := r.loose(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for n := range uint64(14) {
		want := kv.Synced
		if slices.Contains([]uint64{1, 2, 7, 8, 13}, n) {
			want = kv.Flushed
		}
		if got := r.past.Work.class(n, kv.Synced); got != want {
			t.Errorf("commit %d is %v, want %v", n, got, want)
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

// A full disk shows when a file is written back, too, and a write that ends early tells a count.
func TestAFullDiskFailsSyncsAndTellsWhatItWrote(t *testing.T) {
	t.Parallel()
	j := &job{task: &task{fault: result.FaultENOSPC}}
	sync := powerfs.Fault{Op: powerfs.OnSync, Nth: 2, Match: "log"}
	got := j.variants(0, sync, 1, powerfs.Step{Until: 1}, false)
	sync.Err = syscall.ENOSPC
	if len(got) != 1 || !slices.Equal(got[0].options().Faults, []powerfs.Fault{sync}) {
		t.Errorf("a sync: got %+v, want that it finds no space", got)
	}
	write := powerfs.Fault{Op: powerfs.OnWrite, Nth: 2, Match: "log"}
	half, rest := write, write
	half.Short, rest.Nth, rest.Err = true, 3, syscall.ENOSPC
	if !slices.ContainsFunc(j.variants(0, write, 1, powerfs.Step{}, false), func(t target) bool {
		return slices.Equal(t.options().Faults, []powerfs.Fault{half, rest})
	}) {
		t.Errorf("a write: want one of which half is done and told, before one that finds no space")
	}
	told := func(t target) bool { return t.told }
	if slices.ContainsFunc(j.variants(0, write, 1, powerfs.Step{Cache: true}, false), told) {
		t.Error("a write of mapped pages tells nobody how much is done")
	}
	done := write
	done.Err, done.Done = syscall.EIO, true
	is := func(t target) bool { return slices.Equal(t.options().Faults, []powerfs.Fault{done}) }
	if slices.ContainsFunc(j.variants(0, write, 1, powerfs.Step{}, false), is) {
		t.Error("a full disk has room for all of a write")
	}
	if j.fault = result.FaultEIO; !slices.ContainsFunc(j.variants(0, write, 1, powerfs.Step{}, false), is) {
		t.Error("a write: want one that fails when it is done")
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

// A log has many kinds of syncs, by what they write and stand between, and the file that names all
// others has one: its sync fails before the log's have all failed.
func TestEachFileHasItsTurn(t *testing.T) {
	t.Parallel()
	var steps []powerfs.Step
	for n := range 12 { // each is of another kind, by its neighbours
		for range 1 + n {
			steps = append(steps, powerfs.Step{Kind: powerfs.OnWrite, Path: "log", Bytes: 1})
		}
		steps = append(steps, powerfs.Step{Kind: powerfs.OnSync, Path: "log"},
			powerfs.Step{Kind: powerfs.OnCreate, Path: "table" + string(rune('a'+n))})
	}
	for range 2 {
		steps = append(steps, powerfs.Step{Kind: powerfs.OnSync, Path: "manifest"})
	}
	syncs := 0
	for _, p := range order([]course{{steps: steps}}, failing, rand.New(rand.NewPCG(1, 1))) {
		if steps[p.step].Kind != powerfs.OnSync {
			continue
		}
		if syncs++; steps[p.step].Path == "manifest" {
			break
		}
	}
	if syncs > 2 {
		t.Errorf("the manifest's sync is the %dth that fails, want one of the first two", syncs)
	}
}

// With the last write of a commit all of it may be there, though it is said to have failed.
func TestTheWriteThatEndsACommitIsWhollyDoneFirst(t *testing.T) {
	t.Parallel()
	r := &recording{}
	for i, kind := range []powerfs.FaultOp{powerfs.OnWrite, powerfs.OnWrite, powerfs.OnSync, powerfs.OnWrite} {
		r.steps = append(r.steps, powerfs.Step{Kind: kind, Path: "log", Bytes: 1, Monotonic: int64(10 * i)})
	}
	r.ledger.acks = [][]ack{{{N: 1, Began: -5, Done: 25}}}
	c := r.course()
	for i := range r.steps {
		if got, want := c.endsCommit(i), i == 1; got != want {
			t.Errorf("step %d ends a commit: %v", i, got)
		}
	}
	if p := order([]course{c}, failing, rand.New(rand.NewPCG(1, 1))); p[1].step != 1 {
		t.Errorf("step %d fails first of all writes", p[1].step)
	}
	write := powerfs.Fault{Op: powerfs.OnWrite, Nth: 3, Match: "log"}
	j := &job{task: &task{fault: result.FaultEIO}}
	if first := j.variants(0, write, 1, powerfs.Step{}, true)[0]; !first.Done {
		t.Errorf("got %+v, want one that is done", first)
	}
	j.fault = result.FaultENOSPC
	if all := j.variants(0, write, 1, powerfs.Step{}, true); all[0].Done || len(all) < 2 || all[1].Done {
		t.Errorf("a full disk has room for all of a write: %+v", all)
	} else if !all[0].Short {
		t.Errorf("got %+v, want one of which half is done: so a disk becomes full", all[0])
	}
	if p := order([]course{c}, filling, rand.New(rand.NewPCG(1, 1))); r.steps[p[0].step].Kind != powerfs.OnWrite {
		t.Errorf("step %d finds no space first, want a write", p[0].step)
	}
}

// A kill leaves everything, and no other state shows what that does.
func TestEverythingIsAmongFewStates(t *testing.T) {
	t.Parallel()
	states := []powerfs.State{powerfs.Random(nothing, 0)}
	for seed := range uint64(40) {
		states = append(states, powerfs.Random(powerfs.Rule{Survivors: powerfs.Pages}, seed))
	}
	states = append(states, powerfs.Random(everything, 0))
	for seed := range uint64(20) {
		got := few(slices.Clone(states), rand.New(rand.NewPCG(seed, 1)))
		if got[0] != states[0] || got[1] != powerfs.Random(everything, 0) {
			t.Errorf("got %v, want nothing and everything first", got)
		}
	}
}

// A sync that is to keep weaker commits, too, or comes amid one, has most to lose: one that fails
// shows most.
func TestSyncsThatKeepWeakerCommitsFailFirst(t *testing.T) {
	t.Parallel()
	r := &recording{}
	var acks []ack
	for i := range 12 { // each commit writes and syncs
		kind := powerfs.OnWrite
		if i%2 == 1 {
			kind = powerfs.OnSync
		}
		r.steps = append(r.steps, powerfs.Step{Kind: kind, Path: "log", Bytes: 1, Monotonic: int64(10 * i)})
		if i%2 == 1 {
			acks = append(acks, ack{N: uint64(i/2 + 1), Weak: i == 7, Began: int64(10*i - 15), Done: int64(10*i + 2)})
		}
	}
	r.ledger.acks = [][]ack{acks}
	c := r.course()
	for i := range r.steps {
		if want := i == 7 || i == 9; c.keeps[i] != want {
			t.Errorf("step %d keeps weaker commits: %v", i, c.keeps[i])
		}
	}
	for seed := range uint64(8) {
		places := order([]course{c}, failing, rand.New(rand.NewPCG(seed, 1)))
		is := func(p chosen) bool { return r.steps[p.step].Kind == powerfs.OnSync && p.nth == 0 }
		list := slices.DeleteFunc(places, func(p chosen) bool { return !is(p) })
		if !slices.ContainsFunc(list, func(p chosen) bool { return c.keeps[p.step] }) {
			t.Errorf("of the first syncs of each kind, %v, none keeps a weaker commit", list)
		}
	}
}

func TestEachSoManyAreOfAnotherSort(t *testing.T) {
	t.Parallel()
	for want, got := range map[string][]int{
		"[1 1 2 1 1 2 1]": amid([]int{1, 1, 1, 1, 1}, []int{2, 2}, 3),
		"[1 1 2 2 2]":     amid([]int{1, 1}, []int{2, 2, 2}, 3),
		"[2]":             amid(nil, []int{2}, 3),
		"[1 1 2 1 1 1 2]": amid([]int{1, 1, 1, 1, 1}, []int{2, 2}, 4),
	} {
		if fmt.Sprint(got) != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// Of what is to keep weaker commits, and is not mended, what had most to write fails first, of each
// file in turn, and those last whose states take long to be looked at.
func TestWhatHasMostToLoseFailsFirst(t *testing.T) {
	t.Parallel()
	sync := func(scene int, file string, nth uint64, again, heavy, bytes int) unmended {
		return unmended{target{scene: scene, Fault: powerfs.Fault{Match: file, Nth: nth, Again: again}}, heavy, bytes}
	}
	var got []string
	for _, f := range byLoss([]unmended{
		sync(3, "log", 1, 2, 1, 900), sync(1, "log", 1, 2, 0, 10), sync(1, "log", 2, 3, 0, 40), sync(1, "log", 2, 2, 0, 40),
		sync(1, "table", 5, 2, 0, 20), sync(6, "log", 7, 2, 0, 80),
	}) {
		got = append(got, fmt.Sprint(f.scene, f.Match, f.Nth, " ", f.Again))
	}
	want := []string{"6log7 2", "1log2 2", "1table5 2", "3log1 2", "1log2 3", "1log1 2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A sync that is shared while a store is made has nothing to lose: that of a log comes first.
func TestKindsBeforeAllCommitsComeLast(t *testing.T) {
	t.Parallel()
	steps := []powerfs.Step{{Kind: powerfs.OnSync, Path: "new"}}
	for range 4 {
		steps = append(steps, powerfs.Step{Kind: powerfs.OnWrite, Path: "log"}, powerfs.Step{Kind: powerfs.OnSync, Path: "log"})
	}
	c := course{steps: steps, shared: make([]bool, len(steps)), first: 1}
	for i, s := range steps {
		c.shared[i] = s.Kind == powerfs.OnSync
	}
	for seed := range uint64(8) {
		if p := order([]course{c}, failing, rand.New(rand.NewPCG(seed, 1))); steps[p[0].step].Path != "log" {
			t.Errorf("seed %d: the sync of %s fails first", seed, steps[p[0].step].Path)
		}
	}
}
