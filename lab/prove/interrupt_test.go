package prove

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/workdir"
)

// newTestLane returns a lane with a folder of its own.
func newTestLane(t testing.TB, r *runner) (*lane, error) {
	t.Helper()
	var err error
	if r.dir, err = workdir.New(r.Dir); err != nil {
		return nil, err
	}
	l := &lane{runner: r}
	t.Cleanup(func() {
		l.close()
		if err := r.dir.Remove(); err != nil {
			t.Error(err)
		}
	})
	return l, nil
}

func TestInterruptedProofKeepsWhatItFoundAndLeavesNothing(t *testing.T) {
	faults := []string{result.FaultKill}
	if powerfs.Available() == nil {
		faults = append(faults, result.FaultPower, result.FaultEIO)
	}
	o := options(t, "pebble", kv.Buffered, faults...)
	o.Rounds = 1000
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p Progress) {
		if p.Round == 3 {
			cancel()
		}
	}
	p, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Interrupted || len(p.Cells) == 0 {
		t.Fatalf("interrupted %v, %d cells", p.Interrupted, len(p.Cells))
	}
	for _, c := range p.Cells {
		for _, f := range []result.Finding{c.Keeps, c.Whole} {
			if f.Verdict == result.Proved || f.Verdict == result.Unproved && f.Why != "interrupted" {
				t.Errorf("%s %s: %+v", c.Fault, c.Rule, f)
			}
		}
	}
	if left, err := os.ReadDir(o.Dir); err == nil {
		t.Errorf("left behind: %v", left)
	}
	checkNothingMounted(t, o.Dir)
	checkNoChildren(t)
}

// TestAKilledProofLeavesNothing kills a proof while its disk is mounted.
func TestAKilledProofLeavesNothing(t *testing.T) {
	needsPower(t)
	o := options(t, "sqlite", kv.Synced, result.FaultKill)
	prover := exec.Command(o.Child[0], proverRole, o.Dir)
	out, err := prover.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := prover.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("the prover said %q, %v", line, err)
	}
	if err := prover.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = prover.Wait()                                                             // it was killed
	for ctx := t.Context(); ctx.Err() == nil; time.Sleep(10 * time.Millisecond) { // until the test's time is over
		if left, err := os.ReadDir(o.Dir); err == nil && len(left) == 0 {
			break
		}
	}
	checkNothingMounted(t, o.Dir)
}

// runProver runs a proof in dir and says when it has reached its third power cut.
func runProver(dir string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	o := Options{Entries: plainEntries("sqlite"), Classes: []kv.Durability{kv.Synced},
		Faults: []string{result.FaultPower}, Rounds: 100_000, Dir: dir,
		Child: []string{exe, role}, Progress: func(p Progress) {
			if p.Round == 3 {
				fmt.Println("third")
			}
		}}
	_, err = Run(context.Background(), o)
	return err
}

// checkNoChildren fails if this process has children.
func checkNoChildren(t *testing.T) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == fmt.Sprint(os.Getpid()) {
			t.Errorf("a child is left: %s", stat)
		}
	}
}
