package bench

import (
	"fmt"
	"time"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// foresee says before the first sitting how long the run would have to be to decide everything, if
// it is too short for that. It knows by the newest of the earlier runs that measured all of its
// cells, with the same versions on the same machine; without one, by the run of another machine,
// and what its own first sittings tell is then said as well.
func (r *runner) foresee() {
	if r.Even || r.Rounds > 0 { // these end for other reasons
		return
	}
	if r.Earlier != nil {
		for run := range r.Earlier {
			if !sameMachine(run.Environment, r.run.Environment) {
				continue
			}
			if part := r.again(run); part != nil {
				takes, _ := stats.Needs(part)
				r.plan(takes, "the run of "+part.Started.Local().Format("2006-01-02 15:04"))
				r.foreseen = true
				return
			}
		}
	}
	if r.Elsewhere == nil {
		return
	}
	if part := r.again(r.Elsewhere); part != nil {
		takes, _ := stats.Needs(part)
		r.plan(takes, "a run on another machine")
		r.planned = false
	}
}

// again returns the part of a run that this one measures again; nil if it has not all of it.
func (r *runner) again(run *result.Run) *result.Run {
	planned := map[cellID]bool{}
	for _, g := range r.groups {
		for _, c := range g.live() {
			if c.Ranked {
				planned[idOf(c.Cell)] = true
			}
		}
	}
	part := stats.Part(run, func(c result.Cell) bool {
		return planned[idOf(c)] && c.Status == result.OK && len(c.Samples) >= stats.MinRounds
	})
	if len(planned) == 0 || len(part.Cells) < len(planned) {
		return nil
	}
	return part
}

// cellID names what a cell measures.
type cellID struct {
	workload, operation, params, engine, form, url, class string
	rate                                                  float64
}

func idOf(c result.Cell) cellID {
	return cellID{c.Workload, c.Operation, c.Params, c.Engine, c.Form, c.URL, c.Promise.Delivered, c.Rate}
}

// sameMachine reports whether what was measured at one place tells of the other: the same processor
// and disk, and the same versions of the engines.
func sameMachine(one, other result.Environment) bool {
	for module, version := range other.Modules {
		if one.Modules[module] != version {
			return false
		}
	}
	return one.Unranked == other.Unranked && one.CPU == other.CPU && one.CPUs == other.CPUs &&
		one.FileSystem == other.FileSystem && one.Device == other.Device && one.Storage == other.Storage
}

// soonest is the part of all cells after which the first sittings tell how long a run must be.
const soonest = 1.0 / 3

// announce says how long the run would have to be to decide everything, if it is too short for
// that: as soon as enough cells have sat once; where an earlier run has told that it is long
// enough, when all have.
func (r *runner) announce() {
	all, sat, cells := time.Since(r.started), 0, 0
	for _, g := range r.groups {
		if cells += len(g.cells); g.sittings == 0 {
			continue
		}
		sat += len(g.cells)
		for left := range g.more { // what is hopeless is left out
			if needs := g.needs(left); needs < stats.Hopeless {
				all += time.Duration(needs * float64(g.sitting()))
				break
			}
		}
	}
	enough := soonest
	if r.foreseen {
		enough = 1
	}
	if part := float64(sat) / float64(cells); part >= enough {
		r.plan(time.Duration(float64(all)/part), "its first rounds")
	}
}

// plan says once that deciding everything takes so long, if the budget is shorter, and what tells
// that.
func (r *runner) plan(takes time.Duration, by string) {
	if takes > r.Budget && !r.planned {
		r.planned = true
		r.Progress(Progress{Phase: "plan", Needs: takes, By: by, Elapsed: time.Since(r.started), Budget: r.Budget})
	}
}

// leastCell is how long a cell takes at least: starting, loading and warming up take most of it.
const leastCell = 400 * time.Millisecond

// checkBudget warns before the first sitting of a run that is too short for its cells.
func (r *runner) checkBudget() {
	if cells := r.left(1); time.Duration(cells)*leastCell > r.Budget {
		r.warn(fmt.Sprintf("%d cells share %v: hardly any comparison will be decided", cells, r.Budget),
			"name fewer operations or engines, or measure longer")
		r.plan(time.Duration(cells)*4*leastCell, "the number of its cells")
	}
}
