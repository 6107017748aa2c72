package bench

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/assaydb/assay/lab/result"
)

const (
	// pilot is the part of the time in which every group sits once, in the order in which they were
	// named.
	pilot = 0.55
	// reserved is the part of the budget that is kept for counting syncs.
	reserved = 0.035
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
	r.foresee()
	r.checkBudget()
	r.first(ctx)
	for g := r.next(); g != nil && ctx.Err() == nil; g = r.next() {
		r.machine.look()
		g.sit(ctx, r.deadline())
	}
	r.counting = true
	measured := time.Now()
	r.count(ctx)
	spend(&r.run.Spent.Count, measured)
	for _, g := range r.groups {
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
		r.announce()
	}
}

// left returns how many cells the groups from number on have.
func (r *runner) left(number int) (cells int) {
	for _, g := range r.groups[number-1:] {
		cells += len(g.live())
	}
	return cells
}

// sitting is how long another sitting takes of those who are live, by what the last one took.
func (g *group) sitting() time.Duration {
	rounds := g.lasted - g.loading
	return g.loading + rounds*time.Duration(len(g.live())*g.length)/time.Duration(max(g.slices, 1))
}

// needs is how many more sittings decide what is open but for the comparisons that need the most,
// of which there are so many as left, if the rounds so far tell the truth.
func (g *group) needs(left int) float64 {
	return max(1, math.Ceil(g.more[len(g.more)-1-left]*float64(g.sittings)))
}

// worth is how many comparisons another sitting decides by the second, if what they need is spread
// over the sittings until then: of those that are decided within the time that is left, and of all
// if there is none.
func (g *group) worth(within time.Duration) (soon, ever float64) {
	for left := range g.more {
		takes := g.needs(left) * g.sitting().Seconds()
		w := float64(len(g.more)-left) / takes
		if ever = max(ever, w); takes <= within.Seconds() {
			soon = max(soon, w)
		}
	}
	return soon, ever
}

// next returns the group that should sit next: where the most is decided in the time that it takes,
// as far as time is left for that, and if nothing more will be, the one that sat least. After every
// sitting this is asked again, for what was seen in few rounds is often wrong. It is nil if nothing
// is open, or too little time is left for half a sitting.
func (r *runner) next() (next *group) {
	var soonest, most float64
	left := time.Until(r.deadline())
	for _, g := range r.groups {
		if len(g.live()) == 0 || g.sittings == 0 || r.over(g) || g.sitting()/2 > left {
			continue
		}
		soon, ever := g.worth(left)
		order := cmp.Or(cmp.Compare(soon, soonest), cmp.Compare(ever, most))
		if next == nil || order > 0 || order == 0 && g.sittings < next.sittings {
			next, soonest, most = g, soon, ever
		}
	}
	return next
}

// over reports whether a group has had as many rounds as were asked for.
func (r *runner) over(g *group) bool { return r.Rounds > 0 && g.round >= r.Rounds }

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
