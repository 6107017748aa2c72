package report

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

var syncedProved = result.Promise{Delivered: "synced", Intact: true, Proof: "proved"}

// raceOf returns the only race of a run in which the engines took so many times as long as the
// first in so many rounds; 0 rounds are a skipped cell, and less a failed one.
func raceOf(engines []string, slower []float64, rounds []int) race {
	b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{}}
	for i, n := range rounds {
		switch {
		case n == 0:
			b.fail("hook", "put", engines[i], syncedProved, result.Skipped, "no time was left", "")
		case n < 0:
			b.fail("hook", "put", engines[i], syncedProved, result.Failed, "wrong answer", "")
		default:
			b.cell("hook", "put", engines[i], syncedProved, 1000*slower[i], n)
		}
	}
	stats.Finish(b.run)
	return matrices(b.run)[0].races[0]
}

// Nobody is called the fastest who won against nobody, against somebody who was skipped, or in too
// few rounds.
func TestFastestOnlyForSure(t *testing.T) {
	engines := []string{"bbolt", "sqlite", "pebble"}
	for name, c := range map[string]struct {
		slower []float64
		rounds []int
		want   string
	}{
		"told apart":     {[]float64{1, 2, 3}, []int{20, 20, 20}, "bbolt fastest, sqlite slower, pebble slower"},
		"alone":          {[]float64{1}, []int{20}, "bbolt alone"},
		"one skipped":    {[]float64{1, 2, 3}, []int{20, 20, 0}, "bbolt leads, sqlite slower, pebble skipped"},
		"all skipped":    {[]float64{1, 2, 3}, []int{20, 0, 0}, "bbolt leads, sqlite skipped, pebble skipped"},
		"one failed":     {[]float64{1, 2, 3}, []int{20, 20, -1}, "bbolt fastest, sqlite slower, pebble failed"},
		"others failed":  {[]float64{1, 2, 3}, []int{20, -1, -1}, "bbolt alone, sqlite failed, pebble failed"},
		"too few rounds": {[]float64{1, 2, 3}, []int{2, 2, 2}, "bbolt open, sqlite open, pebble open"},
		"one with few":   {[]float64{1, 2, 3}, []int{20, 20, 1}, "bbolt leads, sqlite slower, pebble open"},
		"equivalent":     {[]float64{1, 1, 3}, []int{60, 60, 60}, "bbolt leads, sqlite equivalent, pebble slower"},
	} {
		r := raceOf(engines, c.slower, c.rounds)
		var got []string
		for _, e := range engines[:len(c.rounds)] {
			s := r.standing(r.of(e))
			if c.slower[1:] != nil && name == "equivalent" && e != "pebble" { // which of the two leads is chance
				s = map[standing]standing{leads: leads, equivalent: equivalent}[s]
			}
			got = append(got, e+" "+[]string{"absent", "skipped", "failed", "alone", "fastest", "leads", "equivalent",
				"open", "slower", "behind"}[s])
		}
		text := strings.Join(got, ", ")
		if name == "equivalent" {
			text = strings.Replace(text, "bbolt equivalent, sqlite leads", "bbolt leads, sqlite equivalent", 1)
		}
		if text != c.want {
			t.Errorf("%s: got %s, want %s", name, text, c.want)
		}
	}
}

// newcomer is a finished run as large as a default one: six engines at eleven operations at three
// promises, some of it open.
func newcomer() *result.Run {
	b := builder{rand.New(rand.NewPCG(7, 7)), exampleRun()}
	b.run.Cells, b.run.Command = nil, []string{"assay", "run"}
	flushed := result.Promise{Delivered: "flushed", Intact: true, Proof: "proved"}
	buffered := result.Promise{Delivered: "buffered", Intact: true, Proof: "unproved"}
	reads := result.Promise{Delivered: "read", Proof: "proved"}
	for i, op := range []string{"hook put", "hook get", "events append1", "events append100", "events read100",
		"feed append", "feed read_random", "queue cycle",
		"records write_single", "records read", "ycsb A", "ycsb C", "ycsb E"} {
		workload, operation, _ := strings.Cut(op, " ")
		base := float64(20_000 * (1 + i*i))
		for j, engine := range []string{"bbolt", "pebble", "badger", "bunt", "sqlite", "sqlite-delete"} {
			ns, p := base*(1+float64((i+j)%6)*0.4), reads
			if strings.Contains("put append1 append100 append cycle write_single A E", operation) {
				p = syncedProved
			}
			rounds := 9 + 3*j
			if (i+j)%6 == 1 && i%3 == 0 {
				ns, rounds = base*1.06, 6
			}
			b.cell(workload, operation, engine, p, ns, rounds)
			if p.Delivered == "synced" {
				weaker := flushed
				if engine == "pebble" {
					weaker = buffered
				}
				b.cell(workload, operation, engine, weaker, ns/8, rounds)
			}
		}
	}
	stats.Finish(b.run)
	return b.run
}

// The last screen of a default run is its answer: all of it is seen on the smallest terminal.
func TestTheAnswerOfADefaultRunFitsTheTerminal(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 45}, {100, 30}} {
		name := fmt.Sprintf("screen%dx%d.golden", size[0], size[1])
		got := text(t, newcomer(), Options{Width: size[0], Height: size[1]})
		golden(t, name, got)
		_, answer, found := strings.Cut(got, "\n\n")
		if lines := strings.Count(answer, "\n"); !found || lines >= size[1] {
			t.Errorf("%s: the answer has %d lines", name, lines)
		}
		for _, want := range []string{"synced, intact: survives power loss · proved", "● ", "○ ", "Open: ",
			"assay run ", "flushed, intact"} {
			if !strings.Contains(answer, want) {
				t.Errorf("%s: no %q on the last screen", name, want)
			}
		}
	}
}

// Where a screen lacks a line, the command that closes what is open is shorter before it no longer
// says which engine each workload is for.
func TestAShorterCommandLeavesRoomForThePicks(t *testing.T) {
	run := newcomer()
	run.Cells = slices.DeleteFunc(run.Cells, func(c result.Cell) bool {
		return c.Promise.Delivered != "synced" && c.Promise.Delivered != "read"
	})
	answer := func(height int) string {
		_, answer, _ := strings.Cut(text(t, run, Options{Width: 80, Height: height}), "\n\n")
		return answer
	}
	all := answer(100)
	lines := strings.Count(all, "\n")
	got := answer(lines)
	if !strings.Contains(all, "\nFor ") || !strings.Contains(all, "→ assay run events/") {
		t.Errorf("with room for all of it:\n%s", all)
	}
	if !strings.Contains(got, "\nFor ") || !strings.Contains(got, "→ assay run --budget ") {
		t.Errorf("with a line less than its %d:\n%s", lines, got)
	}
}

// On a terminal that is too narrow for a column for each engine, every operation tells who is
// first, and nothing but a command's own long words is broken by the terminal.
func TestTheAnswerOnANarrowTerminal(t *testing.T) {
	for _, width := range []int{60, 40, 32} {
		got := text(t, newcomer(), Options{Width: width, Height: 50})
		tooWide(t, got, width)
		flat := strings.Join(strings.Fields(got), " ")
		for _, want := range []string{"hook put ● bbolt 20µs", "events append100 ○ bunt 199µs",
			"hook get ● sqlite-delete 40µs", "● fastest, 95 % sure", "comparisons → assay run events/append100"} {
			if !strings.Contains(flat, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, got)
			}
		}
		if next := "events append100 ○ bunt 199µs ~sqlite 1.09"; width == 60 && !strings.Contains(flat, next) {
			t.Errorf("%d columns: no %q in\n%s", width, next, got)
		}
	}
	wide := text(t, newcomer(), Options{Width: 72, All: true})
	if !strings.Contains(wide, "vs fastest") {
		t.Errorf("no tables in\n%s", wide)
	}
}

// A budget that was printed is one that can be typed.
func TestABudgetCanBeTyped(t *testing.T) {
	for d, want := range map[time.Duration]string{30 * time.Second: "30s", 20 * time.Minute: "20m",
		90 * time.Minute: "1h30m", 2 * time.Hour: "2h", 10 * time.Hour: "10h", 200 * time.Second: "3m20s"} {
		if got := budgetText(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestManyEnginesStandInSeveralGrids(t *testing.T) {
	b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{}}
	for i := range 14 {
		b.cell("hook", "put", fmt.Sprintf("engine%02d", i), syncedProved, float64(1000*(1+i)), 12)
		b.cell("ycsb", "A", fmt.Sprintf("engine%02d", i), syncedProved, float64(1000*(1+i)), 12)
	}
	stats.Finish(b.run)
	got, _, _ := strings.Cut(text(t, b.run, Options{}), "\n● fastest")
	for i := range 14 {
		if n := strings.Count(got, fmt.Sprintf("engine%02d", i)); n != 1 {
			t.Errorf("engine%02d stands there %d times", i, n)
		}
	}
	if n := strings.Count(got, "hook put"); n < 2 {
		t.Errorf("%d grids, want several:\n%s", n, got)
	}
}

// Who was dropped early is told as such, and without an interval.
func TestDroppedEarlyIsFarBehind(t *testing.T) {
	b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{}}
	b.cell("hook", "put", "bbolt", syncedProved, 1000, 30)
	b.cell("hook", "put", "badger", syncedProved, 80_000, 5).Early = result.EarlyBehind
	stats.Finish(b.run)
	if got := text(t, b.run, Options{Width: 120}); !regexp.MustCompile(`hook put  ● \S+ ±\S+ +»80\n`).MatchString(got) || !strings.Contains(got, "» far behind") {
		t.Errorf("got\n%s", got)
	}
}

// A form stands behind a figure where the contenders have several, and nowhere else.
func TestMatrixTellsTheForm(t *testing.T) {
	b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{}}
	b.cell("events", "append1", "bbolt", syncedProved, 3000, 12)
	b.cell("events", "append1", "sqlite", syncedProved, 9000, 12)
	sql := b.cell("events", "append1", "sqlite", syncedProved, 6000, 12)
	sql.Form = "sql"
	for _, engine := range []string{"bbolt", "sqlite"} {
		c := b.cell("records", "read", engine, result.Promise{Delivered: "read"}, float64(1000*len(engine)), 12)
		c.Form = "binary"
	}
	stats.Finish(b.run)
	got := text(t, b.run, Options{})
	for _, want := range []string{`events append1  ● \d\.\dµs   2\.0/s\n`, `records read    ● \d\.\dµs    1\.\d\d\n`,
		`/s natively in SQL`} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("no line %s in\n%s", want, got)
		}
	}
}

func TestLongCommandsHaveShortWords(t *testing.T) {
	got := joined([]string{"queue/publish", "queue/claim", "ycsb/A?n=1", "queue/claim_batch100",
		"queue/cycle_processes_16", "ycsb/C?n=1", "queue/claim"}, nil)
	want := []string{"queue/publish,claim,claim_batch100", "'ycsb/A,C?n=1'", "queue/cycle_processes_16"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What is typed to close what is open names these operations, their engines as they were given, and
// the disk.
func TestClosingCommandIsTheSameExperiment(t *testing.T) {
	b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{Took: 90 * 1e9}}
	b.run.Command = []string{"assay", "run", "hook", "ycsb?records=1k", "--engines",
		"bbolt,mine=bbolt:?NoSync=true,sqlite", "--storage", "hdd"}
	for i, engine := range []string{"bbolt", "mine", "sqlite"} {
		b.cell("hook", "put", engine, syncedProved, 1000*float64(1+i), 30)
		b.cell("hook", "get", engine, syncedProved, 1000*float64(1+i), 30)
		b.cell("ycsb", "A", engine, syncedProved, 1000*float64(1+i), 30).Params = "records=1k"
	}
	for i := range b.run.Cells {
		if c := &b.run.Cells[i]; c.Engine == "mine" && c.Operation != "get" {
			for j := range c.Samples {
				c.Samples[j].NS = 800 * (1 + 0.1*float64(j*5%7))
			}
		}
	}
	stats.Finish(b.run)
	want := "assay run hook/put 'ycsb/A?records=1k' --engines 'bbolt,mine=bbolt:?NoSync=true' --durability synced --storage hdd --budget "
	got, near := closing(b.run, matrices(b.run))
	budget, err := time.ParseDuration(strings.TrimPrefix(got, want))
	if err != nil || near > 0 {
		t.Fatalf("got  %s, %d too near\nwant %sa time", got, near, want)
	}
	// What these four cells took is a ninth of the run, and they need more.
	if budget < b.run.Took/9 || budget > 100*b.run.Took {
		t.Errorf("a run of %v needs %v for what is open", b.run.Took, budget)
	}
}

func TestACommandOfSeveralLinesCanBeCopied(t *testing.T) {
	const command = "assay run events/append1 'ycsb/A?records=1k' --engines 'a=bbolt:?x=1,b=sqlite:?y=two words' --budget 3m"
	for _, text := range []string{"2 of 40 comparisons", strings.Repeat("hook put, ", 9)} {
		for _, width := range []int{72, 80, 120} {
			p := page{width: width}
			p.toType("Open: ", text, command)
			got := strings.Join(p.lines, "\n")
			_, typed, _ := strings.Cut(got, "→")
			typed = strings.Join(strings.Fields(strings.ReplaceAll(typed, "\\\n", " ")), " ")
			if typed != command || strings.Count(got, "\\\n") != strings.Count(got[strings.Index(got, "assay"):], "\n") {
				t.Errorf("at %d columns a shell reads %q in\n%s", width, typed, got)
			}
			for _, l := range p.lines {
				if n := lipgloss.Width(l); n > width {
					t.Errorf("at %d columns a line has %d: %s", width, n, l)
				}
			}
		}
	}
}

func TestComparisonLooksAsItDid(t *testing.T) {
	interval := func(lo, mid, hi float64) *result.Interval { return &result.Interval{Lo: lo, Mid: mid, Hi: hi} }
	change := func(operation, engine, time string, before, after float64, times *result.Interval,
		counts ...result.Count) result.Change {
		return result.Change{Workload: "queue", Operation: operation, Engine: engine, Promise: "synced-intact",
			Beside: "bbolt",
			Before: before, After: after, Times: times, Time: time, Counts: counts}
	}
	old, now := exampleRun(), exampleRun()
	now.Environment.CPU, now.Environment.Modules["go.etcd.io/bbolt"] = "Another CPU", "v1.6.0"
	c := &result.Comparison{Old: "results/main", New: "results/branch",
		Crossed: []string{"time>10%: queue cycle mine takes 1.31x"}, Changes: []result.Change{
			change("publish", "mine", result.Same, 1, 1.01, interval(0.98, 1.01, 1.04)),
			change("claim", "mine", result.Faster, 2, 1, interval(0.46, 0.5, 0.55),
				result.Count{Name: "syncs", Before: 2, After: 1, Exact: true}),
			change("cycle", "mine", result.Slower, 1, 1.31, interval(1.22, 1.31, 1.41),
				result.Count{Name: "written", Before: 4096, After: 8192, Exact: true}),
			change("ack", "mine", result.Undecided, 1, 1.2, interval(0.9, 1.2, 1.6),
				result.Count{Name: "writes", Before: 2.5, After: 3.25}),
			{Workload: "queue", Operation: "nack", Engine: "mine", Promise: "synced-intact", Time: result.Undecided},
		}, Wholes: []result.Whole{{Engine: "mine", Operations: 4, Times: *interval(0.8, 0.94, 1.1), Time: result.Undecided},
			{Engine: "pebble", Form: "sql", Operations: 12, Times: *interval(0.97, 1, 1.03), Time: result.Same}}}
	for name, all := range map[string]bool{"comparison80.golden": false, "comparison_all80.golden": true} {
		var b strings.Builder
		if err := Comparison(&b, c, old, now, all, Options{}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
}
