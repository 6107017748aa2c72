package report

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// growingRun is a run with stores of several sizes, and several writers and processes.
func growingRun() *result.Run {
	run := *exampleRun()
	b := builder{rand.New(rand.NewPCG(3, 3)), &run}
	synced := result.Promise{Requested: "synced", Delivered: "synced", Intact: true, Proof: "proved", Images: 1240}
	reads := result.Promise{Delivered: "read", Intact: true, Proof: "proved"}
	for e, engine := range []string{"bbolt", "pebble", "sqlite"} {
		for i, records := range []string{"10k", "100k", "1M", "10M"} {
			c := b.cell("ycsb", "C", engine, reads, 700*float64(e+1)*float64(1+i*e), 14)
			c.Params, c.Open = "records="+records+"&value=100", ptr(int64(80_000*(e+1)*(i+1)))
		}
		for _, writers := range []int{1, 2, 4, 8} {
			c := b.cell("events", "append_parallel", engine, synced, 800_000/float64(1+writers*e), 14)
			c.Params, c.Workers = fmt.Sprintf("writers=%d", writers), writers
		}
		for _, processes := range []int{1, 4, 14} {
			c := b.cell("hook", fmt.Sprintf("processes_%d", processes), engine, synced, 9e6/float64(1+processes*e), 14)
			c.Workers = processes
		}
		b.cell("queue", "cycle", engine, synced, 1e6, 14)
		for _, workers := range []int{4, 16} {
			b.cell("queue", fmt.Sprintf("cycle_%d", workers), engine, synced, 1e6/float64(workers), 14).Workers = workers
		}
	}
	b.cell("queue", "cycle", "sqlite", synced, 6e5, 14).Form = "sql"
	b.cell("queue", "cycle_4", "sqlite", synced, 4e5, 14).Form, run.Cells[len(run.Cells)-1].Workers = "sql", 4
	stats.Finish(&run)
	return &run
}

func TestAnOperationAtSeveralNumbersIsDrawnAgainstThem(t *testing.T) {
	run := growingRun()
	figures := newFigures(&page{width: endless}, run, nil)
	all, err := figures.growthFigures()
	if err != nil {
		t.Fatal(err)
	}
	type line struct{ title, command, first string }
	var got []line
	for _, f := range all {
		var cells []string
		for _, c := range f.Table.Rows[0].Cells {
			cells = append(cells, c.Text)
		}
		command, _, _ := strings.Cut(f.Command, " --")
		got = append(got, line{f.Title, command, strings.Join(cells, " ")})
		for _, h := range f.Table.Head[1:] {
			if h.Text == "" {
				t.Errorf("%s: a column has no name", f.Title)
			}
		}
	}
	want := []line{
		{"hook processes: throughput against processes, synced, intact",
			"assay run hook/processes_1,processes_4,processes_14", "bbolt 111/s 111/s 112/s"},
		{"ycsb C?value=100: time against records", "assay run 'ycsb/C?value=100&records=10k,100k,1M,10M'",
			"bbolt 705 ns 705 ns 697 ns 700 ns"},
		{"ycsb C?value=100: time to open against records", "assay run 'ycsb/C?value=100&records=10k,100k,1M,10M'",
			"bbolt 80 µs 160 µs 240 µs 320 µs"},
		{"events append_parallel: throughput against writers, synced, intact",
			"assay run 'events/append_parallel?writers=1,2,4,8'", "bbolt 1246/s 1247/s 1255/s 1242/s"},
		{"queue cycle: throughput against workers, synced, intact", "assay run queue/cycle,cycle_4,cycle_16",
			"bbolt 1003/s 3996/s 16.1k/s"},
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("there is no %+v", w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d figures, want %d", len(got), len(want))
	}
	if t.Failed() {
		for _, g := range got {
			t.Logf("%+v", g)
		}
	}
	if notes := figures.ungrown(); len(notes) != 0 {
		t.Errorf("all was measured, and it says %+v", notes)
	}
}

// TestALegendNamesDashedLines holds that a reader who opens no table knows what a dashed line is.
func TestALegendNamesDashedLines(t *testing.T) {
	figures := newFigures(&page{width: endless}, growingRun(), nil)
	all, err := figures.growthFigures()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all {
		if strings.HasPrefix(f.Title, "queue cycle") {
			for _, k := range f.Legend {
				got = append(got, fmt.Sprint(k.Name, " ", k.Line))
			}
		}
	}
	if want := []string{"bbolt 0", "pebble 0", "sqlite 0", "sqlite/sql 1"}; !slices.Equal(got, want) {
		t.Errorf("the legend is %q, want %q", got, want)
	}
	if want := ` l1"></i>sqlite/sql</span>`; !strings.Contains(htmlOf(t, growingRun()), want) {
		t.Errorf("the page lacks %s", want)
	}
}

func TestWhatARunDoesNotShowGrowingHasItsCommand(t *testing.T) {
	figures := newFigures(&page{width: endless}, exampleRun(), nil)
	if all, err := figures.growthFigures(); err != nil || len(all) != 0 {
		t.Fatalf("%d figures of a run of one size, %v", len(all), err)
	}
	var said []string
	for _, n := range figures.ungrown() {
		said = append(said, n.Text+" "+n.Command)
	}
	for _, want := range []string{"assay run 'events/append_parallel?writers=1,2,4,8,16'",
		"assay run 'ycsb/A,C?records=10k,100k,1M'"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("it does not say %s: %q", want, said)
		}
	}
}

// TestALineThatEndsSaysWhy has an engine that was too slow for the largest store.
func TestALineThatEndsSaysWhy(t *testing.T) {
	run := growingRun()
	for i := range run.Cells {
		c := &run.Cells[i]
		if c.Workload == "ycsb" && c.Engine == "sqlite" && strings.Contains(c.Params, "10M") {
			c.Status, c.NS, c.Error = result.Skipped, nil, "no time was left for it"
		}
	}
	const said = "<p class=\"dim\">Not at 10M: sqlite: no time was left for it</p>"
	if n := strings.Count(htmlOf(t, run), said); n != 2 { // of time, and of opening
		t.Errorf("it is said %d times why a line ends, want 2", n)
	}
	if strings.Contains(htmlOf(t, growingRun()), "Not at ") {
		t.Error("a run that lacks nothing says that it lacks something")
	}
}

// TestOpeningIsDrawnOfTheMostSizes has an operation at two sizes before one at four.
func TestOpeningIsDrawnOfTheMostSizes(t *testing.T) {
	run := growingRun()
	for _, c := range slices.Clone(run.Cells) {
		if c.Workload == "ycsb" && (strings.Contains(c.Params, "=10k") || strings.Contains(c.Params, "=1M")) {
			c.Operation = "B"
			run.Cells = slices.Insert(run.Cells, 0, c)
		}
	}
	all, err := newFigures(&page{width: endless}, run, nil).growthFigures()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all {
		if strings.Contains(f.Title, "time to open") {
			got = append(got, fmt.Sprint(f.Title, " ", len(f.Table.Head)-1))
		}
	}
	if want := []string{"ycsb C?value=100: time to open against records 4"}; !slices.Equal(got, want) {
		t.Errorf("openings are drawn of %q, want %q", got, want)
	}
}

func TestChartsOfGrowthAreFilesToo(t *testing.T) {
	dir := t.TempDir()
	if _, err := Charts(dir, growingRun(), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"growth-time-ycsb-c-value-100-records-read.svg",
		"growth-throughput-queue-cycle-synced-intact.png"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	drawing, err := os.ReadFile(filepath.Join(dir, "growth-throughput-queue-cycle-synced-intact.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"queue cycle: throughput against workers, synced,", ">sqlite/sql<", ">bbolt<"} {
		if !strings.Contains(string(drawing), want) {
			t.Errorf("the file of a chart does not say %q", want)
		}
	}
}
