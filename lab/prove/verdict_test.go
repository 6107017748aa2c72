package prove

import (
	"math"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

func TestClaims(t *testing.T) {
	synced := caps{Promise: kv.Promise{Supported: true, Class: kv.Synced, Intact: true}}
	intact := caps{Promise: kv.Promise{Supported: true, Class: kv.Flushed, Intact: true}}
	flushed := caps{Promise: kv.Promise{Supported: true, Class: kv.Flushed}}
	buffered := caps{Promise: kv.Promise{Supported: true, Class: kv.Buffered, Intact: true}}
	breaks := caps{Promise: kv.Promise{Supported: true, Class: kv.Synced, Intact: true, DiskMayBreak: true}}
	for _, c := range []struct {
		caps         caps
		fault, rule  string
		keeps, whole bool
	}{
		{synced, result.FaultKill, "", true, true},
		{synced, result.FaultPower, "ordered/sectors", true, true},
		{synced, result.FaultPower, "strict/sectors", false, false},
		{synced, result.FaultRecovery, "ordered/nothing", true, true},
		{synced, result.FaultEIO, "", true, true},
		{breaks, result.FaultEIO, "", true, false},
		{breaks, result.FaultENOSPC, "", true, false},
		{breaks, result.FaultPower, "ordered/pages", true, true},
		{intact, result.FaultKill, "", true, true},
		{intact, result.FaultPower, "ordered/pages", false, true},
		{flushed, result.FaultPower, "ordered/everything", false, false},
		{flushed, result.FaultENOSPC, "", false, false},
		{intact, result.FaultENOSPC, "", false, true},
		{buffered, result.FaultKill, "", false, true},
		{buffered, result.FaultPower, "ordered/prefix", false, true},
	} {
		if keeps, whole := claims(c.caps, c.fault, c.rule); keeps != c.keeps || whole != c.whole {
			t.Errorf("%v under %s %s: keeps %v whole %v, want %v %v", c.caps.Promise, c.fault, c.rule, keeps, whole,
				c.keeps, c.whole)
		}
	}
}

func TestUpperBoundIsTheRateThatTheImagesAllow(t *testing.T) {
	for n, want := range map[int]float64{1: 0.95, 59: 0.0495, 200: 0.01487} {
		if got := upperBound(n); math.Abs(got-want) > 0.0005 {
			t.Errorf("0 of %d: %.4f, want %.4f", n, got, want)
		}
	}
}

// images records what came of images of one trial, whose two writers acknowledged ten commits each
// by turns.
func images(outcomes ...outcome) *cell {
	tr := trial{seed: 4, cut: 9, at: 1000, past: newPast(4, 2), ledger: ledger{acks: make([][]ack, 2)}}
	for n := range int64(10) {
		for w := range 2 {
			began := 10*n + 5*int64(w)
			tr.ledger.acks[w] = append(tr.ledger.acks[w], ack{W: w, N: uint64(n) + 1, Began: began, Done: began + 4})
		}
	}
	c := &cell{atomic: true}
	c.crash(tr)
	for _, o := range outcomes {
		c.record(tr, o)
	}
	return c
}

func TestCellCountsWhatImagesLack(t *testing.T) {
	c := images(outcome{N: []uint64{10, 10}}, outcome{N: []uint64{8, 8}},
		outcome{N: []uint64{0, 0}, Gone: true, Broken: "did not open"})
	if c.Rounds != 1 || c.Images != 3 || c.Acked != 20 || c.Lost != 24 || c.LostMax != 20 || c.Broken != 1 ||
		c.LostAge != 1000-4 {
		t.Errorf("%+v", c.ProofCell)
	}
	if c.keeps.failed != 2 || c.whole.failed != 1 || c.What != "did not open" {
		t.Errorf("keeps %+v whole %+v %q", c.keeps, c.whole, c.What)
	}
}

func TestAcknowledgementAfterThePowerFailedPromisesNothing(t *testing.T) {
	tr := trial{at: 100, past: newPast(1, 1), ledger: ledger{acks: [][]ack{{{N: 1, Began: 10, Done: 20},
		{N: 2, Began: 90, Done: 100}}}}}
	c := &cell{}
	c.crash(tr)
	c.record(tr, outcome{N: []uint64{1}})
	if c.Acked != 1 || c.Lost != 0 || c.keeps.failed != 0 {
		t.Errorf("%+v", c.ProofCell)
	}
}

func TestStateThatIsNoPrefixAcrossWritersIsBroken(t *testing.T) {
	for _, one := range []struct {
		n  []uint64
		ok bool
	}{
		{[]uint64{10, 10}, true}, {[]uint64{11, 10}, true}, {[]uint64{10, 9}, true}, {[]uint64{0, 0}, true},
		{[]uint64{10, 8}, false}, // commit 10 of the first began after commit 9 of the second was acknowledged
		{[]uint64{1, 10}, false},
		{[]uint64{11, 9}, true}, // commit 11 may have begun before commit 10 of the second was acknowledged
		{[]uint64{11, 8}, false},
		{[]uint64{12, 10}, false}, // nobody can have made commit 12: it would begin after 11 was acknowledged
	} {
		c := images(outcome{N: one.n})
		if (c.Broken == 0) != one.ok {
			t.Errorf("%v: broken %d, %q", one.n, c.Broken, c.What)
		}
	}
}

func TestTornTransactionIsNoFailureOfAnEngineThatClaimsNone(t *testing.T) {
	torn := outcome{N: []uint64{10, 10}, Torn: "in part"}
	if c := images(torn); c.whole.failed != 1 || c.Torn != 1 {
		t.Errorf("crash-atomic: %+v", c)
	}
	c := &cell{}
	c.record(trial{past: newPast(1, 2), ledger: ledger{acks: make([][]ack, 2)}}, torn)
	if c.whole.failed != 0 || c.Torn != 1 || c.What != "in part" {
		t.Errorf("not crash-atomic: %+v", c)
	}
}

func TestCrashesOfOneRunAreOneTrialAndAlikeStatesAreOne(t *testing.T) {
	tr := trial{past: newPast(1, 1), ledger: ledger{acks: make([][]ack, 1)}}
	held, late := outcome{N: []uint64{0}}, outcome{Late: true}
	c, other, task := &cell{}, &cell{}, &task{pair: &pair{}}
	record := func(c *cell, seed, cut uint64, sum byte, o outcome) {
		tr.seed, tr.cut = seed, cut
		c.crash(tr)
		c.record(tr, o)
		task.saw(c, [32]byte{sum}, o)
	}
	record(c, 1, 7, 1, held)
	record(c, 1, 8, 2, held) // another moment of the same run
	record(c, 2, 8, 3, held)
	record(c, 3, 8, 4, late)
	record(other, 3, 8, 1, held) // another rule, and the same state
	record(other, 3, 8, 4, held)
	if c.Cuts != 3 || c.Images != 3 || c.States != 3 || other.Cuts != 1 || other.Images != 2 || other.States != 1 {
		t.Errorf("got %+v and %+v", c.ProofCell, other.ProofCell)
	}
	task.caps.Class = kv.Synced
	c.Late = 0
	if f := (&runner{}).finish(task, c).Whole; f.UpperBound != upperBound(3) {
		t.Errorf("of 3 runs: %+v", f)
	}
}

func TestStateIsJudgedByWhatWasAcknowledgedUntilTheLatestMomentThatLeavesIt(t *testing.T) {
	rec := &recording{past: newPast(1, 1), at: 100, ledger: ledger{acks: [][]ack{{{N: 1, Began: 10, Done: 20},
		{N: 2, Began: 30, Done: 40}}}}}
	rec.steps = []powerfs.Step{{Monotonic: 15}, {Monotonic: 25}, {Monotonic: 50}}
	before := func(i int) evidence { return evidence{rec: rec, i: i, trial: rec.trial(i)} }
	c, v := &cell{}, &verified{outcome: outcome{N: []uint64{1}}}
	for i := range 3 {
		c.found(&task{pair: &pair{}}, before(i), v, i > 0)
		if want := min(i/2, 1); c.keeps.failed != want || c.Images != 1 {
			t.Errorf("before step %d: %d states lack commits, want %d, of %d", i, c.keeps.failed, want, c.Images)
		}
	}
	if c.found(&task{pair: &pair{}}, before(2), v, true); c.keeps.failed != 1 {
		t.Errorf("one state counts %d times", c.keeps.failed)
	}
	c, strict, v := &cell{}, &cell{}, &verified{outcome: outcome{N: []uint64{1}}}
	c.found(&task{pair: &pair{}}, before(0), v, false)
	strict.found(&task{pair: &pair{}}, before(2), v, true)
	if c.Images != 1 || strict.Images != 1 || strict.keeps.failed != 1 {
		t.Errorf("%d of %d images of another rule lack commits", strict.keeps.failed, strict.Images)
	}
}

func TestCommitThatWasTriedAgainLaterIsNotTheOneThatIsThere(t *testing.T) {
	tr := trial{at: 50, past: newPast(1, 1), ledger: ledger{acks: [][]ack{{{N: 1, Began: 10, Done: 20},
		{N: 2, Began: 60, Done: 70}}}}}
	if what := tr.disorder([]uint64{2}); what != "" {
		t.Errorf("commit 2 returned an error before and is there: %s", what)
	}
}

func TestCommitOfAWeakerClassMayBeLost(t *testing.T) {
	tr := trial{at: 100, past: newPast(1, 1), ledger: ledger{acks: [][]ack{{{N: 1, Done: 20},
		{N: 2, Done: 40, Weak: true}}}}}
	c := &cell{}
	c.record(tr, outcome{N: []uint64{1}})
	if c.record(tr, outcome{N: []uint64{0}}); c.keeps.failed != 1 || c.Lost != 1 {
		t.Errorf("%+v", c.ProofCell)
	}
}

func TestStoreThatWasNotVerifiedInTimeIsNotBroken(t *testing.T) {
	c := images(outcome{Late: true})
	if c.Late != 1 || c.Images != 0 || c.Broken != 0 || c.Lost != 0 || c.keeps.failed != 0 || c.whole.failed != 0 {
		t.Errorf("%+v", c)
	}
	o := outcome{Late: true}
	o.broken("read what was never written")
	if c = images(o); c.Late != 1 || c.Images != 0 || c.Broken != 1 || c.whole.failed != 1 || c.keeps.failed != 0 {
		t.Errorf("a writer that read wrong: %+v", c)
	}
}

func TestVerdicts(t *testing.T) {
	p := &pair{entry: bench.Entry{Name: "mine", Engine: "bbolt", Options: "NoFreelistSync=true&x=1"}, class: kv.Synced,
		caps: caps{Promise: kv.Promise{Supported: true, Class: kv.Synced, Intact: true}}}
	r := &runner{}
	good, bad, late := outcome{N: []uint64{10, 10}}, outcome{N: []uint64{3, 3}}, outcome{Late: true}
	for name, one := range map[string]struct {
		why, verdict, in string
		outcomes         []outcome
		void             error
	}{
		"nothing failed": {verdict: result.Proved, outcomes: []outcome{good}},
		"one failed": {verdict: result.Disproved, outcomes: []outcome{good, bad},
			in: "--engines 'mine=bbolt:?NoFreelistSync=true&x=1' --durability synced --faults power --rule ordered/sectors --seed 4 --rounds 1"},
		"one was late": {verdict: result.Unproved, outcomes: []outcome{good, late},
			in: "not verified in time: 1, beside 1"},
		"late and failed": {verdict: result.Disproved, outcomes: []outcome{late, bad}, in: "assay prove"},
		"interrupted": {why: "interrupted", verdict: result.Unproved, outcomes: []outcome{good},
			in: "interrupted"},
		"failed before": {why: "interrupted", verdict: result.Disproved, outcomes: []outcome{bad},
			in: "assay prove"},
		"no image": {verdict: result.Unproved, in: "no time"},
		"a control failed": {void: &controlError{"lying"}, why: "x", verdict: result.Unproved,
			outcomes: []outcome{good}, in: "a control failed: lying"},
		"and one failed": {void: &controlError{"lying"}, why: "x", verdict: result.Disproved, outcomes: []outcome{bad},
			in: "assay prove"},
	} {
		c := images(one.outcomes...)
		c.Rule = "ordered/sectors"
		p.void = one.void
		f := r.finish(&task{pair: p, fault: result.FaultPower, why: one.why}, c).Keeps
		if f.Verdict != one.verdict || !strings.Contains(f.Why+f.Command, one.in) || !f.Claimed {
			t.Errorf("%s: %+v", name, f)
		}
		if (f.Verdict == result.Proved) != (f.UpperBound > 0) || (f.Verdict == result.Disproved) != (f.Command != "") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestCommandRepeatsAsOftenAsTheFailureIsRare(t *testing.T) {
	for p, want := range map[float64]int{1: 1, 0.5: 7, 0.1: 44, 0.001: 50} {
		if got := roundsFor(p); got != want {
			t.Errorf("of a rate of %v: %d rounds, want %d", p, got, want)
		}
	}
}

func TestBackupIsWholeOrNotThere(t *testing.T) {
	tr := trial{at: 100, past: past{Chains: []chain{{{Salt: 1}}}}, ledger: ledger{
		acks:   [][]ack{{{N: 1, Began: 1, Done: 2}, {N: 2, Began: 20, Done: 50}}},
		copies: []copied{{Began: 10, Done: 40}}}}
	early, short := tr, tr
	early.at = 30
	short.ledger.copies = []copied{{Began: 10, Done: 40, Short: true}}
	for _, c := range []struct {
		name string
		of   trial
		copy *outcome
		want string
	}{
		{"there and whole", tr, &outcome{N: []uint64{1}}, ""},
		{"with a commit that came while it was made", tr, &outcome{N: []uint64{2}}, ""},
		{"gone", tr, nil, "is not there"},
		{"not yet made", early, nil, ""},
		{"whole before it was acknowledged", early, &outcome{N: []uint64{0}}, ""},
		{"older than it says", tr, &outcome{N: []uint64{0}}, "1 commits are missing"},
		{"of a store that had lost commits before", short, &outcome{N: []uint64{0}}, ""},
		{"in part", early, &outcome{N: []uint64{0}, Broken: "did not open"}, "did not open"},
		{"with a transaction in part", early, &outcome{N: []uint64{0}, Torn: "commit 1"}, "commit 1"},
	} {
		if got := c.of.backup(c.copy); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A disk that fails may take a store that says so, and what a commit in doubt wrote, but nothing
// else that was acknowledged.
func TestAStoreThatADiskMayBreakKeepsWhatCanBeRead(t *testing.T) {
	tr := trial{at: 100, past: past{Chains: []chain{{{Salt: 1}}}},
		ledger: ledger{acks: [][]ack{{{N: 1, Began: 1, Done: 2}}}}}
	for _, c := range []struct {
		name         string
		o            outcome
		breaks       bool
		keeps, whole int
	}{
		{"does not open", outcome{N: []uint64{0}, Gone: true, Broken: "did not open"}, true, 0, 1},
		{"does not open, and nobody said that it might not",
			outcome{N: []uint64{0}, Gone: true, Broken: "did not open"}, false, 1, 1},
		{"lacks a commit", outcome{N: []uint64{0}}, true, 1, 0},
		{"can be read but for what was acknowledged", outcome{N: []uint64{0}, Gone: true, Hole: true, Broken: "hole"},
			true, 1, 1},
		{"can be read but for a commit in doubt", outcome{N: []uint64{2}, Broken: "hole"}, true, 0, 1},
	} {
		one := &cell{breaks: c.breaks}
		if one.judge(tr, c.o); one.keeps.failed != c.keeps || one.whole.failed != c.whole {
			t.Errorf("%s: %d and %d, want %d and %d", c.name, one.keeps.failed, one.whole.failed, c.keeps, c.whole)
		}
	}
}

// A weaker commit that a synced one covers must be there when power fails, though that one has
// changed nothing.
func TestAWeakerCommitThatIsCoveredIsLost(t *testing.T) {
	t.Parallel()
	weak := ack{N: 4, Weak: true, Began: 10, Done: 20}
	cover := ack{N: 4, Began: 30, Done: 40}
	tr := trial{at: 50, ledger: ledger{acks: [][]ack{{{N: 3, Began: 1, Done: 5}, weak, cover}}}}
	if lost, _ := tr.lost([]uint64{3}); lost != 1 {
		t.Errorf("%d commits are lost, want the one that was covered", lost)
	}
	if tr.at = 40; tr.acked() != 2 {
		t.Fatalf("got %d acknowledged", tr.acked())
	}
	if lost, _ := tr.lost([]uint64{3}); lost != 0 {
		t.Errorf("%d commits are lost before it was covered", lost)
	}
	if what := tr.disorder([]uint64{4}); what != "" {
		t.Error(what)
	}
}

// Behind a loose commit nothing holds: a synced one between two would say that something does.
func TestNothingIsCoveredAmidLooseCommits(t *testing.T) {
	t.Parallel()
	covered := 0
	for seed := range uint64(64) {
		p := past{Seed: seed, Work: work{Loose: kv.Flushed}}
		if p.covered(looseCommits - 1) {
			t.Errorf("seed %d: covered amid them", seed)
		}
		if p.covered(looseCommits) {
			covered++
		}
		if p.Work.Bare = true; p.covered(looseCommits) {
			t.Errorf("seed %d: covered where nothing is", seed)
		}
	}
	if covered == 0 || covered == 64 {
		t.Errorf("the last of them is covered in %d of 64", covered)
	}
}
