package stats

import (
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

// cellAt returns a cell with 10 rounds of the same time.
func cellAt(engine, form, class string, intact bool, ns float64) result.Cell {
	c := result.Cell{Workload: "events", Operation: "append1", Engine: engine, Form: form, Status: result.OK, Ranked: true,
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
		"bbolt": {Name: "bbolt"}, "sqlite/sql@flushed": {Name: "sqlite/sql", Class: "flushed"}, " a@synced": {Name: "a", Class: "synced"},
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

// TestWhatIsNotCertainIsNoTie takes a contender that is far slower in every round, in too few rounds to be sure.
func TestWhatIsNotCertainIsNoTie(t *testing.T) {
	fast, slow := cellAt("fast", "", "synced", true, 1_000), cellAt("slow", "", "synced", true, 1_000)
	fast.Samples, slow.Samples = fast.Samples[:5], slow.Samples[:5]
	for i := range slow.Samples {
		slow.Samples[i].NS *= []float64{40, 90, 60, 20, 150}[i]
	}
	run := &result.Run{Cells: []result.Cell{fast, slow}}
	for i := range 30 { // others, for the number of comparisons
		c := cellAt("other", "", "synced", true, 1_000)
		c.Operation, c.Engine = "append100", string(rune('A'+i))
		run.Cells = append(run.Cells, c)
	}
	Finish(run)
	if r := run.Cells[1].Ratio; r == nil || r.Different || !r.Unresolved {
		t.Fatalf("ratio %+v, want one that is unresolved", r)
	}
	for _, v := range run.Verdicts {
		if v.Operation == "append1" && (len(v.Ties) > 0 || v.Text != "fast is probably the fastest at append1, but more rounds are needed.") {
			t.Errorf("verdict %+v: what is unresolved is neither tied nor ranked", v)
		}
	}
}

// TestVerdictNamesWhatIsBetween takes a contender that is unresolved and lies between the fastest and one that is slower
// for sure.
func TestVerdictNamesWhatIsBetween(t *testing.T) {
	best := func(op string) outcome {
		return outcome{operation: op, first: []string{"bbolt"}, next: "pebble", lead: &result.Ratio{Lo: 6.3, Mid: 10, Hi: 16}}
	}
	put, get := best("put"), best("get")
	put.unsure, get.unsure = []string{"sqlite", "bunt"}, []string{"bunt"}
	many := best("put")
	many.unsure = []string{"a", "b", "c", "d", "e"}
	tied := put
	tied.first = []string{"bbolt", "badger"}
	open := tied
	open.next, open.lead, open.unsure = "", nil, []string{"bunt"}
	for want, outcomes := range map[string][]outcome{
		"bbolt is the fastest at put (6.3x to 16x faster than pebble)":                                                                                                 {best("put")},
		"bbolt is probably the fastest at put (6.3x to 16x faster than pebble; bunt and sqlite need more rounds)":                                                      {put},
		"bbolt is probably the fastest at get (6.3x to 16x faster than pebble; bunt needs more rounds)":                                                                {get},
		"bbolt is probably the fastest at put (6.3x to 16x faster than pebble; a, b, c and 2 more need more rounds)":                                                   {many},
		"bbolt and badger tie at put (bbolt is 6.3x to 16x faster than pebble; bunt and sqlite need more rounds)":                                                      {tied},
		"bbolt and badger tie at put, but bunt needs more rounds":                                                                                                      {open},
		"bbolt is probably the fastest at put and get (10x faster than the next that is told apart; bunt and sqlite need more rounds)":                                 {put, get},
		"bbolt is the fastest at scan (6.3x to 16x faster than pebble); bbolt is probably the fastest at get (6.3x to 16x faster than pebble; bunt needs more rounds)": {best("scan"), get},
	} {
		if got := strings.Join(tableClauses(outcomes), "; "); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// TestWarningsCallNothingATieThatIsNone has comparisons that are marked as needing more rounds among those it counts.
func TestWarningsCallNothingATieThatIsNone(t *testing.T) {
	for _, w := range (unresolved{precision: 0.05, total: 24, few: 2, coarse: 20}).warnings(0) {
		if strings.Contains(w.Text, "tie") || !strings.Contains(w.Text, " of 24 comparisons ") {
			t.Errorf("warning %q", w.Text)
		}
	}
}
