package stats

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/result"
)

// cell returns a ranked cell that ended well.
func cell(operation, engine string, samples []result.Sample) result.Cell {
	return result.Cell{
		Workload: "events", Operation: operation, Engine: engine, Ranked: true, Status: result.OK, Samples: samples,
		Promise: result.Promise{Delivered: "synced", Intact: true, Proof: "proved"},
	}
}

// samples returns rounds of two processes that take ns and a little more or less.
func samples(rounds int, ns float64) []result.Sample {
	var all []result.Sample
	for r := range rounds {
		all = append(all, result.Sample{Round: r, N: 100, Process: 2 * r / rounds,
			NS: ns * (1 + 0.002*float64(r*7%5-2))})
	}
	return all
}

func example() *result.Run {
	null := cell("append1", "null", samples(10, 10))
	null.Ranked = false
	failed := cell("append1", "buntdb", nil)
	failed.Status, failed.Error = result.Failed, "wrong answer"
	read := func(engine string, ns float64) result.Cell {
		c := cell("read100", engine, samples(10, ns))
		c.Promise = result.Promise{Delivered: "read", Intact: engine == "bbolt"}
		return c
	}
	weak := cell("append1", "sqlite", samples(10, 50))
	weak.Promise = result.Promise{Delivered: "flushed", Intact: true, Proof: "unproved"}
	return &result.Run{
		Took: time.Minute,
		Floor: result.Floor{AppendSync: &result.Interval{Lo: 90, Mid: 100, Hi: 110},
			OverwriteSync: &result.Interval{Lo: 110, Mid: 120, Hi: 130}},
		Warnings: []result.Warning{{Text: "the machine is busy", Hint: "close other programs"}},
		Cells: []result.Cell{
			cell("append1", "sqlite", samples(10, 400)), cell("append1", "bbolt", samples(10, 200)),
			cell("append1", "pebble", samples(10, 201)), null, failed, weak,
			read("bbolt", 30), read("sqlite", 90),
		},
	}
}

func TestFinishComparesWithTheFastestOfItsPromise(t *testing.T) {
	run := example()
	Finish(run)
	sqlite, bbolt, pebble, null, failed, weak, reader := run.Cells[0], run.Cells[1], run.Cells[2], run.Cells[3],
		run.Cells[4], run.Cells[5], run.Cells[7]
	if r := sqlite.Ratio; r == nil || r.To != "bbolt" || !r.Different || r.Mid < 1.99 || r.Mid > 2.01 {
		t.Errorf("sqlite, twice as slow: ratio %+v", r)
	}
	if r := bbolt.Ratio; r == nil || *r != (result.Ratio{To: "bbolt", Lo: 1, Mid: 1, Hi: 1}) {
		t.Errorf("bbolt, the fastest: ratio %+v, want 1 to itself", r)
	}
	if r := pebble.Ratio; r == nil || !r.Equivalent {
		t.Errorf("pebble, 0.5 %% slower: ratio %+v, want equivalent", r)
	}
	if null.Ratio != nil || null.NS == nil {
		t.Errorf("null: ratio %+v, time %+v; want a time and no ratio", null.Ratio, null.NS)
	}
	if failed.NS != nil || failed.Ratio != nil {
		t.Error("a failed cell has a time or a ratio")
	}
	if r := weak.Ratio; r == nil || r.To != "sqlite" {
		t.Errorf("the only one at its promise: ratio %+v, want 1 to itself", r)
	}
	if f := sqlite.Floor; f == nil || *f < 3.9 || *f > 4.1 {
		t.Errorf("a synced append of 400 ns above a sync of 100 ns: %v times the floor, want 4", f)
	}
	if weak.Floor != nil || reader.Floor != nil {
		t.Error("a commit without sync or a read has a floor")
	}
	if r := reader.Ratio; r == nil || r.To != "bbolt" || !r.Different {
		t.Errorf("reads are compared whatever the store promises: ratio %+v, want 3 to bbolt", r)
	}
}

func TestVerdictsNameWinnersTiesAndFailures(t *testing.T) {
	run := example()
	Finish(run)
	want := []string{
		"bbolt and pebble are equivalent at append1 (bbolt is 1.9x to 2.1x faster than sqlite); buntdb failed at append1.",
		"bbolt and pebble are equivalent at append1 (bbolt is 1.9x to 2.1x faster than sqlite); buntdb failed at append1.",
		"Only sqlite was measured at append1.",
		"Only sqlite was measured at append1.",
		"bbolt is the fastest at read100 (2.8x to 3.1x faster than sqlite).",
		"bbolt is the fastest at read100 (2.8x to 3.1x faster than sqlite).",
	}
	var got []string
	for _, v := range run.Verdicts {
		got = append(got, v.Text)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if v := run.Verdicts[0]; !reflect.DeepEqual(v.Best, []string{"bbolt"}) ||
		!reflect.DeepEqual(v.Ties, []string{"pebble"}) {
		t.Errorf("best %v, ties %v; want bbolt, pebble", v.Best, v.Ties)
	}
}

func TestTableVerdictMergesOperations(t *testing.T) {
	run := &result.Run{Cells: []result.Cell{
		cell("put", "bbolt", samples(10, 100)), cell("put", "sqlite", samples(10, 180)),
		cell("scan", "bbolt", samples(10, 100)), cell("scan", "sqlite", samples(10, 1200)),
		cell("get", "bbolt", samples(10, 300)), cell("get", "sqlite", samples(10, 100)),
	}}
	Finish(run)
	want := "bbolt is the fastest at put and scan (1.7x to 12x faster than the next); sqlite is the fastest at get (2.8x to 3.1x faster than bbolt)."
	if last := run.Verdicts[len(run.Verdicts)-1]; last.Text != want || len(last.Best) != 0 {
		t.Errorf("got %q, best %v\nwant %q, none", last.Text, last.Best, want)
	}
}

func TestFinishAgainGivesTheSame(t *testing.T) {
	run := example()
	run.Cells[0].Samples = run.Cells[0].Samples[:3]
	Finish(run)
	once, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	var read result.Run
	if err := json.Unmarshal(once, &read); err != nil {
		t.Fatal(err)
	}
	Finish(&read)
	twice, err := json.Marshal(&read)
	if err != nil {
		t.Fatal(err)
	}
	if string(once) != string(twice) {
		t.Errorf("finished once:\n%s\ntwice:\n%s", once, twice)
	}
}

func TestTooFewRoundsAreOpenAndAWarning(t *testing.T) {
	run := &result.Run{Took: 90 * time.Second, Cells: []result.Cell{
		cell("put", "bbolt", samples(3, 100)), cell("put", "sqlite", samples(10, 1000)),
	}}
	Finish(run)
	if r := run.Cells[1].Ratio; !r.Open() {
		t.Errorf("3 rounds in common decide: %+v", r)
	}
	if v := run.Verdicts[0]; v.Text != "Open which of sqlite and bbolt is the fastest at put." || len(v.Ties) > 0 ||
		!reflect.DeepEqual(v.Open, []string{"bbolt"}) {
		t.Errorf("verdict %+v, want one that is open", v)
	}
	if last := run.Verdicts[len(run.Verdicts)-1]; len(last.Best) > 0 {
		t.Errorf("best of the table is %v, want none: it is open", last.Best)
	}
	if len(run.Warnings) != 1 || run.Warnings[0].Hint != "measure longer: --budget 6m" {
		t.Errorf("warnings %+v, want one to measure longer", run.Warnings)
	}
	run.Cells[1].Samples = run.Cells[1].Samples[:4]
	Finish(run)
	if v := run.Verdicts[0]; v.Text != "Too few rounds to compare bbolt and sqlite at put." || len(v.Best) > 0 {
		t.Errorf("verdict %+v, want one without a best", v)
	}
}

// One round of luck is no winner over ten of work.
func TestTheFastestHasEnoughRounds(t *testing.T) {
	run := &result.Run{Cells: []result.Cell{
		cell("put", "lucky", samples(1, 10)), cell("put", "bbolt", samples(10, 100)),
		cell("put", "sqlite", samples(10, 300)),
	}}
	Finish(run)
	want := "Open which of bbolt and lucky is the fastest at put (bbolt is 2.7x to 3.2x faster than sqlite)."
	if v := run.Verdicts[0]; v.Text != want || !reflect.DeepEqual(v.Best, []string{"bbolt"}) || len(v.Ties) > 0 {
		t.Errorf("got %+v\nwant %s", v, want)
	}
}

// An engine that was measured longer, while the machine was slower, still leads in the rounds that
// both had.
func TestTheFastestIsSoInTheRoundsThatBothHad(t *testing.T) {
	bunt := samples(30, 150)
	copy(bunt, samples(10, 80))
	run := &result.Run{Cells: []result.Cell{cell("put", "badger", samples(10, 100)), cell("put", "bunt", bunt)}}
	Finish(run)
	if r := run.Cells[0].Ratio; r.To != "bunt" || r.Mid < 1.2 || r.Different {
		t.Errorf("badger: %+v, want open at 1.25 to bunt", r)
	}
}

func TestAVerdictTellsThatSomeWereSkipped(t *testing.T) {
	run := &result.Run{Cells: []result.Cell{
		cell("put", "bbolt", samples(10, 100)), cell("put", "sqlite", samples(10, 300)), cell("put", "pebble", nil),
	}}
	run.Cells[2].Status = result.Skipped
	Finish(run)
	want := "bbolt is the fastest of those measured at put (2.8x to 3.1x faster than sqlite)."
	if got := run.Verdicts[0].Text; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestABinaryThatMeansNothingRanksNothing(t *testing.T) {
	run := example()
	run.Environment.Unranked = "built with -race"
	Finish(run)
	for _, c := range run.Cells {
		if c.Ratio != nil {
			t.Errorf("%s has a ratio", c.Name())
		}
	}
	for _, v := range run.Verdicts {
		if v.Text != "Not ranked: built with -race." || len(v.Best) != 0 {
			t.Errorf("verdict %+v", v)
		}
	}
}

func TestACheckCountsWhatIsWrong(t *testing.T) {
	names := []string{"e", "again", "slow10", "slow25"}
	slow := func(name string) float64 { return map[string]float64{"slow10": 0.10, "slow25": 0.25}[name] }
	run := &result.Run{}
	add := func(operation string, times ...float64) {
		for i, ns := range times {
			run.Cells = append(run.Cells, cell(operation, names[i], samples(10, ns)))
		}
	}
	add("right", 100, 100, 110, 125)
	add("falsely", 100, 120, 110, 125)
	add("unseen", 100, 100, 100, 125)
	add("reversed", 200, 200, 100, 250)
	Finish(run)
	var k Check
	k.Add(run, slow)
	// In the last one everything is compared with slow10, and the two equals are called slower than
	// it.
	if k.False != (Share{1, 3}) || k.Wrong != (Share{2, 12}) || k.Found[0.10] != (Share{2, 3}) ||
		k.Found[0.25] != (Share{3, 4}) {
		t.Errorf("got %+v", k)
	}
	if got := k.False.String(); got != "1 of 3 (33.3%)" {
		t.Errorf("got %q", got)
	}
	if got := (Share{}).Fraction(); got != 0 {
		t.Errorf("of nothing: %g, want 0", got)
	}
}

func TestMedianHasAnIntervalFromSixValues(t *testing.T) {
	ns, resolved := Median([]float64{5, 1, 4, 2, 3})
	if resolved || ns != (result.Interval{Lo: 1, Mid: 3, Hi: 5}) {
		t.Errorf("5 values: %+v, resolved %v; want the range, unresolved", ns, resolved)
	}
	ns, resolved = Median([]float64{5, 1, 4, 2, 3, 6})
	if !resolved || ns != (result.Interval{Lo: 1, Mid: 3.5, Hi: 6}) {
		t.Errorf("6 values: %+v, resolved %v; want the range, resolved", ns, resolved)
	}
	if one, _ := Median([]float64{7}); one != (result.Interval{Lo: 7, Mid: 7, Hi: 7}) {
		t.Errorf("one value: %+v", one)
	}
}

// Of two contenders of a table there is one interval: who asks for it gets the one that stands
// there.
func TestBesideTheFastestTheIntervalIsTheTables(t *testing.T) {
	run := runOf(newMachine(0.1), 4, 30, map[string]float64{"b": 1.1}, "a", "b", "c", "d")
	Finish(run)
	compared := 0
	for _, c := range run.Cells {
		for _, best := range run.Cells {
			if keyOf(c) != keyOf(best) || c.Ratio == nil || c.Ratio.To != best.Name() || c.Name() == best.Name() {
				continue
			}
			compared++
			got := Beside(run, c, best)
			if r := *c.Ratio; got.Lo != r.Lo || got.Hi != r.Hi || got.Different != r.Different {
				t.Errorf("%s %s: got [%v-%v] %v, the table has [%v-%v] %v", c.Operation, c.Name(), got.Lo, got.Hi,
					got.Different, r.Lo, r.Hi, r.Different)
			}
		}
	}
	if compared != 12 {
		t.Errorf("%d were compared, want 12", compared)
	}
}
