package prove

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// needsPower skips a test, loudly, where power cannot fail.
func needsPower(t testing.TB) {
	t.Helper()
	if err := powerfs.Available(); err != nil {
		t.Skipf("NOT TESTED: power cannot fail on this machine: %v", err)
	}
}

var orderedRules = []string{"ordered/nothing", "ordered/prefix", "ordered/pages", "ordered/sectors",
	"ordered/everything"}

// cellOf returns the cell of a rule.
func cellOf(t *testing.T, cells []result.ProofCell, rule string) result.ProofCell {
	t.Helper()
	for _, c := range cells {
		if c.Rule == rule {
			return c
		}
	}
	t.Fatalf("no cell of %s", rule)
	return result.ProofCell{}
}

func TestSyncedEnginesKeepEverythingWhenPowerFails(t *testing.T) {
	needsPower(t)
	engines := []string{"bbolt", "pebble", "badger", "sqlite", "sqlite:?journal_mode=DELETE"}
	if testing.Short() {
		engines = engines[:1]
	}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			o := options(t, engine, kv.Synced, result.FaultPower)
			o.Rules, o.Rounds = orderedRules, 1
			for _, c := range prove(t, o) {
				if c.Keeps.Verdict != result.Proved || c.Whole.Verdict != result.Proved || !c.Keeps.Claimed ||
					!c.Whole.Claimed {
					t.Errorf("%s: %+v", c.Rule, c)
				}
			}
		})
	}
}

func TestWeakerClassesLoseWhatTheyDoNotPromise(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of states take long to open, and a flushed log shows it, too: without -short")
	}
	needsPower(t)
	for _, one := range []struct {
		engine       string
		class        kv.Durability
		keeps, whole string // under ordered/pages
	}{
		{"bbolt", kv.Flushed, result.Disproved, result.Disproved},
		{"pebble", kv.Buffered, result.Disproved, result.Proved},
		{"sqlite", kv.Flushed, result.Disproved, result.Proved},
	} {
		t.Run(one.engine, func(t *testing.T) {
			t.Parallel()
			o := options(t, one.engine, one.class, result.FaultPower)
			o.Rules, o.Rounds = []string{"ordered/pages", "ordered/sectors", "ordered/everything"}, 1
			if one.whole == result.Disproved { // what is left of it may hang at opening
				o.Hang = DefaultHang
			}
			cells := prove(t, o)
			c := cellOf(t, cells, "ordered/pages")
			if c.Keeps.Verdict != one.keeps || c.Whole.Verdict != one.whole || c.Keeps.Claimed {
				t.Errorf("%+v", c)
			}
			if all := cellOf(t, cells, "ordered/everything"); one.class == kv.Flushed &&
				(all.Lost > 0 || all.Broken > 0) {
				t.Errorf("the death of the process alone: %+v", all)
			}
		})
	}
}

func TestEngineThatDoesNotSyncIsFoundAndShownAgain(t *testing.T) {
	needsPower(t)
	t.Parallel()
	o := options(t, "unsynced", kv.Synced, result.FaultPower)
	o.Rules, o.Rounds, o.Evidence = []string{"ordered/nothing"}, 1, t.TempDir()
	p, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Unkept()) != 1 {
		t.Fatalf("%+v", p.Cells)
	}
	f := p.Cells[0].Keeps
	dir, ok := strings.CutPrefix(f.Command, "assay prove --again ")
	if !ok {
		t.Fatalf("%q does not name the state", f.Command)
	}
	for range 2 { // verifying must not change it
		tells, lacking, err := Again(t.Context(), dir, o.Child)
		if err != nil || !strings.Contains(lacking, " acknowledged commits are lost; of writer 0 there is ") {
			t.Errorf("shown again: %q, %v", lacking, err)
		}
		all := strings.Join(tells, "\n") + "\n"
		for _, want := range []string{"crash: before operation ", "left: ordered/nothing\n", "  by writer 0: ",
			"operations before it:\n", "write ", "on the disk:\n", " bytes\n",
			"expected: a store that opens, passes its check and holds a prefix of the commits, all that were acknowledged"} {
			if !strings.Contains(all, want) {
				t.Errorf("%q is not told in\n%s", want, all)
			}
		}
		kept, err := os.ReadFile(filepath.Join(dir, tellsName))
		if want := all + "found: " + lacking + "\n"; err != nil || string(kept) != want {
			t.Errorf("kept is, %v,\n%s\nwant\n%s", err, kept, want)
		}
	}
}

// A store of SQLite without a log syncs five times a commit: what is tried before each of those
// left no time for the rules that only other states try.
func TestEveryRuleIsTriedInTheFirstSlice(t *testing.T) {
	t.Parallel()
	l, task := laneOf(t, "sqlite:?journal_mode=DELETE", result.FaultPower)
	if err := l.checkRules(); err != nil {
		t.Fatal(err)
	}
	task = l.newTask(task.pair, task.fault)
	if _, err := l.power(t.Context(), &job{task: task, of: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	kill := l.newTask(task.pair, result.FaultKill)
	kj := &job{task: kill, of: 1, killing: time.Hour} // without real kills
	if _, err := l.kill(t.Context(), kj, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, c := range append(task.cells, kill.cells...) {
		if f := l.runner.finish(task, c); f.Keeps.Verdict == result.Unproved || f.Whole.Verdict == result.Unproved {
			t.Errorf("%s: %d states, behind %d commits: %s", c.Rule, c.States, c.Acked, f.Keeps.Why)
		}
	}
}

func TestEveryOperationHasItsTurn(t *testing.T) {
	steps := []powerfs.Step{{Kind: powerfs.OnCreate, Path: "log1"}}
	for range 40 {
		steps = append(steps, powerfs.Step{Kind: powerfs.OnWrite, Path: "log1"},
			powerfs.Step{Kind: powerfs.OnSync, Path: "log1"})
	}
	steps[70] = powerfs.Step{Kind: powerfs.OnRename, Path: "log1"}
	order := moments(course{steps: steps}, 0, rand.New(rand.NewPCG(1, 1)))
	if at := slices.Index(order, 71); at < 0 || at > 8 {
		t.Errorf("the moment behind the only rename comes at place %d", at)
	}
	slices.Sort(order)
	for i, moment := range order {
		if i != moment {
			t.Fatalf("got %d, want moments 0 to %d once", order, len(steps))
		}
	}
	if len(order) != len(steps)+1 {
		t.Errorf("got %d moments of %d operations", len(order), len(steps))
	}
}

func TestOperationsFailOneOfEachKindFirst(t *testing.T) {
	creation := []powerfs.Step{{Kind: powerfs.OnCreate, Path: "log1"}, {Kind: powerfs.OnSync, Path: ""}}
	commit := []powerfs.Step{{Kind: powerfs.OnWrite, Path: "log1"}, {Kind: powerfs.OnSync, Path: "log1"}}
	compaction := []powerfs.Step{{Kind: powerfs.OnWrite, Path: "table1"}, {Kind: powerfs.OnSync, Path: "table1"}}
	one := slices.Concat(creation, commit, commit, commit, commit, compaction, commit)
	two := slices.Concat(creation, commit, commit, commit, commit, commit)
	places := order([]course{{steps: one}, {steps: two}}, failing, rand.New(rand.NewPCG(1, 1)))
	if len(places) != len(one)+len(two) {
		t.Errorf("got %d places of %d operations", len(places), len(one)+len(two))
	}
	seen := map[chosen]bool{}
	var syncs []string
	for _, p := range places {
		p.nth, p.turn = 0, 0
		if seen[p] {
			t.Errorf("operation %d of %d comes twice", p.step, p.of)
		}
		seen[p] = true
		steps := [][]powerfs.Step{one, two}[p.of]
		if steps[p.step].Kind == powerfs.OnSync {
			syncs = append(syncs, surroundings(course{steps: steps})[p.step])
		}
	}
	kinds := slices.Compact(slices.Sorted(slices.Values(syncs)))
	first := slices.Compact(slices.Sorted(slices.Values(syncs[:len(kinds)])))
	if len(kinds) < 4 || !slices.Equal(first, kinds) {
		t.Errorf("of the kinds %q, the first %d syncs are %q", kinds, len(kinds), first)
	}
	at := func(path string) int {
		return slices.IndexFunc(places, func(p chosen) bool {
			s := [][]powerfs.Step{one, two}[p.of][p.step]
			return s.Kind == powerfs.OnSync && s.Path == path
		})
	}
	if at("table1") > 8 || at("log1") > 4 {
		t.Errorf("the rare sync comes at place %d, the most frequent one at %d", at("table1"), at("log1"))
	}
}

func TestRecoveryThatIsCutCanBeRepeated(t *testing.T) {
	needsPower(t)
	t.Parallel()
	o := options(t, "sqlite", kv.Synced, result.FaultRecovery)
	o.Rounds = 1
	c := prove(t, o)[0]
	if c.Rounds < roundMoments || c.Images == 0 || c.Keeps.Verdict != result.Proved ||
		c.Whole.Verdict != result.Proved {
		t.Errorf("%+v", c)
	}
}

func TestFailingDisk(t *testing.T) {
	needsPower(t)
	t.Parallel()
	o := options(t, "sqlite", kv.Synced, result.FaultEIO, result.FaultENOSPC)
	if o.Rounds = 12; testing.Short() { // a log is tried with both
		o.Rounds, o.Faults = 1, o.Faults[:1]
	}
	for _, c := range prove(t, o) {
		if c.Rounds < o.Rounds || c.Keeps.Verdict != result.Proved || c.Whole.Verdict != result.Proved || c.Acked == 0 {
			t.Errorf("%s: %+v", c.Fault, c)
		}
	}
}

// TestControlsFindADiskThatDoesNotLosePower breaks the disk, not the engine.
func TestControlsFindADiskThatDoesNotLosePower(t *testing.T) {
	needsPower(t)
	t.Parallel()
	o := options(t, "bbolt", kv.Synced, result.FaultPower)
	r := &runner{Options: o.withDefaults()}
	if err := r.check(); err != nil {
		t.Fatal(err)
	}
	l, err := newTestLane(t, r)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{entry: o.Entries[0], class: kv.Synced, caps: caps{Promise: kv.Promise{Supported: true, Class: kv.Synced,
		Intact: true}}}
	task := r.newTask(p, result.FaultPower)
	if err := l.controlLying(t.Context(), task, powerfs.Options{Lying: true}); err != nil {
		t.Errorf("a lying disk: %v", err)
	}
	var control *controlError
	if err := l.controlLying(t.Context(), task, powerfs.Options{}); !errors.As(err, &control) {
		t.Errorf("a disk that keeps what was synced, in place of a lying one: %v", err)
	}
}

// checkNothingMounted fails if a disk is mounted below dir.
func checkNothingMounted(t *testing.T, dir string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err == nil && strings.Contains(string(mounts), filepath.Clean(dir)) {
		t.Errorf("a disk is still mounted below %s", dir)
	}
}

// TestAFaultBeforeAllCommitsIsNotTheOnlyOne asks for a single fault, and that one keeps the store
// from being opened.
func TestAFaultBeforeAllCommitsIsNotTheOnlyOne(t *testing.T) {
	t.Parallel()
	l, task := laneOf(t, "bbolt", result.FaultEIO)
	l.Rounds = 1
	j := &job{task: task, of: 1}
	targets, err := l.targetsOf(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	j.targets = append([]target{{Fault: powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Sticky: true}}}, targets...)
	more, err := l.faults(t.Context(), j, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if c := task.cells[0]; more || c.Acked == 0 {
		t.Errorf("%d faults, of which none came behind a commit; more %v", j.made, more)
	}
}
