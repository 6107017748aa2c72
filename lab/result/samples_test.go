package result

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"
)

// parsed returns what golang.org/x/perf reads in data; nothing in it may be a syntax error.
func parsed(t *testing.T, data []byte) []*benchfmt.Result {
	t.Helper()
	var all []*benchfmt.Result
	r := benchfmt.NewReader(bytes.NewReader(data), SamplesFile)
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			all = append(all, rec.Clone())
		case *benchfmt.SyntaxError:
			t.Errorf("%v in\n%s", rec, data)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestBenchfmtReadsSamples(t *testing.T) {
	all := parsed(t, Samples(example()))
	if len(all) != 4 {
		t.Fatalf("%d results, want 3 rounds and 1, and none of the failed cell", len(all))
	}
	first := all[0]
	if got, want := first.Name.String(), "Events/op=append1/engine=bbolt/promise=synced-intact"; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
	for i, want := range []float64{1100e-9, 1200e-9, 1300.5e-9} {
		if got, ok := all[i].Value("sec/op"); !ok || got < 0.999*want || got > 1.001*want {
			t.Errorf("round %d took %g s/op, want %g", i, got, want)
		}
	}
	for unit, want := range map[string]float64{"B/op": 128, "allocs/op": 3, "written-B/op": 4096, "syncs/op": 2,
		"rss-B": 1 << 20} {
		if got, ok := first.Value(unit); !ok || got != want {
			t.Errorf("%s is %g, %v; want %g", unit, got, ok, want)
		}
	}
	for i, r := range all[1:3] {
		if _, ok := r.Value("allocs/op"); ok {
			t.Errorf("round %d tells again what was measured once", i+1)
		}
	}
	for _, comment := range []string{"# seed: 18446744073709551615\n", "# started: 2026-11-02T03:04:05Z\n",
		"# module go.etcd.io/bbolt: v1.5.0\n"} {
		if !bytes.Contains(Samples(example()), []byte(comment)) {
			t.Errorf("no comment %q", comment)
		}
	}
	for key, want := range map[string]string{"goos": "linux", "cpu": "Example CPU", "cpus": "2", "filesystem": "ext4"} {
		if got := first.GetConfig(key); got != want {
			t.Errorf("configuration %s is %q, want %q", key, got, want)
		}
	}
	if got, want := all[3].Name.String(), "Events/op=read_100/engine=sqlite/form=sql/params=events=10&x=a_b/workers=8/promise=read"; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
}

// TestBenchstatComparesTwoRuns runs benchstat without options, as one does with the files of go
// test -bench.
func TestBenchstatComparesTwoRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("builds benchstat; not in a short run")
	}
	before, after := example(), example()
	after.Seed, after.Started, after.Environment.Assay, after.Environment.Go = 1, after.Started.AddDate(0, 0, 1),
		"v9.9.9", "go9.9"
	after.Environment.Modules["go.etcd.io/bbolt"] = "v9.9.9"
	dir := t.TempDir()
	args := []string{"tool", "-modfile=" + filepath.Join("..", "..", "tools.mod"), "benchstat"}
	for name, run := range map[string]*Run{"a.txt": before, "b.txt": after} {
		c := &run.Cells[0]
		c.Samples = nil
		for i := range 10 {
			c.Samples = append(c.Samples, Sample{Round: i, N: 100, NS: 1000 + float64(i)})
			if run == after {
				c.Samples[i].NS *= 2
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), Samples(run), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", append(args, filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt"))...).Output()
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`Events/op=append1/engine=bbolt/promise=synced-intact +1\.00\S+ ± 0% +2\.00\S+ ± 0% +\+100\.00% \(p=0\.000 n=10\)`)
	if !row.Match(out) {
		t.Errorf("the two runs do not stand side by side with twice the time:\n%s", out)
	}
	if bytes.Contains(out, []byte("allocs/op")) && !bytes.Contains(out, []byte("n=1)")) {
		t.Errorf("what was measured once is told as samples:\n%s", out)
	}
}

func TestNumbersHaveSixDigits(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 3: "3", 100: "100", 1300.5: "1300.5", 2096579.487: "2096579", 0.25: "0.25", 1.0 / 3: "0.333333",
		1e9: "1000000000", -2.5: "-2.5",
	} {
		if got := number(f); got != want {
			t.Errorf("%g is printed as %q, want %q", f, got, want)
		}
	}
}

func TestBenchstatProjectsByEngine(t *testing.T) {
	var parser benchproc.ProjectionParser
	columns, err := parser.Parse("/engine,/promise", nil)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, r := range parsed(t, Samples(example())) {
		counts[columns.Project(r).String()]++
	}
	if counts["/engine:bbolt /promise:synced-intact"] != 3 || counts["/engine:sqlite /promise:read"] != 1 {
		t.Errorf("projected: %v", counts)
	}
}

func FuzzSamples(f *testing.F) {
	f.Add("events", "append1", "bbolt", "a=1", "linux", "ns/op")
	f.Add("", "a b/c", "x-12", "\n\t", "two\nlines: 1", " ")
	f.Fuzz(func(t *testing.T, workload, operation, engine, params, value, metric string) {
		run := example()
		c := &run.Cells[0]
		c.Workload, c.Operation, c.Engine, c.Params, run.Environment.CPU, c.Metrics[0].Name = workload, operation,
			engine, params, value, metric
		run.Environment.Modules[value] = value
		if got := len(parsed(t, Samples(run))); got != 4 {
			t.Errorf("%d results, want 4, in\n%s", got, Samples(run))
		}
	})
}
