package bench

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
	"github.com/assaydb/assay/lab/workload"
)

// group is one operation at one promise on all contenders: the cells that are measured in the same
// rounds. Promises do not share rounds: one's dirty pages would be another's sync.
type group struct {
	r         *runner
	selection Selection
	op        workload.Op
	number    int // counted from 1
	cells     []*cell

	sittings int           // so far
	round    int           // so far
	length   int           // rounds of a sitting, as many as the first one had
	lasted   time.Duration // the last sitting
	loading  time.Duration // the part of it that loading took
	slices   int           // of the last sitting, of all cells
	heavy    bool          // loading takes so long that it is done again only if time is left
	// how many more rounds would decide each open comparison, of the best with another engine in
	// whichever forms, as a multiple of those so far, ascending
	more  []float64
	looks int // so far
}

// newGroups returns the groups of an operation: of each promise that a contender makes, or one of
// reads.
func newGroups(r *runner, s Selection, op workload.Op) []*group {
	var all []*group
	add := func(e Entry, form string, class kv.Durability, p result.Promise) *cell {
		of := func(g *group) bool { return g.cells[0].Promise.Delivered == p.Delivered }
		i := slices.IndexFunc(all, of)
		if i < 0 {
			i = len(all)
			all = append(all, &group{r: r, selection: s, op: op})
		}
		return all[i].add(e, form, class, p)
	}
	for _, e := range r.Entries {
		for _, form := range forms(op, e) {
			if r.Form == "" || r.Form == form {
				r.addContender(op, e, form, add)
			}
		}
	}
	return all
}

// forms returns the ways to do op on e.
func forms(op workload.Op, e Entry) []string {
	if op.Forms == nil {
		return []string{"kv"}
	}
	return op.Forms(e.Engine, e.Options)
}

// addContender adds a cell for each promise that the engine makes; one cell if the operation only
// reads.
func (r *runner) addContender(op workload.Op, e Entry, form string,
	add func(Entry, string, kv.Durability, result.Promise) *cell) {
	if err := r.broken[e.Name]; err != nil {
		add(e, form, r.Classes[0], result.Promise{Delivered: "unknown"}).fail(err)
		return
	}
	promises := r.promises[e.Name]
	if !op.Commits {
		add(e, form, kv.Caps{Promises: [3]kv.Promise(promises)}.Cheapest(), result.Promise{Delivered: "read"})
		return
	}
	for _, class := range r.Classes {
		p := promises[class]
		switch {
		case !p.Supported && !r.named:
		case !p.Supported:
			add(e, form, class, result.Promise{Requested: class.String(), Delivered: class.String()}).
				skip(fmt.Sprintf("%s does not deliver %v", e.Name, class))
		case p.Class != class && slices.Contains(r.Classes, p.Class):
			// The same as the stronger class, which is measured anyway.
		default:
			add(e, form, class, result.Promise{Requested: class.String(), Delivered: p.Class.String(),
				Intact: p.Intact})
		}
	}
}

func (g *group) add(e Entry, form string, class kv.Durability, p result.Promise) *cell {
	g.r.cells++
	c := &cell{
		key: childKey{e.Name, form, class}, op: g.op,
		Cell: result.Cell{
			Workload: g.selection.Workload.Name, Operation: g.op.Name, Params: g.selection.Query(),
			Engine: e.Name, Form: form, URL: e.URL(), Ranked: !e.Unranked, Promise: g.r.label(e.URL(), p),
			Status:  result.OK,
			Workers: max(g.op.Workers, 1), Items: max(g.op.Items, 1), Rate: g.r.Rate,
		},
		spec: cellSpec{
			Workload: g.selection.Workload.Name, Operation: g.op.Name, Params: g.selection.Params,
			Engine: e.Engine, Options: e.Options, Form: form, Durability: class, Seed: g.r.Seed,
			Slow: e.Slow, Dir: filepath.Join(g.r.data, fmt.Sprintf("cell-%d", g.r.cells)), Helper: g.r.Helper,
		},
		metrics: map[string][]workload.Metric{},
	}
	g.cells = append(g.cells, c)
	return c
}

// look takes cells out of the race whose comparisons are sure already, and finds out how much the
// others need.
func (g *group) look() {
	cells := make([]result.Cell, len(g.cells))
	for i, c := range g.cells {
		cells[i] = c.Cell
		if c.N == 0 {
			cells[i].Status = result.Skipped // it takes no part
		}
	}
	g.looks++
	more, open := map[string]float64{}, false
	standings := stats.Look(cells, g.looks, stats.Rule{Precision: g.r.Precision, Even: g.r.Even})
	for i, c := range g.cells {
		if c.N > 0 && c.Status == result.OK && c.Ranked {
			c.Early = standings[i].Early
			open = open || c.Early == ""
			if standings[i].More > 0 {
				more[c.Engine] = max(more[c.Engine], standings[i].More)
			}
		}
	}
	g.more = slices.Sorted(maps.Values(more))
	for _, c := range g.cells { // nobody waits for the harness's floor
		if c.N > 0 && !c.Ranked && !open {
			c.Early = result.EarlyDecided
		}
	}
}
