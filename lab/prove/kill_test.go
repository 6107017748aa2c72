package prove

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

func TestSyncedEnginesKeepEverythingWhenKilled(t *testing.T) {
	engines := []string{"bbolt", "pebble", "badger", "bunt", "sqlite", "sqlite:?journal_mode=DELETE"}
	if testing.Short() {
		engines = []string{"bbolt", "pebble", "sqlite"}
	}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for _, c := range prove(t, options(t, engine, kv.Synced, result.FaultKill)) {
				if c.Keeps.Verdict != result.Proved || c.Whole.Verdict != result.Proved || c.Images == 0 ||
					!c.Keeps.Claimed {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

// TestOneKillThatWasAskedForComesBehindACommit has the first process be killed while it creates its
// store, and no other one go on in it.
func TestOneKillThatWasAskedForComesBehindACommit(t *testing.T) {
	t.Parallel()
	l, task := laneOf(t, "bbolt", result.FaultKill)
	l.Rounds = 1
	for l.Seed = 1; ; l.Seed++ {
		rng := rand.New(rand.NewPCG(mix(l.Seed, "kill"), l.Seed)) // of killRound
		alone, early := rng.IntN(maxGenerations) == 0, rng.IntN(4) == 0
		if _, _ = rng.IntN(maxKillAcks), rng.IntN(3000); alone && early && rng.IntN(30_000) < 100 { // µs
			break
		}
	}
	if _, err := l.kill(t.Context(), &job{task: task, of: 1, killing: time.Hour}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if c := l.runner.finish(task, task.cells[0]); c.Kills < 2 || c.Acked == 0 || c.Keeps.Verdict != result.Proved {
		t.Errorf("after %d kills %d commits were acknowledged: %+v", c.Kills, c.Acked, c.Keeps)
	}
}

func TestPebbleWithoutSyncLosesAcknowledgedWritesWhenKilled(t *testing.T) {
	t.Parallel()
	o := options(t, "pebble", kv.Buffered, result.FaultKill)
	o.Rounds = 3
	c := proveUntil(t, o, func(c result.ProofCell) bool { return c.Lost > 0 })
	if c.Keeps.Verdict != result.Disproved || c.Keeps.Claimed || c.Lost == 0 || c.Whole.Verdict != result.Proved {
		t.Errorf("%+v", c)
	}
}

// Of a kill on a real disk no operation is known; what it has left is kept all the same, and shows
// again what was found.
func TestWhatARealKillLeavesIsShownAgain(t *testing.T) {
	t.Parallel()
	l, task := laneOfClass(t, "pebble", kv.Buffered, result.FaultKill)
	c := task.cells[0]
	for seed := uint64(1); c.shown == nil; seed++ {
		if err := l.killRound(t.Context(), task, seed); err != nil {
			t.Fatal(err)
		}
	}
	l.Evidence, l.tasks = filepath.Join(t.TempDir(), "evidence"), append(l.tasks, task)
	if err := l.keepEvidence(); err != nil {
		t.Fatal(err)
	}
	tells, lacking, err := Again(t.Context(), c.shown.dir, l.Child)
	if err != nil || !strings.Contains(lacking, "acknowledged commits are lost") ||
		!strings.Contains(tells[1], "kill -9") {
		t.Errorf("got %q, %v, of\n%s", lacking, err, strings.Join(tells, "\n"))
	}
}

// A verifier that is late with what a real kill has left is asked once more at the end, as others
// are.
func TestWhatARealKillLeavesIsAskedForAgain(t *testing.T) {
	t.Parallel()
	l, task := laneOf(t, "bbolt", result.FaultKill)
	hang := l.Hang
	l.Hang = time.Nanosecond
	task.hung.Store(true)
	for seed := uint64(1); len(task.late) == 0; seed++ {
		if err := l.killRound(t.Context(), task, seed); err != nil {
			t.Fatal(err)
		}
	}
	c := task.cells[0]
	late, images := c.Late, c.Images
	l.Hang, l.tasks = hang, append(l.tasks, task)
	if err := l.askAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := len(task.late); c.Late != late-again || c.Images != images+again {
		t.Errorf("of %d states that were late %d are, and %d of %d others were looked at", late, c.Late, c.Images,
			images+again)
	}
}

// The disk does not hear of a commit that Badger writes into mapped memory, until that is written
// back.
func TestKillsOfAnEngineThatMapsItsFilesAreSeen(t *testing.T) {
	t.Parallel()
	l, task := laneOfClass(t, "badger", kv.Flushed, result.FaultKill)
	s := scene{writers: 1, work: work{Batch: 40}, legs: []leg{{"", 40}, {reopen, 20}}}
	rec, err := l.record(t.Context(), task, s, 7, run{})
	if err != nil {
		t.Fatal(err)
	}
	if !rec.mapped {
		t.Fatal("nothing was mapped")
	}
	x, err := l.frozen(t.Context(), &job{task: task, of: 1}, rec)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		x.left = x.left[:min(6, len(x.left))]
	}
	moments := len(x.left)
	if _, err := l.explore(t.Context(), task, x, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	c := task.cells[0]
	if c.States < 3 || c.Acked == 0 || c.keeps.failed+c.whole.failed > 0 {
		t.Errorf("of %d moments, behind up to %d commits, %d states: %d lack commits and %d are not whole: %s", moments,
			c.Acked, c.States, c.keeps.failed, c.whole.failed, c.What)
	}
	t.Logf("%d moments, %d states, %d commits", moments, c.States, c.Acked)
}
