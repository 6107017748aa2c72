package bench

import (
	"context"
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

func TestRunMeasuresEveryEngineAtEveryPromise(t *testing.T) {
	t.Parallel()
	o := options(t, "a=bbolt:,b=bbolt:", "ycsb/A,readrandom?records=200")
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, c := range run.Cells {
		if c.Status != result.OK {
			t.Errorf("%s %s %v: %s: %s", c.Name(), c.Operation, c.Promise, c.Status, c.Error)
			continue
		}
		seen[c.Operation+" "+c.Promise.Delivered]++
		if isMix := c.Operation == "A"; isMix != (c.Cycle == 2) {
			t.Errorf("%s is told to be a mix of %d operations", c.Operation, c.Cycle)
		}
		if c.N == 0 || c.NS == nil || c.Latency == nil || c.Allocs == nil || c.CPU == nil || c.RSS == nil ||
			c.Open == nil ||
			c.Size == nil || c.Size.Loaded == nil || c.Size.Churned == nil || c.Files == nil || len(c.Settings) == 0 {
			t.Errorf("%s %s %v lacks figures: %+v", c.Name(), c.Operation, c.Promise, c)
		}
		if ranks := unranked(t) == ""; len(c.Samples) > 1 && (c.Ratio != nil) != ranks {
			t.Errorf("%s %s %v has a ratio: %v, want %v", c.Name(), c.Operation, c.Promise, c.Ratio != nil, ranks)
		}
	}
	for _, want := range []string{"A synced", "A flushed", "readrandom read"} {
		if seen[want] != 2 {
			t.Errorf("%d cells of %q, want one for each engine: %v", seen[want], want, seen)
		}
	}
	if run.Floor.AppendSync == nil || run.Floor.OverwriteSync == nil || run.Floor.OpenClose == nil {
		t.Errorf("the floor was not measured: %+v", run.Floor)
	}
	checkEmpty(t, o.Dir)
}

// unranked returns why this binary's timings mean nothing, as the race detector's do; "" if they
// mean something.
func unranked(t *testing.T) string {
	t.Helper()
	env, _ := result.CurrentEnvironment(t.TempDir(), nil)
	return env.Unranked
}

// checkEmpty holds a run to leaving nothing behind.
func checkEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("the run left %s behind", filepath.Join(dir, e.Name()))
	}
}

func TestSyncsAndWritesAreCounted(t *testing.T) {
	if err := powerfs.Available(); err != nil {
		t.Skip("NOT TESTED: no disk can be mounted that counts: ", err)
	}
	t.Parallel()
	o := options(t, "bbolt", "ycsb/fillrandom,readrandom?records=100")
	o.Classes = []kv.Durability{kv.Synced, kv.Flushed}
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// bbolt syncs its pages and then its meta page, or nothing.
	want := map[string]float64{"synced": 2, "flushed": 0}
	for _, c := range run.Cells {
		syncs, commits := want[c.Promise.Delivered]
		switch {
		case c.Status != result.OK:
			t.Errorf("%s: %s", c.Operation, c.Error)
		case !commits && c.Syncs != nil:
			t.Errorf("%s reads, and yet its syncs were counted", c.Operation)
		case commits && (c.Syncs == nil || *c.Syncs < syncs || *c.Syncs > syncs+0.5):
			t.Errorf("%s at %s: %v syncs, want %v and now and then one more for a file that grows", c.Operation,
				c.Promise.Delivered, c.Syncs, syncs)
		case commits && (*c.Writes < 2 || *c.Written < 2*4096):
			t.Errorf("%s at %s: %v writes of %v B in all, want at least two pages", c.Operation, c.Promise.Delivered,
				*c.Writes, *c.Written)
		}
	}
	checkEmpty(t, o.Dir)
}

func TestStorageIsAsSlowAsItsModel(t *testing.T) {
	if err := powerfs.Available(); err != nil {
		t.Skip("NOT TESTED: no modelled disk can be mounted: ", err)
	}
	t.Parallel()
	o := options(t, "bbolt", "ycsb/fillrandom?records=100")
	o.Classes = []kv.Durability{kv.Synced}
	o.Storage = powerfs.Latency{Name: "test", Sync: 5 * time.Millisecond}
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(run.Environment.Storage, "flush 5ms") {
		t.Errorf("the environment says %q of the storage", run.Environment.Storage)
	}
	if c := run.Cells[0]; c.Status != result.OK || c.NS == nil || c.NS.Mid < 1e7 {
		t.Errorf("%s %s: a commit with two syncs took %+v, less than two flushes", c.Status, c.Error, c.NS)
	}
	if f := run.Floor.AppendSync; f == nil || f.Mid < 5e6 {
		t.Errorf("the floor is %+v: not of the modelled disk", f)
	}
	checkEmpty(t, o.Dir)
}

// An operation that an open loop cannot do is left out, with the reason: no engine has failed.
func TestWhatAnOpenLoopCannotDoIsSkipped(t *testing.T) {
	t.Parallel()
	o := options(t, "bbolt", "hook/delete_stale,get?keys=10")
	o.Classes, o.Rate = []kv.Durability{kv.Flushed}, 50
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range run.Cells {
		if c.Operation == "get" {
			if c.Status != result.OK {
				t.Errorf("get: %s: %s", c.Status, c.Error)
			}
		} else if c.Status != result.Skipped || !strings.Contains(c.Hint, "--rate") {
			t.Errorf("%s %s: %s: %s (%s)", c.Operation, c.Name(), c.Status, c.Error, c.Hint)
		}
	}
}

// TestWhoHasLittleTimeHasNotHung gives an engine that never answers less time than it would have.
func TestWhoHasLittleTimeHasNotHung(t *testing.T) {
	o := options(t, "hanging:", "ycsb/readrandom?records=100")
	o.Hang, o.Budget = 0, 15*time.Second
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if c := run.Cells[0]; c.Status != result.Skipped || !strings.Contains(c.Hint, "--budget") {
		t.Errorf("got %s: %s (%s), want one without time", c.Status, c.Error, c.Hint)
	}
}

func TestAFaultyEngineEndsItsOwnCellsAlone(t *testing.T) {
	for _, c := range []struct{ engine, want string }{
		{"crashing", "panic: planted crash"},
		{"killed", "crashed: signal: killed"},
		{"hanging", "hung: no answer"},
		{"failing", "planted failure"},
		{"lying", "not found"},
	} {
		t.Run(c.engine, func(t *testing.T) {
			t.Parallel()
			o := options(t, "bbolt,bad="+c.engine+":", "ycsb/readrandom,C?records=100")
			o.Hang = DefaultHang
			if c.engine == "hanging" {
				o.Hang = 2 * time.Second
			}
			run, err := Run(t.Context(), o)
			for err == nil && o.Hang < time.Minute && hung(run, "bbolt") { // the machine is slower than that
				o.Hang *= 4
				run, err = Run(t.Context(), o)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, cell := range run.Cells {
				switch cell.Engine {
				case "bad":
					if cell.Status != result.Failed || !strings.Contains(cell.Error, c.want) {
						t.Errorf("%s of the faulty engine: %s %q, want failed with %q", cell.Operation, cell.Status,
							cell.Error, c.want)
					}
					if cell.NS != nil || cell.N != 0 || len(cell.Samples) != 0 {
						t.Errorf("%s failed and yet has a time: %+v", cell.Operation, cell)
					}
				default:
					if cell.Status != result.OK || cell.N == 0 {
						t.Errorf("%s of the sound engine: %s %q", cell.Operation, cell.Status, cell.Error)
					}
				}
			}
			checkEmpty(t, o.Dir)
		})
	}
}

// hung reports whether the harness gave an engine up that had not answered in time.
func hung(run *result.Run, engine string) bool {
	return slices.ContainsFunc(run.Cells, func(c result.Cell) bool {
		return c.Engine == engine && strings.HasPrefix(c.Error, "hung")
	})
}

func TestAnInterruptKeepsWhatWasMeasuredAndLeavesNothing(t *testing.T) {
	t.Parallel()
	o := options(t, "a=bbolt:,b=bbolt:", "ycsb/fillseq,C,readrandom?records=200")
	o.Classes, o.Budget = []kv.Durability{kv.Synced}, time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p Progress) {
		if p.Group == 2 && p.Round == 3 {
			cancel()
		}
	}
	run, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if !run.Interrupted {
		t.Error("the run does not say that it was interrupted")
	}
	measured := map[string]bool{}
	for _, c := range run.Cells {
		if c.Status == result.OK && c.N > 0 {
			measured[c.Operation] = true
		}
	}
	if len(measured) != 2 {
		t.Errorf("measured %v, want the operation that ended and the one that was interrupted", measured)
	}
	checkEmpty(t, o.Dir)
}

func TestSyncedIsRefusedOnATmpfs(t *testing.T) {
	t.Parallel()
	const shm = "/dev/shm"
	if env, _ := result.CurrentEnvironment(shm, nil); !env.Tmpfs {
		t.Skipf("NOT TESTED: %s is no tmpfs on this system", shm)
	}
	dir, err := os.MkdirTemp(shm, "assay-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := options(t, "bbolt", "ycsb/fillrandom?records=100")
	o.Dir = dir
	o.Classes = []kv.Durability{kv.Synced}
	if _, err := Run(t.Context(), o); kv.KindOf(err) != kv.Unsupported || !strings.Contains(kv.HintOf(err), "--dir") {
		t.Errorf("synced on a tmpfs: %v, want Unsupported with a hint at --dir", err)
	}
	o.Classes = nil
	run, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range run.Cells {
		if c.Promise.Delivered == "synced" {
			t.Errorf("a cell was measured at synced on a tmpfs: %+v", c)
		}
	}
	checkEmpty(t, dir)
}

func TestFolderThatCannotBeWrittenIsOneClearError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(t, "bbolt", "ycsb/readrandom")
	o.Dir = filepath.Join(file, "data")
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), file) ||
		!strings.Contains(kv.HintOf(err), "--dir") {
		t.Errorf("a file where the folder should be: %v, hint %q", err, kv.HintOf(err))
	}
}
