package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/workload"
)

func advising(t *testing.T, line string) (*adviseFlags, error) {
	t.Helper()
	f := &adviseFlags{promise: "synced", processes: 1, work: strings.Fields(line)}
	return f, f.check()
}

func TestWorkIsWhatARunTakesWithWeights(t *testing.T) {
	f, err := advising(t, "hook/put hook/get:10 hook/put:2 ycsb?read=95&update=5:3 queue")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, w := range f.needs.Work {
		got = append(got, strings.TrimSuffix(w.String(), "?")+" "+strings.Repeat("I", int(w.Weight)))
		if op := f.selections[i].Ops; len(op) != 1 || op[0].Name != w.Operation {
			t.Errorf("%v is measured by %v", w, op)
		}
	}
	want := "hook/put III, hook/get IIIIIIIIII, ycsb/mix?read=95&update=5 III, queue/cycle I"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

func TestManyProcessesAreMeasuredAsTheNextNumberThatTheWorkloadHas(t *testing.T) {
	for processes, want := range map[int]string{1: "cycle", 2: "cycle_processes_4", 4: "cycle_processes_4",
		9: "cycle_processes_16", 200: "cycle_processes_16"} {
		f := &adviseFlags{promise: "synced", processes: processes, work: []string{"queue"}}
		if err := f.check(); err != nil {
			t.Fatal(err)
		}
		if got := f.needs.Work[0].Operation; got != want {
			t.Errorf("%d processes: got %s, want %s", processes, got, want)
		}
	}
}

func TestAnyNumberOfProcessesIsMeasuredWhereAParameterSaysHowMany(t *testing.T) {
	op := workload.Op{Name: "put", Core: true, New: func(workload.Env) (workload.Runner, error) { return nil, nil }}
	some, four := op, op
	some.Name, four.Name = "processes", "processes_4"
	workload.Register(workload.Workload{Name: "crowd", Summary: "for this test", Ops: []workload.Op{op, four, some},
		Params: []workload.Param{{Name: "n", Default: "50"}}})
	for processes, want := range map[int]string{1: "crowd/put", 4: "crowd/processes_4", 200: "crowd/processes?n=200"} {
		f := &adviseFlags{promise: "synced", processes: processes, work: []string{"crowd/put"}}
		if err := f.check(); err != nil {
			t.Fatal(err)
		}
		if got := f.needs.Work[0].String(); got != want || len(f.unknown) > 0 ||
			f.selections[0].Ops[0].Name != f.needs.Work[0].Operation {
			t.Errorf("%d processes: got %s (%q), want %s", processes, got, f.unknown, want)
		}
	}
}

func TestWrongNeedsAreToldWithWhatIsRight(t *testing.T) {
	refuses(t, map[string]string{
		"advise --promise synced":                "name it: assay advise hook/put",
		"advise hook/put:often":                  "hook/put:10",
		"advise hook/put:-1":                     "hook/put:10",
		"advise hok":                             "did you mean hook?",
		"advise hook --promise durable":          "use synced, flushed or buffered",
		"advise hook --promise synce":            "did you mean synced?",
		"advise hook --memory lots":              "60MB",
		"advise hook --held":                     "--processes 4 --held",
		"advise hook --processes 0":              "--processes 14",
		"advise hook --processes 5001":           "from 1 to 1000",
		"advise hook --from nowhere --engines x": "unknown engine",
	})
}

func TestOnlyFiguresOfTheSameEnginesOnTheDisksOwnSpeedAreTakenByThemselves(t *testing.T) {
	now := map[string]string{"bbolt": "v1.5.0", "pebble": "v2.1.7"}
	for _, c := range []struct {
		e    result.Environment
		want bool
	}{
		{result.Environment{}, true},
		{result.Environment{Modules: map[string]string{"bbolt": "v1.5.0", "other": "v9"}}, true},
		{result.Environment{Modules: map[string]string{"bbolt": "v1.4.0"}}, false},
		{result.Environment{Storage: "hdd"}, false},
		{result.Environment{Unranked: "built with -race"}, false},
	} {
		if got := sameAsNow(c.e, now); got != c.want {
			t.Errorf("%+v: got %v", c.e, got)
		}
	}
}

// A run that another version of the lab wrote has times and ratios by another estimator.
func TestAKeptRunIsReadByTheEstimatorOfToday(t *testing.T) {
	run := &result.Run{Schema: result.Schema, Cells: []result.Cell{{Workload: "hook", Operation: "put", Engine: "bbolt", Ranked: true,
		Status: result.OK, NS: &result.Interval{Lo: 1, Mid: 1, Hi: 1}}}}
	for i := range 6 {
		run.Cells[0].Samples = append(run.Cells[0].Samples, result.Sample{Round: i, N: 10, NS: 500})
	}
	dir := t.TempDir()
	if err := result.Write(dir, run); err != nil {
		t.Fatal(err)
	}
	got, _, err := keptRun(&adviseFlags{from: dir}, nil, nil)
	if err != nil || got.Cells[0].NS.Mid != 500 {
		t.Errorf("got %+v, %v; want 500 ns, the time of its samples", got.Cells[0].NS, err)
	}
}

func TestAnswersBecomeFlags(t *testing.T) {
	a := &app{}
	g := answers{promise: "synced", processes: "one"}
	// The plain form of the questions: numbers of what is chosen, 0 ends a list.
	typed := "1\n0\n" + "hook/get:10\n" + "2\n" + "4\n" + "1\n3\n4\n5\n0\n" + "60MB\n" + "5ms\n" + "9MB\n"
	in := iotest.OneByteReader(strings.NewReader(typed))
	if err := a.questions(&g).WithAccessible(true).WithInput(in).WithOutput(&bytes.Buffer{}).Run(); err != nil {
		t.Fatal(err)
	}
	f := &adviseFlags{processes: 1}
	if err := g.fill(f); err != nil {
		t.Fatal(err)
	}
	const want = "assay advise 'hook' 'hook/get:10' --promise flushed --processes 2 --held --intact --proved --pure-go " +
		"--sql --memory 60MB --open 5ms --binary 9MB"
	if got := f.line(); got != want || f.open != 5*time.Millisecond {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"60MB": 60e6, "4.5MB": 45e5, "1GB": 1e9, "512kB": 512e3, "7B": 7} {
		var b byteSize
		if err := b.Set(text); err != nil || int64(b) != want {
			t.Errorf("%s: got %d, %v", text, b, err)
		}
	}
	for _, text := range []string{"", "60", "MB", "-1MB", "0B", "1e99GB", "NaNMB"} {
		if err := new(byteSize).Set(text); err == nil {
			t.Errorf("%q passed", text)
		}
	}
}
