package prove

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// needsPower skips a test, loudly, where power cannot fail.
func needsPower(t *testing.T) {
	t.Helper()
	if err := powerfs.Available(); err != nil {
		t.Skipf("SKIPPED, nothing was shown: %v", err)
	}
}

var orderedRules = []string{"ordered/nothing", "ordered/prefix", "ordered/pages", "ordered/sectors", "ordered/everything"}

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
		engines = []string{"bbolt", "sqlite"}
	}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			o := options(t, engine, kv.Synced, result.FaultPower)
			o.Rules, o.Rounds, o.Images, o.Cut = orderedRules, 2, 2, 200
			if engine == "badger" || testing.Short() { // opening takes longer than writing
				o.Rounds, o.Images = 1, 1
			}
			for _, c := range prove(t, o) {
				if c.Keeps.Verdict != result.Proved || c.Whole.Verdict != result.Proved || !c.Keeps.Claimed || !c.Whole.Claimed {
					t.Errorf("%s: %+v", c.Rule, c)
				}
			}
		})
	}
}

func TestWeakerClassesLoseWhatTheyDoNotPromise(t *testing.T) {
	needsPower(t)
	for _, one := range []struct {
		engine       string
		class        kv.Durability
		keeps, whole string // under ordered/sectors
	}{
		{"bbolt", kv.Flushed, result.Disproved, result.Disproved},
		{"pebble", kv.Buffered, result.Disproved, result.Proved},
		{"sqlite", kv.Flushed, result.Disproved, result.Proved},
	} {
		t.Run(one.engine, func(t *testing.T) {
			t.Parallel()
			o := options(t, one.engine, one.class, result.FaultPower)
			o.Rules, o.Images, o.Cut = []string{"ordered/sectors", "ordered/everything"}, 2, 300
			if one.whole == result.Disproved { // what is left of it may hang at opening
				o.Hang = DefaultHang
			}
			cells := prove(t, o)
			c := cellOf(t, cells, "ordered/sectors")
			if c.Keeps.Verdict != one.keeps || c.Whole.Verdict != one.whole || c.Keeps.Claimed {
				t.Errorf("%+v", c)
			}
			if all := cellOf(t, cells, "ordered/everything"); one.class == kv.Flushed && (all.Lost > 0 || all.Broken > 0) {
				t.Errorf("the death of the process alone: %+v", all)
			}
		})
	}
}

func TestEngineThatDoesNotSyncIsFoundAndShownAgain(t *testing.T) {
	needsPower(t)
	t.Parallel()
	o := options(t, "unsynced", kv.Synced, result.FaultPower)
	o.Rules, o.Writers, o.Rounds = []string{"ordered/nothing"}, 1, 3
	p, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Unkept()) != 1 {
		t.Fatalf("%+v", p.Cells)
	}
	f := p.Cells[0].Keeps
	t.Log(f.Command)
	again := options(t, "unsynced", kv.Synced, result.FaultPower)
	again.Writers = 1
	words := strings.Fields(f.Command)
	for i := 2; i+1 < len(words); i += 2 {
		switch n, _ := strconv.ParseUint(words[i+1], 10, 64); words[i] {
		case "--rule":
			again.Rules = []string{words[i+1]}
		case "--seed":
			again.Seed = n
		case "--cut":
			again.Cut = n
		case "--rounds":
			again.Rounds = int(n)
		}
	}
	if again.Seed != f.Seed || again.Rounds != 1 || again.Cut == 0 {
		t.Errorf("%q does not name one round", f.Command)
	}
	if c := prove(t, again)[0]; c.Keeps.Verdict != result.Disproved || c.Rounds != 1 {
		t.Errorf("%q did not show it again: %+v", f.Command, c)
	}
}

func TestEveryOperationHasItsTurn(t *testing.T) {
	needsPower(t)
	t.Parallel()
	o := options(t, "bunt", kv.Synced, result.FaultPower)
	o.Rules, o.Rounds, o.Every = []string{"ordered/nothing"}, 0, 5
	c := prove(t, o)[0]
	if c.Acked >= int64(c.Rounds*shortCommits) {
		t.Errorf("power never failed before the last commit: %+v", c)
	}
	if c.Rounds < 5 || c.Images != c.Rounds || c.Keeps.Verdict != result.Proved {
		t.Errorf("%+v", c)
	}
}

func TestRecoveryThatIsCutCanBeRepeated(t *testing.T) {
	needsPower(t)
	t.Parallel()
	o := options(t, "sqlite", kv.Synced, result.FaultRecovery)
	o.Rounds, o.Cut = 1, 300
	c := prove(t, o)[0]
	if c.Rounds != recoveryCuts || c.Images == 0 || c.Keeps.Verdict != result.Proved || c.Whole.Verdict != result.Proved {
		t.Errorf("%+v", c)
	}
}

func TestFailingDisk(t *testing.T) {
	needsPower(t)
	t.Parallel()
	for _, fault := range []string{result.FaultEIO, result.FaultENOSPC} {
		o := options(t, "sqlite", kv.Synced, fault)
		o.Rounds = 3
		c := prove(t, o)[0]
		if c.Rounds != o.Rounds || c.Keeps.Verdict != result.Proved || c.Whole.Verdict != result.Proved || c.Acked == 0 {
			t.Errorf("%s: %+v", fault, c)
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
	p := &pair{entry: o.Entries[0], class: kv.Synced, caps: caps{Promise: kv.Promise{Supported: true, Class: kv.Synced, Intact: true}}}
	task := r.newTask(p, result.FaultPower)
	if err := l.controlLying(t.Context(), task, powerfs.Options{Lying: true}); err != nil {
		t.Errorf("a lying disk: %v", err)
	}
	var control *controlError
	if err := l.controlLying(t.Context(), task, powerfs.Options{}); !errors.As(err, &control) {
		t.Errorf("a disk that keeps what was synced, in place of a lying one: %v", err)
	}
	if err := l.controlEverything(t.Context(), task); err != nil {
		t.Errorf("nothing was lost: %v", err)
	}
	task.control.keeps.failed = 1 // as if the disk had lost what it should keep
	if err := l.controlEverything(t.Context(), task); !errors.As(err, &control) {
		t.Errorf("commits are lost in images that hold everything, and not when the process is killed: %v", err)
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
