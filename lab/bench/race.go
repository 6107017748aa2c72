package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

const (
	// pilot is the part of the time in which every group sits once, in the order in which they were
	// named.
	pilot = 0.35
	// ahead is the part of the time left that one sitting of all may plan, except the last: what it
	// shows decides about the rest.
	ahead = 0.55
	// fullSittings is how many sittings all have that need them; what is left after them goes to
	// those that are still open.
	fullSittings = 3
	// reserved is the part of the budget that is kept for counting syncs.
	reserved = 0.05
)

// measure lets every group sit, and then again those whose comparisons are open, as long as they
// need.
func (r *runner) measure(ctx context.Context) {
	for _, s := range r.Selections {
		for _, op := range s.Ops {
			r.groups = append(r.groups, newGroups(r, s, op)...)
		}
	}
	for i, g := range r.groups {
		g.number = i + 1
	}
	r.checkBudget()
	r.first(ctx)
	r.announce()
	for n := 1; n < stats.MostLooks && ctx.Err() == nil; n++ {
		for _, p := range r.plan(n) {
			if ctx.Err() == nil && time.Until(r.deadline()) > p.group.leastTime() {
				r.machine.look()
				p.group.sit(ctx, time.Now().Add(p.time))
			}
		}
	}
	r.counting = true
	for _, g := range r.groups {
		for _, c := range g.cells {
			g.count(ctx, c)
		}
		r.run.Cells = append(r.run.Cells, g.results(ctx)...)
	}
}

// first lets every group sit once: its share of the time is that of its cells.
func (r *runner) first(ctx context.Context) {
	end := time.Now().Add(time.Duration(pilot * float64(time.Until(r.deadline()))))
	for _, g := range r.groups {
		if ctx.Err() != nil {
			return
		}
		share := time.Until(end) * time.Duration(len(g.live())) / time.Duration(max(r.left(g.number), 1))
		r.machine.look()
		g.sit(ctx, time.Now().Add(share))
	}
}

// left returns how many cells the groups from number on have.
func (r *runner) left(number int) (cells int) {
	for _, g := range r.groups[number-1:] {
		cells += len(g.live())
	}
	return cells
}

// planned is a group and the time that it should sit.
type planned struct {
	group *group
	time  time.Duration
}

// sitting returns how long another sitting of so many rounds takes of those who are live, by what
// the last one took.
func (g *group) sitting(rounds float64) time.Duration {
	share := float64(len(g.live())) / float64(max(g.sat, 1))
	return time.Duration(share * (float64(g.idle) + rounds*float64(g.rounds)))
}

// leastTime is how long another sitting takes at least: its warm-up is one more round.
func (g *group) leastTime() time.Duration { return g.sitting(moreRounds + 1) }

// needed is how long another sitting takes that decides what is open, if the rounds so far tell the
// truth. Where they say nothing, it is as many rounds again; where they say that it would take
// hopelessly long, false.
func (g *group) needed() (time.Duration, bool) {
	const safety = 1.5 // estimates of a variance from few rounds are often too low
	more, sure := g.more, true
	switch {
	case math.IsInf(more, 1):
		more = 1
	case more > stats.Hopeless:
		more, sure = stats.Hopeless, false
	}
	return max(g.leastTime(), g.sitting(safety*more*float64(g.round))), sure
}

// announce says after the first sitting how long the run would have to be to decide everything, if
// it is too short for that.
func (r *runner) announce() {
	all := time.Since(r.started)
	for _, g := range r.groups {
		if needed, sure := g.needed(); sure && len(g.live()) > 0 {
			all += needed
		}
	}
	if all > r.Budget {
		r.Progress(Progress{Phase: "plan", Needs: all, Elapsed: time.Since(r.started), Budget: r.Budget})
	}
}

// leastCell is how long a cell takes at least: starting, loading and warming up take most of it.
const leastCell = 400 * time.Millisecond

// checkBudget warns before the first sitting of a run that is too short for its cells.
func (r *runner) checkBudget() {
	if cells := r.left(1); time.Duration(cells)*leastCell > r.Budget {
		r.warn(fmt.Sprintf("%d cells share %v: hardly any comparison will be decided", cells, r.Budget),
			"name fewer operations or engines, or measure longer")
		r.Progress(Progress{Phase: "plan", Needs: time.Duration(cells) * 4 * leastCell, Elapsed: time.Since(r.started), Budget: r.Budget})
	}
}

// plan returns who sits in sitting n, counted from 0, and for how long. Each that needs it gets a
// second process; what is left goes to those first that need the least, so that as much as possible
// is decided.
func (r *runner) plan(n int) []planned {
	var plan []planned
	for _, g := range r.groups {
		if len(g.live()) > 0 && g.round > 0 && !(g.heavy && n < fullSittings) {
			plan = append(plan, planned{g, 0})
		}
	}
	pool := time.Until(r.deadline())
	if n < fullSittings-1 {
		pool = time.Duration(ahead * float64(pool))
	}
	for i, p := range plan {
		if least := p.group.leastTime(); least <= pool {
			plan[i].time, pool = least, pool-least
		}
	}
	order := slices.Clone(plan)
	slices.SortStableFunc(order, func(a, b planned) int {
		x, _ := a.group.needed()
		y, _ := b.group.needed()
		return cmp.Compare(x, y)
	})
	for i := range order {
		p := &order[i]
		if p.time > 0 {
			needed, _ := p.group.needed()
			more := min(needed-p.time, pool)
			p.time, pool = p.time+more, pool-more
		}
	}
	if n >= fullSittings-1 && len(order) > 0 { // nothing comes after that would need it
		for i := range order {
			order[i].time += pool / time.Duration(len(order))
		}
	}
	return slices.DeleteFunc(order, func(p planned) bool { return p.time == 0 })
}

// deadline is when the last measurement must end, so that everything is closed and reported within
// the budget.
func (r *runner) deadline() time.Time {
	reserve := min(max(r.Budget/45, 500*time.Millisecond), 10*time.Second)
	if !r.counting && r.commits() {
		reserve += max(time.Duration(reserved*float64(r.Budget)), min(time.Second, r.Budget/4))
	}
	return r.started.Add(r.Budget - reserve)
}

// commits reports whether there is something to count.
func (r *runner) commits() bool {
	return slices.ContainsFunc(r.groups, func(g *group) bool {
		return g.op.Commits && slices.ContainsFunc(g.cells, func(c *cell) bool { return c.Status == result.OK })
	})
}
