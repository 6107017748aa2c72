package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// rank orders the contenders that fit by the time of the work, and names the pick: the fastest, or
// one that is proved where the fastest is not and is not surely faster.
func (a *Advice) rank(fit []contender) {
	n := a.Needs
	fastest := slices.MinFunc(fit, func(x, y contender) int { return cmp.Compare(x.total(n), y.total(n)) })
	pick := fastest
	for _, c := range fit {
		r := c.beside(fastest, n)
		better := pick.promise(n).Proof != result.Proved && c.promise(n).Proof == result.Proved
		if better && r.Is != Sure {
			pick = c
		}
	}
	for _, c := range fit {
		r := c.beside(pick, n)
		if c.name == pick.name {
			r.Is = ""
			a.Pick = &r
			continue
		}
		a.Others = append(a.Others, r)
	}
	slices.SortStableFunc(a.Others, func(x, y Ranked) int { return cmp.Compare(x.Ratio.Mid, y.Ratio.Mid) })
	a.Code = codeOf(pick, n)
	if len(a.Others) == 0 {
		a.Sure, a.Why = Alone, "no other engine does what is needed"
		return
	}
	a.decide(fastest.name)
	if a.Sure == Open {
		engines := pick.engine.Argument
		for _, o := range a.Others {
			if o.Is == Open {
				engines += "," + fit[slices.IndexFunc(fit, func(c contender) bool { return c.name == o.Name })].engine.Argument
			}
		}
		a.Next = fmt.Sprintf("assay run %s --engines '%s' --durability %v --budget 3m", n.arguments(), engines,
			n.Promise)
	}
}

// decide says how sure the pick is.
func (a *Advice) decide(fastest string) {
	a.Sure = Sure
	var near []string
	for _, o := range a.Others {
		if o.Is == Open || o.Is == Equivalent && a.Sure == Sure {
			a.Sure = o.Is
		}
	}
	for _, o := range a.Others {
		if o.Is == a.Sure {
			near = append(near, fmt.Sprintf("%s, which takes %s the time", o.Name, o.Times()))
		}
	}
	switch a.Sure {
	case Sure:
		a.Why = fmt.Sprintf("the next, %s, takes %s the time for the same work", a.Others[0].Name,
			a.Others[0].Times())
	case Equivalent:
		a.Why = fmt.Sprintf("as fast, within %.0f %%, is %s", 100*stats.Margin, strings.Join(near, "; "))
	default:
		a.Why = "it is open how it compares with " + strings.Join(near, "; ")
	}
	if fastest != a.Pick.Name {
		a.Why += fmt.Sprintf("; %s is preferred to %s, which is not surely faster, because its promise was tried",
			a.Pick.Name, fastest)
	}
}

// arguments returns the work as arguments of assay run, in quotes for the shell.
func (n Needs) arguments() string {
	text := ""
	for i, w := range n.Work {
		if i > 0 {
			text += " "
		}
		text += "'" + w.String() + "'"
	}
	return text
}

// Times returns "3.6x [3.4–3.7]".
func Times(r result.Interval) string {
	return fmt.Sprintf("%sx [%s–%s]", Factor(r.Mid), Factor(r.Lo), Factor(r.Hi))
}

// Times returns the time of r as a multiple of the pick's, with the interval if there is one:
// "3.6x [3.4–3.7]", "3.6x (too few rounds)".
func (r Ranked) Times() string {
	if r.Few {
		return Factor(r.Ratio.Mid) + "x (too few rounds)"
	}
	return Times(r.Ratio)
}

// Factor returns a ratio in three digits; what is beyond a thousand tells nothing more.
func Factor(v float64) string {
	if !(v < 999.5) {
		return ">1000"
	}
	return stats.Factor(v)
}

// total returns the time of the work: the sum of its operations' times, as often as each is done.
func (c contender) total(n Needs) float64 {
	sum := 0.0
	for i, cell := range c.cells {
		sum += n.Work[i].Weight * cell.NS.Mid
	}
	return sum
}

// promise returns that of the commits of the work which survive least; of work that only reads,
// what the engine promises of the class that is needed.
func (c contender) promise(n Needs) (p result.Promise) {
	for _, cell := range c.cells {
		if q := cell.Promise; q.Delivered != "read" && (p.Delivered == "" ||
			strength[q.Delivered] < strength[p.Delivered]) {
			p = q
		}
	}
	if p.Delivered == "" {
		return c.engine.Promises[n.Promise]
	}
	return p
}

// beside compares the contender with the pick.
//
// An operation's ratio is that of the two contenders in the run's tables. The ratio of the work is
// the mean of these, each counted by its share of the pick's time; the distances of their bounds
// add up as independent errors do.
func (c contender) beside(pick contender, n Needs) Ranked {
	r := Ranked{Name: c.name, URL: c.engine.URL, Promise: c.promise(n), Binary: c.engine.Binary}
	total, weights := pick.total(n), 0.0
	var below, above float64
	for i, cell := range c.cells {
		w := n.Work[i]
		share := w.Weight * pick.cells[i].NS.Mid / total
		weights += w.Weight
		ratio := result.Ratio{To: pick.name, Lo: 1, Mid: 1, Hi: 1, Equivalent: true}
		if cell != pick.cells[i] {
			cmp := stats.Beside(c.run, *cell, *pick.cells[i])
			ratio = result.Ratio{To: pick.name, Lo: cmp.Lo, Mid: cmp.Mid, Hi: cmp.Hi, Different: cmp.Different,
				Equivalent: cmp.Equivalent}
			r.Few = r.Few || !cmp.Enough()
		}
		r.Work = append(r.Work, Cost{Work: w, NS: cell.NS.Mid, Ratio: ratio})
		r.NS += w.Weight * cell.NS.Mid
		r.Ratio.Mid += share * ratio.Mid
		below += math.Pow(share*(ratio.Mid-ratio.Lo), 2)
		above += math.Pow(share*(ratio.Hi-ratio.Mid), 2)
	}
	r.NS /= weights
	r.Ratio.Lo, r.Ratio.Hi = r.Ratio.Mid-math.Sqrt(below), r.Ratio.Mid+math.Sqrt(above)
	r.Is = verdict(r.Ratio, r.mayDecide())
	r.Open = figure(c.cells, opening)
	r.RSS = figure(c.cells, func(cell *result.Cell) *int64 { return cell.RSS })
	if files := figure(c.cells, func(cell *result.Cell) *int64 { return wide(cell.Files) }); files != nil {
		v := int(*files)
		r.Files = &v
	}
	return r
}

// mayDecide reports whether the interval may decide anything: all operations have enough rounds,
// and of none do the rounds that only one of both had say the opposite of its interval.
func (r Ranked) mayDecide() bool {
	return !r.Few && !slices.ContainsFunc(r.Work, func(c Cost) bool {
		slower := c.Ratio.Lo > 1 && c.Ratio.Mid > 1+stats.MinEffect
		faster := c.Ratio.Hi < 1 && c.Ratio.Mid < 1/(1+stats.MinEffect)
		return (slower || faster) && !c.Ratio.Different
	})
}

// faster reports whether r takes less time than what it is beside, for sure.
func (r Ranked) faster() bool {
	return r.mayDecide() && r.Ratio.Hi < 1 && r.Ratio.Mid < 1-stats.MinEffect
}

// figure is most, or nil.
func figure(cells []*result.Cell, of func(*result.Cell) *int64) *int64 {
	if _, v := most(cells, of); v > 0 {
		return &v
	}
	return nil
}
