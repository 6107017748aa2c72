package published

import (
	"os"
	"slices"
	"strings"
	"testing"

	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

func TestEveryRowHasAClaimAndEveryClaimARow(t *testing.T) {
	if len(Rows()) != 50 {
		t.Errorf("%d rows, want the 50 published figures", len(Rows()))
	}
	claimed := map[string]bool{}
	for _, r := range Rows() {
		i := slices.IndexFunc(All(), func(p Publication) bool { return p.Name == r.Publication })
		if i < 0 {
			t.Fatalf("%s: no such publication", r.Publication)
		}
		p := All()[i]
		c := p.claim(r.Engine + " " + r.Operation)
		if c.published.part == "" || c.why == "" || strings.Contains(c.why, "\n") {
			t.Errorf("%s %s %s is measured nowhere, or has no reason: %+v", p.Name, r.Engine, r.Operation, c)
		}
		if r.System != p.System || r.Value <= 0 || !slices.Contains([]string{"us", "MB", "rel"}, r.Unit) {
			t.Errorf("row %+v of %s", r, p.System)
		}
		claimed[p.Name+c.row] = true
	}
	for _, p := range All() {
		for _, c := range p.claims {
			if !claimed[p.Name+c.row] {
				t.Errorf("%s: no row %s was published", p.Name, c.row)
			}
		}
	}
}

// TestEveryPairIsMeasured holds each pair against the part that it names: its operation, its
// engines and their forms.
func TestEveryPairIsMeasured(t *testing.T) {
	for _, p := range All() {
		for _, c := range p.claims {
			pairs := []pair{c.published, c.matched, c.race, c.also}
			if c.published.nearest != nil {
				pairs = append(pairs, *c.published.nearest, *c.matched.nearest)
			}
			for _, pair := range pairs {
				if pair.part != "" {
					checkPair(t, p, c, pair)
				}
			}
		}
	}
}

func checkPair(t *testing.T, p Publication, c claim, pair pair) {
	t.Helper()
	i := slices.IndexFunc(p.Parts, func(part Part) bool { return part.Name == pair.part })
	if i < 0 {
		t.Errorf("%s %s: no part %s", p.Name, c.row, pair.part)
		return
	}
	part := p.Parts[i]
	selections, err := part.Selections()
	if err != nil {
		t.Fatal(err)
	}
	var known []string // contenders of the operation
	for _, s := range selections {
		for _, op := range s.Ops {
			if op.Name != pair.operation {
				continue
			}
			for _, e := range entries(t, part) {
				for _, form := range bench.Forms(e, []bench.Selection{{Workload: s.Workload, Ops: s.Ops[:1:1]}}) {
					known = append(known, result.Cell{Engine: e.Name, Form: form}.Name())
				}
			}
		}
	}
	for _, name := range []string{pair.first, pair.second} {
		if name == "" {
			continue
		}
		contender, err := stats.ParseContender(name)
		if err != nil {
			t.Errorf("%s %s: %v", p.Name, c.row, err)
		}
		if _, cgo := driver.Lookup("sqlite-c"); !cgo && strings.HasPrefix(contender.Name, "sqlite-c/") {
			t.Logf("NOT TESTED: %s %s: %s: this binary has no SQLite in C", p.Name, c.row, contender.Name)
			continue
		}
		if !slices.Contains(known, contender.Name) {
			t.Errorf("%s %s: %s is not in part %s at %s, which has %v", p.Name, c.row, contender.Name, pair.part,
				pair.operation, known)
		}
		if d, err := kv.ParseDurability(contender.Class); contender.Class != "" && part.Classes != nil &&
			(err != nil || !slices.Contains(part.Classes, d)) {
			t.Errorf("%s %s: %s is not measured at %s", p.Name, c.row, pair.part, contender.Class)
		}
	}
}

// entries parses a part's engines; those without options are names that the command's catalog has.
func entries(t *testing.T, part Part) []bench.Entry {
	t.Helper()
	var known []bench.Entry
	for name, options := range map[string]string{"bbolt": "", "pebble": "", "sqlite": "", "sqlite-c": "",
		"margaret": "", "badger": "",
		"sqlite-delete": "journal_mode=DELETE", "badger-none": "Compression=none", "badger-zstd": "Compression=zstd"} {
		engine := name
		if options != "" {
			engine, _, _ = strings.Cut(name, "-")
		}
		known = append(known, bench.Entry{Name: name, Engine: engine, Options: options})
	}
	entries, err := bench.ParseEntries(strings.Join(part.Engines, ","), known)
	if err != nil {
		t.Fatalf("%s: %v", part.Name, err)
	}
	return entries
}

func TestParseTakesPublicationsWithParameters(t *testing.T) {
	all, err := Parse(nil)
	if err != nil || len(all) != 5 {
		t.Fatalf("%d publications, error %v, want all 5", len(all), err)
	}
	some, err := Parse([]string{"records?n=1M", "hook"})
	if err != nil || len(some) != 2 || some[0].Name != "records" || some[1].Name != "hook" {
		t.Fatalf("%+v, error %v", some, err)
	}
	selections, err := some[0].Parts[0].Selections()
	if err != nil || selections[0].Params["n"] != "1M" {
		t.Errorf("parameters %v, error %v, want n=1M", selections[0].Params, err)
	}
	if _, err := Parse([]string{"records?n=1k,1M"}); kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
		t.Errorf("two values for one published figure: got %v, want invalid with a hint", err)
	}
	feeds, err := Parse([]string{"feed?messages=5k"})
	if err != nil {
		t.Fatal(err)
	}
	if got := feeds[0].Parts[0].Work[0]; !strings.Contains(got, "messages=5k") ||
		!strings.Contains(got, "variant=le-keys") {
		t.Errorf("work %s, want other messages and the same variant", got)
	}
	if DefaultBudget(some) >= DefaultBudget(all) {
		t.Error("two publications take no less time than five")
	}
	for _, args := range [][]string{{"ycsb"}, {"hook", "hook"}, {"hook?colour=red"}, {"records?n=x"}, {"hook?%zz"}} {
		if _, err := Parse(args); kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
			t.Errorf("%v: %v, want invalid with a hint", args, err)
		}
	}
}

// run is a run with one operation on some contenders, each with its time.
func run(operation, params string, class string, times map[string]float64) *result.Run {
	r := &result.Run{}
	for name, ns := range times {
		engine, form, _ := strings.Cut(name, "/")
		c := result.Cell{Operation: operation, Params: params, Engine: engine, Form: form, Status: result.OK,
			Promise: result.Promise{Delivered: class}}
		for i := range 8 {
			c.Samples = append(c.Samples, result.Sample{Round: i, N: 1, NS: ns * (1 + 0.001*float64(i%3))})
		}
		size := int64(ns)
		c.Size = &result.Size{Loaded: &size}
		r.Cells = append(r.Cells, c)
	}
	return r
}

func line(t *testing.T, lines []result.Line, engine, operation string) result.Line {
	t.Helper()
	i := slices.IndexFunc(lines, func(l result.Line) bool { return l.Engine == engine && l.Operation == operation })
	if i < 0 {
		t.Fatalf("no line %s %s", engine, operation)
	}
	return lines[i]
}

func TestLinesCompareOursWithTheirs(t *testing.T) {
	for _, c := range []struct {
		sqlite  float64
		ratio   float64
		outcome string
	}{{3.5e3, 3.5, result.Agrees}, {2e3, 2, result.Less}, {12e3, 12, result.More}, {500, 0.5, result.Reversed}} {
		lines := hook().Lines(Measured{Runs: map[string]*result.Run{
			"published": run("open_close", "", "read", map[string]float64{"bbolt": 1e3, "sqlite": c.sqlite,
				"sqlite-delete": 1e3})}})
		if len(lines) != 6 {
			t.Fatalf("%d lines, want 6", len(lines))
		}
		l := line(t, lines, "bbolt", "open_close")
		if l.Published.Ratio == nil || l.Published.Ratio.Mid < 0.99*c.ratio || l.Published.Ratio.Mid > 1.01*c.ratio ||
			l.Outcome != c.outcome {
			t.Errorf("ratio %+v, outcome %q, want %v and %q", l.Published.Ratio, l.Outcome, c.ratio, c.outcome)
		}
		if l.Also == nil || l.Matched != nil {
			t.Errorf("also %+v, matched %+v, want the rollback journal, and no other setting", l.Also, l.Matched)
		}
		if put := line(t, lines, "bbolt", "put"); put.Published.Missing == "" || put.Outcome != "" {
			t.Errorf("what was not measured: %+v", put.Published)
		}
	}
}

func TestAnIntervalThatHoldsEverythingAgreesWithNothing(t *testing.T) {
	ratio := 3.0
	for _, c := range []struct {
		interval result.Interval
		rounds   int
		want     string
	}{
		{result.Interval{Lo: 1, Mid: 2, Hi: 9}, 8, result.Unclear},
		{result.Interval{Lo: 1.5, Mid: 2, Hi: 3.5}, 8, result.Agrees},
		{result.Interval{Lo: 1, Mid: 2, Hi: 9}, 3, result.Less}, // no interval
		{result.Interval{Lo: 10, Mid: 30, Hi: 90}, 8, result.More},
	} {
		l := result.Line{Figure: result.Figure{Ratio: &ratio},
			Published: &result.Measurement{Ratio: &c.interval, Rounds: c.rounds}}
		if got := outcome(l); got != c.want {
			t.Errorf("%+v of %d rounds: %q, want %q", c.interval, c.rounds, got, c.want)
		}
	}
}

func TestLinesOfSizesAreForEachRecord(t *testing.T) {
	lines := feed().Lines(Measured{Runs: map[string]*result.Run{"published": run("read_iterate",
		"messages=1k&variant=le-keys", "read",
		map[string]float64{"bbolt": 800e3, "badger-zstd": 400e3})}})
	l := line(t, lines, "badger-zstd", "size")
	if *l.Published.First.Bytes != 400 || *l.Published.Second.Bytes != 800 || l.Published.Ratio.Mid != 2 {
		t.Errorf("%v and %v B, ratio %v", *l.Published.First.Bytes, *l.Published.Second.Bytes, l.Published.Ratio)
	}
	if got := *l.Figure.Ratio; got < 3.3 || got > 3.4 {
		t.Errorf("published ratio %v, want 1/0.30", got)
	}
}

func TestALineOfAMissingEngineShowsTheNearestAndHowToGetIt(t *testing.T) {
	p := queue()
	m := Measured{Absent: map[string]string{"sqlite-c": "build with cgo"}, Runs: map[string]*result.Run{
		"published": run("publish", "", "flushed", map[string]float64{"sqlite/sql": 1e3, "sqlite/published": 2e3})}}
	l := line(t, p.Lines(m), "sqlite-cgo", "publish")
	if l.Published.Ratio == nil || l.Published.What == "" || !strings.Contains(l.Published.Hint, "build with cgo") ||
		l.Outcome != "" {
		t.Errorf("%+v", l.Published)
	}
}

// TestARowHasBothBuildsSideBySide: the work of the queue publication, by this repository's driver
// and by pure Go SQLite, each by a binary with -race and by one without.
func TestARowHasBothBuildsSideBySide(t *testing.T) {
	p := queue()
	plain := map[string]float64{"sqlite-c/published-sqldriver": 1e3, "sqlite/published": 1.5e3}
	m := Measured{Runs: map[string]*result.Run{"published": run("cycle", "", "flushed", plain)}}
	if l := line(t, p.Lines(m), "sqlite-cgo", "cycle"); l.Race != nil || l.Published.Missing != "" {
		t.Errorf("without a binary with -race: %+v, %+v", l.Published, l.Race)
	}
	m.Runs["race"] = run("cycle", "", "flushed",
		map[string]float64{"sqlite-c/published-sqldriver": 2e3, "sqlite/published": 9e3})
	l := line(t, p.Lines(m), "sqlite-cgo", "cycle")
	if got := l.Published.Ratio.Mid; got < 1.49 || got > 1.51 || l.Outcome != result.Less {
		t.Errorf("without -race: ratio %v, outcome %q, want 1.5 and %q", got, l.Outcome, result.Less)
	}
	if l.Race == nil || l.Race.Ratio.Mid < 4.49 || l.Race.Ratio.Mid > 4.51 || l.Race.Second == nil ||
		l.Race.First.NS.Mid < 1.9e3 || l.Race.Second.NS.Mid < 8e3 {
		t.Errorf("with -race: %+v, want 4.5, and the times of both", l.Race)
	}
}

// TestThePageTellsOfEveryRow holds the page that was made from a run against the figures.
func TestThePageTellsOfEveryRow(t *testing.T) {
	page, err := os.ReadFile("../../docs/published.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range All() {
		_, section, _ := strings.Cut(string(page), "\n## "+p.Name+" · ")
		section, _, _ = strings.Cut(section, "\n## ")
		if !strings.Contains(section, p.Setup) {
			t.Errorf("%s is told otherwise; make the page again, as testdata/README.md says", p.Name)
		}
		for _, l := range p.Lines(Measured{}) {
			if !strings.Contains(section, "\n| "+l.Engine+" "+l.Operation+" | ") || !strings.Contains(section, l.Why) {
				t.Errorf("%s: no row of %s %s with its reason", p.Name, l.Engine, l.Operation)
			}
		}
	}
}

func TestRatiosOfRecordsAreToTheBinaryCodec(t *testing.T) {
	lines := records().Lines(Measured{})
	l := line(t, lines, "bbolt", "json_bulk_write_1M")
	if l.Figure.Ratio == nil || *l.Figure.Ratio != 4.0/6 || l.Figure.Against != 4 || l.Figure.Baseline != "binary" {
		t.Errorf("%+v", l.Figure)
	}
	if l := line(t, lines, "bbolt", "binary_read_1M"); l.Figure.Ratio != nil {
		t.Errorf("the baseline itself has the ratio %v", *l.Figure.Ratio)
	}
}
