package stats

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/result"
)

// unsteady returns rounds that take ns, and up to half as long again by a pattern of their own.
func unsteady(rounds int, ns float64, pattern int) []result.Sample {
	all := samples(rounds, ns)
	for i := range all {
		all[i].NS *= 1 + 0.5*float64((i*pattern)%7)/7
	}
	return all
}

// formed returns a cell of another form than kv.
func formed(c result.Cell, form string) result.Cell {
	c.Form = form
	return c
}

// One comparison is that of the fastest engine with another, in whichever forms.
func TestComparisonsAreCountedByEngine(t *testing.T) {
	run := &result.Run{Took: time.Minute, Cells: []result.Cell{
		cell("put", "bbolt", samples(12, 100)), formed(cell("put", "bbolt", unsteady(12, 80, 3)), "state"),
		cell("put", "sqlite", unsteady(12, 80, 5)), formed(cell("put", "sqlite", unsteady(12, 82, 2)), "sql"),
		cell("put", "pebble", samples(12, 300)), cell("put", "badger", samples(3, 200)),
	}}
	Finish(run)
	var tally Tally
	tally.Add(run.Cells)
	if tally != (Tally{All: 3, Open: 2, Few: 1}) {
		t.Errorf("got %+v, want sqlite and badger open, pebble decided, and badger with few rounds", tally)
	}
	if w := run.Warnings[0].Text; len(run.Warnings) != 1 || !strings.HasPrefix(w, "2 of 3 comparisons are open") ||
		!strings.Contains(w, "1 of them have fewer than 5 rounds") {
		t.Errorf("got the warnings %+v", run.Warnings)
	}
}

// Who left the race early met another hour of the machine than the fastest, whose rounds went on.
func TestTimesDivideToTheirRatio(t *testing.T) {
	fast := append(samples(10, 100), samples(10, 160)...)
	for i := range fast {
		fast[i].Round = i
	}
	run := &result.Run{Took: time.Minute, Cells: []result.Cell{
		cell("put", "bbolt", fast), cell("put", "sqlite", samples(10, 300)), cell("put", "badger", samples(10, 310)),
		cell("put", "pebble", samples(3, 280)),
	}}
	run.Floor.AppendSync = &result.Interval{Lo: 50, Mid: 50, Hi: 50}
	run.Floor.OverwriteSync = run.Floor.AppendSync
	Finish(run)
	best := run.Cells[0].NS.Mid
	if math.Abs(best-130) > 1 {
		t.Fatalf("the fastest takes %v, want the mean of all its rounds, 130", best)
	}
	for _, c := range run.Cells {
		if got := c.NS.Mid / best; math.Abs(got-c.Ratio.Mid) > 1e-9 {
			t.Errorf("%s takes %v times as long by the times, %v by the ratio", c.Engine, got, c.Ratio.Mid)
		}
		if c.NS.Lo > c.NS.Mid || c.NS.Mid > c.NS.Hi {
			t.Errorf("%s: %+v", c.Engine, c.NS)
		}
		if want := c.NS.Mid / 50; c.Floor == nil || math.Abs(*c.Floor-want) > 1e-9 {
			t.Errorf("%s takes %v times the floor, want %v", c.Engine, c.Floor, want)
		}
	}
}

func TestWhatIsOpenSaysHowLongItNeeds(t *testing.T) {
	decided := []result.Cell{cell("get", "bbolt", samples(12, 100)), cell("get", "sqlite", samples(12, 300))}
	open := []result.Cell{cell("put", "bbolt", samples(12, 100)), cell("put", "sqlite", unsteady(12, 85, 5)),
		cell("put", "pebble", samples(12, 900))}
	run := &result.Run{Took: time.Minute, Cells: append(decided, open...)}
	Finish(run)
	takes, near := Needs(run)
	if takes <= run.Took || near > 0 {
		t.Errorf("a run of a minute with an open comparison needs %v, %d are hopeless", takes, near)
	}
	part := Part(run, func(c result.Cell) bool { return c.Operation == "get" })
	if takes, near = Needs(part); takes != part.Took || near > 0 || part.Took <= 0 || part.Took >= run.Took ||
		len(part.Cells) != 2 {
		t.Errorf("what is decided took %v of %v and needs %v", part.Took, run.Took, takes)
	}
	again := Part(run, func(c result.Cell) bool { return c.Operation == "put" && c.Engine != "pebble" })
	if takes, _ = Needs(again); takes <= again.Took {
		t.Errorf("what is open took %v and needs %v", again.Took, takes)
	}
	if len(run.Cells) != 5 || run.Took != time.Minute {
		t.Errorf("a part changed the run: %d cells, %v", len(run.Cells), run.Took)
	}
}

// Whatever the operations took, the whole of a run is not a nanosecond shorter than it.
func TestAllOfARunTakesAsLongAsTheRun(t *testing.T) {
	for ns := 1.0; ns <= 1000; ns++ {
		run := &result.Run{Took: time.Hour, Cells: []result.Cell{cell("put", "bbolt", samples(6, ns))}}
		if part := Part(run, func(result.Cell) bool { return true }); part.Took != run.Took {
			t.Fatalf("rounds of %v ns: all of a run of %v take %v", ns, run.Took, part.Took)
		}
	}
}

func TestABoundBesideOneDoesNotLookLikeOne(t *testing.T) {
	for f, want := range map[float64]string{1: "1.00", 1.0003: "1.00", 1.004: "1.004", 0.996: "0.996", 1.02: "1.02", 12.34: "12.3",
		480.2: "480", 0.05: "0.05"} {
		if got := Factor(f); got != want {
			t.Errorf("%v: got %s, want %s", f, got, want)
		}
	}
}
