package stats

import (
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

// cellAt returns a cell with 10 rounds of the same time.
func cellAt(engine, form, class string, intact bool, ns float64) result.Cell {
	c := result.Cell{Workload: "events", Operation: "append1", Engine: engine, Form: form, Status: result.OK,
		Ranked:  true,
		Promise: result.Promise{Delivered: class, Intact: intact}}
	for round := range 10 {
		c.Samples = append(c.Samples, result.Sample{Round: round, N: 1, NS: ns + float64(round%2)})
	}
	return c
}

func TestVersusTellsThePromiseFromTheEngine(t *testing.T) {
	run := &result.Run{Cells: []result.Cell{
		cellAt("pebble", "", "synced", true, 100_000), cellAt("pebble", "", "buffered", true, 1_000),
		cellAt("sqlite", "sql", "synced", true, 150_000), cellAt("sqlite", "sql", "flushed", true, 20_000),
		cellAt("sqlite", "", "flushed", true, 1),
	}}
	duels := Versus(run, Contender{"pebble", "buffered"}, Contender{"sqlite/sql", "flushed"})
	if len(duels) != 1 || duels[0].AsNamed == nil || len(duels[0].Equal) != 1 {
		t.Fatalf("got %+v, want one duel, as named and at one equal promise", duels)
	}
	if got := duels[0].AsNamed.Mid; got < 19.9 || got > 20.1 {
		t.Errorf("as named the second takes %.2f times as long, want 20", got)
	}
	if got := duels[0].Equal[0]; got.Mid < 1.49 || got.Mid > 1.51 || got.First.Delivered != "synced" {
		t.Errorf("at an equal promise: %+v, want 1.5 at synced", got)
	}
}

func TestParseContender(t *testing.T) {
	for s, want := range map[string]Contender{
		"bbolt": {Name: "bbolt"}, "sqlite/sql@flushed": {Name: "sqlite/sql", Class: "flushed"},
		" a@synced": {Name: "a", Class: "synced"},
	} {
		if got, err := ParseContender(s); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "@synced", "a@", "a@durable"} {
		if got, err := ParseContender(s); err == nil {
			t.Errorf("%q: got %v, want an error", s, got)
		}
	}
}

// TestWhatIsNotCertainIsOpen takes a contender that is far slower in every round, in too few rounds
// to be sure.
func TestWhatIsNotCertainIsOpen(t *testing.T) {
	fast, slow := cellAt("fast", "", "synced", true, 1_000), cellAt("slow", "", "synced", true, 1_000)
	fast.Samples, slow.Samples = fast.Samples[:5], slow.Samples[:5]
	for i := range slow.Samples {
		slow.Samples[i].NS *= []float64{2, 90, 1.1, 20, 150}[i]
	}
	run := &result.Run{Cells: []result.Cell{fast, slow}}
	Finish(run)
	if r := run.Cells[1].Ratio; r == nil || !r.Open() {
		t.Fatalf("ratio %+v, want one that is open", r)
	}
	for _, v := range run.Verdicts {
		if v.Operation == "append1" && (len(v.Ties) > 0 || v.Text != "Open which of fast and slow is the fastest at append1.") {
			t.Errorf("verdict %+v: what is open is neither equal nor ranked", v)
		}
	}
}

// TestVerdictNamesWhatIsOpen takes contenders that are open and lie between the fastest and one
// that is slower for sure.
func TestVerdictNamesWhatIsOpen(t *testing.T) {
	best := func(op string) outcome {
		return outcome{operation: op, first: []string{"bbolt"}, next: "pebble",
			lead: &result.Ratio{Lo: 6.3, Mid: 10, Hi: 16}}
	}
	put, get := best("put"), best("get")
	put.open, get.open = []string{"bunt", "sqlite"}, []string{"sqlite", "bunt"}
	many := best("put")
	many.open = []string{"a", "b", "c", "d", "e"}
	equal := put
	equal.first = []string{"bbolt", "badger"}
	alone := put
	alone.next, alone.lead = "", nil
	few := alone
	few.few = true
	for want, outcomes := range map[string][]outcome{
		"bbolt is the fastest at put (6.3x to 16x faster than pebble)":                                                                                                        {best("put")},
		"bbolt is the fastest at put and get (6.3x to 16x faster than the next)":                                                                                              {best("put"), best("get")},
		"open which of bbolt, bunt and sqlite is the fastest at put (bbolt is 6.3x to 16x faster than pebble)":                                                                {put},
		"open which of bbolt, a, b and 3 more is the fastest at put (bbolt is 6.3x to 16x faster than pebble)":                                                                {many},
		"open which of bbolt, bunt and sqlite is the fastest at put":                                                                                                          {alone},
		"open which of bbolt, bunt and sqlite is the fastest at put and get":                                                                                                  {put, get},
		"too few rounds to compare bbolt, bunt and sqlite at put":                                                                                                             {few},
		"bbolt and badger are equivalent at put (bbolt is 6.3x to 16x faster than pebble), open for bunt and sqlite":                                                          {equal},
		"bbolt is the fastest at scan (6.3x to 16x faster than pebble); open which of bbolt, sqlite and bunt is the fastest at get (bbolt is 6.3x to 16x faster than pebble)": {best("scan"), get},
	} {
		if got := strings.Join(tableClauses(outcomes), "; "); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
