package stats

import (
	"cmp"
	"math"
	"slices"

	"github.com/assaydb/assay/lab/result"
)

// changeAlpha is how often a comparison of two runs of the same program may call a cell different:
// 1 in 100.
const changeAlpha = 0.01

// raceKey names an operation at one promise: what is compared within a run.
type raceKey struct {
	workload, operation, params, promise string
	rate                                 float64
}

func keyOf(c result.Cell) raceKey {
	return raceKey{c.Workload, c.Operation, c.Params, c.Promise.Label(), c.Rate}
}

// Changes returns what became of each contender between two runs, at every operation and promise
// that both have it at.
//
// Two runs were made on two machines, or on one that changed meanwhile. So a time is taken beside
// that of another contender, in the same rounds of the same run, and the two ratios are compared. A
// change of the other one looks like the opposite change; of several others the middle one counts,
// and of two in the middle the one that shows less: what changed has changed beside most of them.
// beside names the only one to look at instead, which is known not to have changed; it is left out
// then.
func Changes(old, now *result.Run, beside string) []result.Change {
	before, after := measuredCells(old), measuredCells(now)
	sigmas := [2]Processes{processesOf(old.Cells, result.Tables(old.Cells)),
		processesOf(now.Cells, result.Tables(now.Cells))}
	var all []result.Change
	for _, c := range now.Cells {
		key := keyOf(c)
		was, both := before[key][c.Name()]
		if _, measured := after[key][c.Name()]; !both || !measured || c.Name() == beside {
			continue
		}
		change := result.Change{Workload: c.Workload, Operation: c.Operation, Params: c.Params, Engine: c.Engine,
			Form:    c.Form,
			Promise: c.Promise.Label(), Rate: c.Rate, Time: result.Undecided, Counts: counts(was, c)}
		var seen []ratioChange
		for name, other := range after[key] {
			otherWas, both := before[key][name]
			if !both || name == c.Name() || beside != "" && name != beside {
				continue
			}
			one := sigmas[0].compare(was.Samples, otherWas.Samples, changeAlpha)
			two := sigmas[1].compare(c.Samples, other.Samples, changeAlpha)
			if one.Enough() && two.Enough() {
				seen = append(seen, changeOf(name, one, two))
			}
		}
		if len(seen) > 0 {
			middle(seen).tell(&change)
		}
		all = append(all, change)
	}
	return all
}

// Lost returns what old measured and now did not, though it tried: with the error, or what is
// promised now.
func Lost(old, now *result.Run) []result.Loss {
	after := measuredCells(now)
	var all []result.Loss
	for _, was := range old.Cells {
		if _, both := after[keyOf(was)][was.Name()]; both || !measured(was) {
			continue
		}
		loss := result.Loss{Workload: was.Workload, Operation: was.Operation, Params: was.Params, Engine: was.Engine,
			Form: was.Form, Promise: was.Promise.Label()}
		for _, c := range now.Cells {
			tried := c.Workload == was.Workload && c.Operation == was.Operation && c.Params == was.Params &&
				c.Name() == was.Name() && c.Rate == was.Rate && c.Promise.Requested == was.Promise.Requested
			switch {
			case !tried || loss.Why != "" && c.Promise.Label() != was.Promise.Label():
			case measured(c):
				loss.Why, loss.Skipped = "its promise is "+c.Promise.Label()+" now", false
			case c.Status != result.OK:
				loss.Why, loss.Skipped = string(c.Status)+": "+c.Error, c.Status == result.Skipped
			}
		}
		if loss.Why != "" {
			all = append(all, loss)
		}
	}
	return all
}

// measuredCells returns the ranked cells of a run that have samples, by operation and name.
func measuredCells(run *result.Run) map[raceKey]map[string]result.Cell {
	all := map[raceKey]map[string]result.Cell{}
	for _, c := range run.Cells {
		if !measured(c) {
			continue
		}
		if all[keyOf(c)] == nil {
			all[keyOf(c)] = map[string]result.Cell{}
		}
		all[keyOf(c)][c.Name()] = c
	}
	return all
}

// measured reports whether a cell is ranked and has samples.
func measured(c result.Cell) bool { return c.Status == result.OK && c.Ranked && len(c.Samples) > 0 }

// ratioChange is the change of a ratio to another contender.
type ratioChange struct {
	beside        string
	before, after float64
	times         result.Interval
}

// changeOf divides a ratio by what it was. The bounds of the quotient's logarithm are as far away
// as those of both together.
func changeOf(beside string, was, is Comparison) ratioChange {
	reach := func(a, b, c, d float64) float64 { return math.Hypot(math.Log(a/b), math.Log(c/d)) }
	mid := is.Mid / was.Mid
	return ratioChange{beside: beside, before: was.Mid, after: is.Mid, times: result.Interval{
		Lo: mid * math.Exp(-reach(is.Mid, is.Lo, was.Hi, was.Mid)), Mid: mid,
		Hi: mid * math.Exp(reach(is.Hi, is.Mid, was.Mid, was.Lo)),
	}}
}

// middle returns the middle one of changes, and of two the one that is nearer to none.
func middle(all []ratioChange) ratioChange {
	slices.SortFunc(all, func(a, b ratioChange) int {
		return cmp.Or(cmp.Compare(a.times.Mid, b.times.Mid), cmp.Compare(a.beside, b.beside))
	})
	a, b := all[(len(all)-1)/2], all[len(all)/2]
	if math.Abs(math.Log(b.times.Mid)) < math.Abs(math.Log(a.times.Mid)) {
		return b
	}
	return a
}

// tell puts a change and its verdict into c.
func (r ratioChange) tell(c *result.Change) {
	c.Beside, c.Before, c.After, c.Times, c.Time = r.beside, r.before, r.after, &r.times, changed(r.times)
}

// changed returns what an interval of how many times as long something takes says.
func changed(t result.Interval) string {
	switch {
	case t.Lo > 1 && t.Mid > 1+MinEffect:
		return result.Slower
	case t.Hi < 1 && t.Mid < 1/(1+MinEffect):
		return result.Faster
	case t.Lo >= 1/(1+Margin) && t.Hi <= 1+Margin:
		return result.Same
	}
	return result.Undecided
}

// Wholes returns what became of each contender at all operations together, of those that [Changes]
// returned: the mean of their changes' logarithms, each counted by how well it is known (by the
// inverse of its variance). The operations were measured in processes of their own, so that their
// errors are independent. Who has a single operation is left out.
func Wholes(changes []result.Change) []result.Whole {
	type sum struct{ n, weight, mid, lo, hi float64 }
	sums, names := map[string]*sum{}, []result.Whole{}
	for _, c := range changes {
		if c.Times == nil {
			continue
		}
		s := sums[c.Name()]
		if s == nil {
			s = &sum{}
			sums[c.Name()], names = s, append(names, result.Whole{Engine: c.Engine, Form: c.Form})
		}
		mid, lo, hi := math.Log(c.Times.Mid), math.Log(c.Times.Mid/c.Times.Lo), math.Log(c.Times.Hi/c.Times.Mid)
		w := 1 / (lo*lo + hi*hi)
		s.n, s.weight, s.mid = s.n+1, s.weight+w, s.mid+w*mid
		s.lo, s.hi = s.lo+w*w*lo*lo, s.hi+w*w*hi*hi
	}
	var all []result.Whole
	for _, w := range names {
		s := sums[w.Name()]
		if s.n < 2 {
			continue
		}
		mid := s.mid / s.weight
		w.Operations = int(s.n)
		w.Times = result.Interval{Lo: math.Exp(mid - math.Sqrt(s.lo)/s.weight), Mid: math.Exp(mid),
			Hi: math.Exp(mid + math.Sqrt(s.hi)/s.weight)}
		w.Time = changed(w.Times)
		all = append(all, w)
	}
	return all
}

// leastCounted is how many operations show that all have the same count: fewer may come to a whole
// number by chance.
const leastCounted = 32

// counts returns what both cells counted. A count is exact where every operation has the same whole
// number, and one worker does them: several share their commits as it happens.
func counts(was, is result.Cell) []result.Count {
	if was.Syncs == nil || is.Syncs == nil { // then nothing was counted: what else there is, the system estimates
		return nil
	}
	var all []result.Count
	for _, f := range []struct {
		name    string
		was, is *float64
	}{{"syncs", was.Syncs, is.Syncs}, {"writes", was.Writes, is.Writes}, {"written", was.Written, is.Written}} {
		if f.was == nil || f.is == nil {
			continue
		}
		exact := min(is.Counted, was.Counted) >= leastCounted && is.Workers <= 1 && was.Workers <= 1 &&
			*f.was == math.Trunc(*f.was) && *f.is == math.Trunc(*f.is)
		all = append(all, result.Count{Name: f.name, Before: *f.was, After: *f.is, Exact: exact})
	}
	return all
}
