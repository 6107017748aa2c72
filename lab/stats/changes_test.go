package stats

import (
	"fmt"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

// runOf returns a simulated run of contenders, each at a number of operations, that take effects
// times as long as usual.
func runOf(m machine, operations, rounds int, effects map[string]float64, names ...string) *result.Run {
	run := &result.Run{}
	all := make([]float64, len(names))
	for op := range operations {
		for i, name := range names {
			all[i] = float64(i+1) * max(effects[name], 1)
		}
		for i, samples := range m.processes(rounds, all...) {
			run.Cells = append(run.Cells, result.Cell{Workload: "hook", Operation: fmt.Sprintf("op%d", op),
				Engine: names[i], Ranked: true,
				Status: result.OK, Promise: result.Promise{Delivered: "synced", Intact: true, Proof: result.Proved},
				Samples: samples})
		}
	}
	return run
}

// verdictsOf counts what became of the times of one contender, or of all.
func verdictsOf(changes []result.Change, engine string) map[string]int {
	n := map[string]int{}
	for _, c := range changes {
		if engine == "" || c.Engine == engine {
			n[c.Time]++
			n["all"]++
		}
	}
	return n
}

// TestSameProgramTwiceChangesNothing simulates two runs of the same program, on a machine that is
// half as fast again and noisier the second time.
func TestSameProgramTwiceChangesNothing(t *testing.T) {
	all := [][]string{{"a", "b", "c"}, {"a", "b"}, {"a", "b", "c", "d", "e"}}
	if testing.Short() {
		all = all[:1]
	}
	for _, names := range all {
		one, two := newMachine(0.05), newMachine(0.15)
		two.rng.Uint64() // another sequence of accidents
		for range 1234 {
			two.rng.Uint64()
		}
		slow := map[string]float64{}
		for _, n := range names {
			slow[n] = 1.5
		}
		n := verdictsOf(Changes(runOf(one, 400, 24, nil, names...), runOf(two, 400, 24, slow, names...), ""), "")
		if wrong := n[result.Slower] + n[result.Faster]; 100*wrong > n["all"] {
			t.Errorf("%d engines: %d of %d cells are called different, want at most 1 in 100", len(names), wrong,
				n["all"])
		}
	}
}

// TestAPlantedChangeIsFound has one engine that became 15 % slower, beside others that did not.
func TestAPlantedChangeIsFound(t *testing.T) {
	all := [][]string{{"a", "b", "c"}, {"a", "b", "c", "d", "e"}}
	if testing.Short() {
		all = all[:1]
	}
	for _, names := range all {
		m := newMachine(0.05)
		m.bias, m.outlie = 0.01, 0.01
		changes := Changes(runOf(m, 100, 300, nil, names...),
			runOf(m, 100, 300, map[string]float64{"b": 1.15}, names...), "")
		mine := verdictsOf(changes, "b")
		if 10*mine[result.Slower] < 9*mine["all"] {
			t.Errorf("%d engines: 15 %% slower is found in %d of %d cells", len(names), mine[result.Slower],
				mine["all"])
		}
		others := verdictsOf(changes, "")
		if wrong := others[result.Faster] + others[result.Slower] - mine[result.Slower]; 50*wrong > others["all"] {
			t.Errorf("%d engines: of the others %d cells of %d changed", len(names), wrong, others["all"])
		}
	}
}

// At all operations together a change is found that is open at most of them, and none where there
// is none.
func TestAChangeOfAllOperationsIsFoundInTheWhole(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	tries := 60
	if testing.Short() {
		tries = 15
	}
	var alone, wholes, found, wrong int
	for try := range tries {
		m := newMachine(0.1)
		for range try * 1009 {
			m.rng.Uint64()
		}
		changes := Changes(runOf(m, 12, 84, nil, names...), runOf(m, 12, 84, map[string]float64{"b": 1.15}, names...), "")
		for _, c := range changes {
			if c.Engine == "b" && c.Time == result.Slower {
				alone++
			}
		}
		for _, w := range Wholes(changes) {
			wholes++
			switch {
			case w.Engine == "b" && w.Time == result.Slower:
				found++
			case w.Time == result.Slower || w.Time == result.Faster:
				wrong++
			}
			if w.Operations != 12 {
				t.Fatalf("%s has %d operations, want 12", w.Engine, w.Operations)
			}
		}
	}
	t.Logf("alone %d of %d, together %d of %d, of the others %d of %d", alone, 12*tries, found, tries, wrong, 4*tries)
	if wholes != 5*tries || 10*found < 9*tries || wrong > 1 {
		t.Errorf("found in %d of %d, and of the others %d of %d changed", found, tries, wrong, wholes-tries)
	}
}

// Beside one other alone, a change could be either's, unless one is named that did not change.
func TestBesideOneThatDidNotChange(t *testing.T) {
	m := newMachine(0.02)
	m.bias = 0.005
	old, now := runOf(m, 1, 40, nil, "a", "b"), runOf(m, 1, 40, map[string]float64{"b": 1.4}, "a", "b")
	both := Changes(old, now, "")
	if a, b := verdictsOf(both, "a"), verdictsOf(both, "b"); a[result.Faster] != 1 || b[result.Slower] != 1 {
		t.Errorf("a %v, b %v, want one faster and the other slower", a, b)
	}
	if named := Changes(old, now, "a"); len(named) != 1 || named[0].Engine != "b" || named[0].Beside != "a" ||
		named[0].Time != result.Slower {
		t.Errorf("beside a: %+v", named)
	}
}

// A contender that is alone has nothing that the machine cancels out against.
func TestAloneNothingIsSaidOfTheTime(t *testing.T) {
	m := newMachine(0.01)
	got := Changes(runOf(m, 1, 40, nil, "a"), runOf(m, 1, 40, map[string]float64{"a": 3}, "a"), "")
	if len(got) != 1 || got[0].Time != result.Undecided || got[0].Times != nil {
		t.Errorf("got %+v", got)
	}
	if got := Changes(runOf(m, 1, 40, nil, "a"), runOf(m, 1, 40, nil, "b"), ""); len(got) != 0 {
		t.Errorf("nothing in common: %+v", got)
	}
}

func TestCountsAreComparedWhereTheyAreExact(t *testing.T) {
	cell := func(workers int, syncs, writes float64) result.Cell {
		return result.Cell{Counted: 64, Workers: workers, Syncs: &syncs, Writes: &writes}
	}
	for _, c := range []struct {
		was, is result.Cell
		want    string
	}{
		{cell(1, 2, 5), cell(1, 3, 5), "[syncs 2 3 true] [writes 5 5 true]"},
		{cell(1, 2, 5.25), cell(1, 2, 6), "[syncs 2 2 true] [writes 5.25 6 false]"},
		{cell(8, 2, 5), cell(8, 3, 5), "[syncs 2 3 false] [writes 5 5 false]"},
	} {
		text := ""
		for i, n := range counts(c.was, c.is) {
			if i > 0 {
				text += " "
			}
			text += fmt.Sprintf("[%s %v %v %v]", n.Name, n.Before, n.After, n.Exact)
		}
		if text != c.want {
			t.Errorf("got %s, want %s", text, c.want)
		}
	}
}

// A whole number of few operations may be chance.
func TestFewOperationsCountNothingExactly(t *testing.T) {
	twenty, nineteen := 20.0, 19.0
	got := counts(result.Cell{Counted: 8, Syncs: &twenty}, result.Cell{Counted: 8, Syncs: &nineteen})
	if len(got) != 1 || got[0].Exact {
		t.Errorf("got %+v, want a count that is not exact", got)
	}
}
