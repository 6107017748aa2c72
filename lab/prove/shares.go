package prove

import (
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// A second of a lane counts as some states at least, so that an engine that is slow to open does
// not take all of the time.
const (
	statesPerSecond      = 3
	statesPerSecondOfLag = 8 // of a pair that lags
)

// choose returns the job that is to have the next slice of a lane, so long after the beginning;
// nil if none is free that has more to do. Each job has one before any has a second. Then the
// promise comes first that lags, or else of which least was found by its worth, as long as not
// ample was found of it, and of its tasks the one that is furthest behind its share of the time. A
// promise leaves a lane to each other one: one that lags and had all of them would spend them on
// tasks that have no such share.
func choose(jobs []*job, lanes int, elapsed time.Duration) (best *job) {
	at := map[*pair]int{} // work, lanes
	for _, j := range jobs {
		if !j.over {
			at[j.pair] += 0
		}
		if j.busy {
			at[j.pair]++
		}
	}
	most := max(lanes-len(at)+1, 1)
	for _, j := range jobs {
		switch {
		case j.busy || j.over:
		case best == nil:
			best = j
		case j.spent > 0 && best.spent > 0 && (at[j.pair] < most) != (at[best.pair] < most):
			if at[j.pair] < most {
				best = j
			}
		case j.before(best, elapsed):
			best = j
		}
	}
	return best
}

// before reports whether j is to have a slice before o, so long after the beginning.
func (j *job) before(o *job, elapsed time.Duration) bool {
	if (j.spent == 0) != (o.spent == 0) { // each has its turn
		return j.spent == 0
	}
	if mine, other := j.pair.lag(elapsed), o.pair.lag(elapsed); j.pair != o.pair && mine != other {
		return mine > other
	}
	if mine, other := j.pair.ample(), o.pair.ample(); mine != other {
		return other
	}
	if mine, other := j.pair.share(), o.pair.share(); j.pair != o.pair && mine != other {
		return mine < other
	}
	return j.had() < o.had()
}

// counted is how much of the time counts for what lags: a run that is too short for enough states
// of each promise goes by their worth alone.
func (r *runner) counted(elapsed time.Duration) time.Duration {
	if r.Budget < DefaultBudget {
		return 0
	}
	return elapsed
}

// lag returns how many states of a pair are missing by now.
func (p *pair) lag(elapsed time.Duration) float64 {
	due := result.EnoughStates * min(elapsed.Seconds()/DefaultBudget.Seconds(), 1)
	return max(due-max(float64(p.states), statesPerSecondOfLag*p.spent.Seconds()), 0)
}

// ample reports whether so many states were found of a pair that others come before it.
func (p *pair) ample() bool { return p.states >= ampleStates }

// ampleStates is how many the proof that ships has of each promise.
const ampleStates = 10 * result.EnoughStates

// share is what has been found of a pair, by what it is worth: of a promise that is to hold when
// power fails three times as much, of one that leaves the store intact half as much again.
func (p *pair) share() float64 {
	worth := 1.0
	switch {
	case p.caps.Class == kv.Synced:
		worth = 3
	case p.caps.Intact:
		worth = 1.5
	}
	return (float64(p.states) + statesPerSecond*p.spent.Seconds()) / worth
}

// had is the time that a job has had, by its weight.
func (j *job) had() float64 { return float64(j.spent) / float64(j.weight) }

// weightOf returns a task's share of the time: of what is promised most is to be found out. A store
// that may break when power or the disk fails promises something of kills alone.
func weightOf(c caps, fault string) int {
	weights := map[string][3]int{ // of Synced, of what stays intact, of the rest
		result.FaultKill:     {3, 4, 16},
		result.FaultPower:    {8, 5, 3},
		result.FaultRecovery: {6, 2, 1},
		result.FaultEIO:      {22, 3, 1},
		result.FaultENOSPC:   {6, 1, 1},
	}[fault]
	switch {
	case c.Class == kv.Synced:
		return weights[0]
	case c.Intact:
		return weights[1]
	}
	return weights[2]
}
