package cli

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// writeRun writes a run of three engines, of which mine takes slower times as long and syncs so
// often, and returns its folder.
func writeRun(t *testing.T, operation string, slower, syncs float64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, uint64(1000*slower)))
	run := &result.Run{Schema: result.Schema, Cells: []result.Cell{}}
	for i, engine := range []string{"bbolt", "mine", "sqlite"} {
		c := result.Cell{Workload: "queue", Operation: operation, Engine: engine, Ranked: true, Status: result.OK,
			Workers: 1,
			Promise: result.Promise{Delivered: "synced", Intact: true, Proof: result.Proved}, Counted: 64,
			Syncs: &syncs}
		for r := range 60 {
			ns := 1000 * float64(1+i) * (1 + 0.02*rng.NormFloat64())
			if engine == "mine" {
				ns *= slower
			}
			c.Samples = append(c.Samples, result.Sample{Round: r, N: 100, NS: ns, Process: r / 10})
		}
		if engine != "mine" {
			two := 2.0
			c.Syncs = &two
		}
		run.Cells = append(run.Cells, c)
	}
	stats.Finish(run)
	dir := filepath.Join(t.TempDir(), "run")
	if err := result.Write(dir, run); err != nil {
		t.Fatal(err)
	}
	return dir
}

// typed runs a command line and returns its status and what it wrote.
func typed(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(t.Context(), args, strings.NewReader(""), &out, &errs, nil)
	return status, out.String(), errs.String()
}

func TestCompareFindsAPlantedChangeAndFails(t *testing.T) {
	old, slower, again := writeRun(t, "cycle", 1, 2), writeRun(t, "cycle", 1.3, 3), writeRun(t, "cycle", 1.0001, 2)
	status, out, errs := typed(t, "compare", old, slower, "--fail-on", "time>10%,syncs>0")
	for _, want := range []string{"slower", "more syncs", "time>10%: queue cycle mine takes 1.3",
		"syncs>0: queue cycle mine has 3, had 2", "1 slower, 0 faster"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if status != exitCrossed || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
	for _, limits := range []string{"", "time>50%", "written>0", "syncs>60%"} {
		if status, _, errs := typed(t, "compare", old, slower, "--fail-on", limits); status != exitOK {
			t.Errorf("limits %q: status %d, %s", limits, status, errs)
		}
	}
	if status, out, _ := typed(t, "compare", old, again, "--fail-on", "time>0%,syncs>0"); status != exitOK ||
		!strings.Contains(out, "0 slower, 0 faster, 3 equivalent") {
		t.Errorf("the same twice: status %d\n%s", status, out)
	}
	if status, out, _ := typed(t, "report", slower, "--against", old); status != exitOK ||
		!strings.Contains(out, "1 slower") {
		t.Errorf("report --against: status %d\n%s", status, out)
	}
	status, out, _ = typed(t, "compare", old, slower, "--json", "--beside", "bbolt", "--fail-on", "syncs>0")
	var c result.Comparison
	if err := json.Unmarshal([]byte(out), &c); err != nil || status != exitCrossed || len(c.Changes) != 2 ||
		c.Changes[0].Time != result.Slower || len(c.Crossed) != 1 {
		t.Errorf("status %d, %v: %+v", status, err, c)
	}
}

// A limit is not kept by what has no figure any more.
func TestWhatIsMeasuredNoMoreCrossesEveryLimit(t *testing.T) {
	old := writeRun(t, "cycle", 1, 2)
	for name, c := range map[string]struct {
		change func(*result.Cell)
		want   string
		status int
	}{
		"failed": {func(c *result.Cell) { c.Status, c.Error, c.Samples = result.Failed, "wrong answer", nil },
			"queue cycle, synced mine: failed: wrong answer", exitCrossed},
		"promises less": {func(c *result.Cell) { c.Promise.Delivered = "flushed" },
			"queue cycle, synced mine: its promise is flushed-intact now", exitCrossed},
		"was skipped": {func(c *result.Cell) { c.Status, c.Error, c.Samples = result.Skipped, "no time", nil },
			"1 timing of old not compared: skipped in new", exitOK},
		"was asked for another class": {func(c *result.Cell) { c.Promise.Requested, c.Promise.Delivered = "flushed", "flushed" },
			"2 timings compared", exitOK},
		"takes no part": {func(c *result.Cell) { c.Engine = "other" }, "2 timings compared", exitOK},
	} {
		run, err := result.Read(writeRun(t, "cycle", 1.0001, 2))
		if err != nil {
			t.Fatal(err)
		}
		c.change(&run.Cells[1])
		dir := filepath.Join(t.TempDir(), "run")
		if err := result.Write(dir, run); err != nil {
			t.Fatal(err)
		}
		status, out, errs := typed(t, "compare", old, dir, "--fail-on", "time>10%")
		if status != c.status || !strings.Contains(out, c.want) || errs != "" {
			t.Errorf("%s: status %d, want %d with %q\n%s%s", name, status, c.status, c.want, out, errs)
		}
		if status, _, _ := typed(t, "compare", old, dir); status != exitOK {
			t.Errorf("%s: status %d without a limit", name, status)
		}
	}
}

func TestCompareSaysWhatIsWrong(t *testing.T) {
	run, other := writeRun(t, "cycle", 1, 2), writeRun(t, "publish", 1, 2)
	for want, args := range map[string][]string{
		"nothing in common":      {run, other},
		"write time>5%":          {run, run, "--fail-on", "time>5"},
		"did you mean syncs?":    {run, run, "--fail-on", "sync>0"},
		"differ by a few":        {run, run, "--fail-on", "allocs>0"},
		"it has bbolt, mine":     {run, run, "--beside", "pebble"},
		"there is no":            {run, run + "-not"},
		"accepts 2 arg":          {run},
		`"x" is no limit`:        {run, run, "--fail-on", "syncs>x"},
		"write syncs>20%":        {run, run, "--fail-on", "syncs"},
		"unknown figure \"mem\"": {run, run, "--fail-on", "mem>1%"},
	} {
		if status, out, errs := typed(t, append([]string{"compare"}, args...)...); status == exitOK ||
			status == exitCrossed || !strings.Contains(errs, want) || strings.Contains(errs, "report:") || out != "" {
			t.Errorf("%q: status %d, %s%s", args, status, out, errs)
		}
	}
}

// A run that was interrupted is not the newest without a word.
func TestInterruptedRunIsPassedOver(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("HOME", home)
	dir, err := resultsDir()
	if err != nil {
		t.Fatal(err)
	}
	for name, interrupted := range map[string]bool{"2026-01-01T00-00-00": false, "2026-01-02T00-00-00": true} {
		run := &result.Run{Schema: result.Schema, Seed: 7, Interrupted: interrupted}
		if err := result.Write(filepath.Join(dir, name), run); err != nil {
			t.Fatal(err)
		}
	}
	_, out, errs := typed(t, "report", "--json")
	if strings.Contains(out, `"interrupted"`) || !strings.Contains(errs,
		"assay report "+filepath.Join(dir, "2026-01-02T00-00-00")) {
		t.Errorf("got %s%s", out, errs)
	}
}
