package prove

import (
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/result"
)

// pair is an engine at a promise that it makes.
type pair struct {
	entry bench.Entry
	class kv.Durability // the strongest one asked for that is delivered so
	caps  caps

	measuring sync.Mutex
	measured  *figures // of the pair on a disk that nothing happens to; nil until they are needed
	void      error    // the failure of a control
}

// task is a pair under one fault.
type task struct {
	*pair
	fault    string
	cells    []*cell // one for each rule, or one
	planned  int     // rounds, unless time runs out
	weight   int     // its share of the time
	round    int
	deadline time.Time
	control  *cell             // of power: an image that holds everything, of each crash
	hung     bool              // a verifier has hung
	seen     map[[32]byte]bool // the states that were opened and compared, by their sums
	why      string            // it was not tried, or not to the end
}

// The rounds and weights of the faults within the default budget. A power cut of a Synced class has so many rounds that
// each such class has more than 200 images with its entries in order.
var plans = map[string]struct{ rounds, weight int }{
	result.FaultKill:     {6, 3},
	result.FaultPower:    {16, 6},
	result.FaultRecovery: {4, 2},
	result.FaultEIO:      {12, 2},
	result.FaultENOSPC:   {8, 2},
}

const (
	syncedRounds = 22
	syncedWeight = 10
)

// newTask returns a task with its empty cells.
func (r *runner) newTask(p *pair, fault string) *task {
	t := &task{pair: p, fault: fault, planned: plans[fault].rounds, weight: plans[fault].weight}
	if fault == result.FaultPower && p.caps.Class == kv.Synced {
		t.planned, t.weight = syncedRounds, syncedWeight
	}
	if scale := float64(r.Budget) / float64(DefaultBudget); scale > 1 {
		t.planned = int(float64(t.planned) * scale)
	}
	if r.Rounds > 0 {
		t.planned = r.Rounds
	}
	t.control = p.newCell(fault, everything.String())
	t.control.control = true
	for _, rule := range r.rulesOf(fault) {
		t.cells = append(t.cells, p.newCell(fault, rule))
	}
	return t
}

// saw counts a state that was opened and compared, unless it has been before.
func (t *task) saw(c *cell, sum [32]byte, o outcome) {
	if o.Late || c.control || t.seen[sum] {
		return
	}
	if t.seen == nil {
		t.seen = map[[32]byte]bool{}
	}
	t.seen[sum] = true
	c.States++
}

func (p *pair) newCell(fault, rule string) *cell {
	c := &cell{atomic: p.caps.KillAtomic}
	if fault == result.FaultPower || fault == result.FaultRecovery {
		c.atomic = p.caps.PowerAtomic
	}
	c.Engine, c.URL, c.Fault, c.Rule = p.entry.Name, p.entry.URL(), fault, rule
	c.Requested, c.Delivered, c.Intact = p.class.String(), p.caps.Class.String(), p.caps.Intact
	return c
}

// rulesOf returns the rules that a fault has cells for.
func (r *runner) rulesOf(fault string) []string {
	switch fault {
	case result.FaultPower:
		return r.rules
	case result.FaultRecovery:
		return r.recoveryRules
	}
	return []string{""}
}

// more reports whether the task has another round: at least one, and no more than planned or than time allows.
func (r *runner) more(t *task) bool {
	if t.round > 0 && (t.round >= t.planned || r.Rounds == 0 && time.Now().After(t.deadline)) {
		return false
	}
	t.round++
	r.report(t)
	return true
}

// seed returns the seed of the task's current round.
func (r *runner) seed(t *task) uint64 {
	if t.round == 1 {
		return r.Seed
	}
	return mix(r.Seed, "round", t.round)
}

// defaultWriters is how many goroutines commit at the same time where one alone does not.
const defaultWriters = 4

// writers returns how many goroutines commit in the round with a seed. A log has one: the order of several would be another
// each time, and with it every message.
func (r *runner) writers(p *pair, seed uint64) int {
	switch {
	case p.caps.Log:
		return 1
	case r.Writers > 0:
		return r.Writers
	case mix(seed, "writers")%3 == 0:
		return 1
	}
	return defaultWriters
}

// newPast returns the past before the first commit.
func newPast(seed uint64, writers int) past {
	p := past{Seed: seed}
	for range writers {
		p.Chains = append(p.Chains, chain{{Salt: mix(seed, "salt", 0)}})
	}
	return p
}

func (p *pair) store(dir string) storeSpec {
	return storeSpec{Entry: p.entry, Dir: dir, Class: p.class}
}
