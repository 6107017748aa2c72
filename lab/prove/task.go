package prove

import (
	"slices"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// pair is an engine at a promise that it makes.
type pair struct {
	entry bench.Entry
	class kv.Durability // the strongest one asked for that is delivered so
	caps  caps

	recording  sync.Mutex // is made
	recordings map[int]*recording
	making     sync.Mutex // of what follows
	healthy    []healthy
	measured   *figures       // of the pair on a disk that nothing happens to; nil if there is none
	void       error          // the failure of a control
	did        map[string]int // by kind of operation, what the recordings hold

	spent   time.Duration // by lanes
	states  int           // that were opened and compared
	ops     int           // of recordings that power failed in
	covered int           // of those, how many it failed before
}

// A second of a lane counts as some states at least, so that an engine that is slow to open does
// not take all of the time.
const (
	statesPerSecond      = 3
	statesPerSecondOfLag = 8 // of a pair that lags
)

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

// enough is how many states are to be found of every pair within the default budget.
const enough = 2000

// lag returns how many states of a pair are missing by now.
func (p *pair) lag(elapsed time.Duration) float64 {
	due := enough * min(elapsed.Seconds()/DefaultBudget.Seconds(), 1)
	return max(due-max(float64(p.states), statesPerSecondOfLag*p.spent.Seconds()), 0)
}

// task is a pair under one fault.
type task struct {
	*pair
	fault   string
	cells   []*cell           // one for each rule, or one
	weight  int               // its share of the time
	round   int               // recordings, kills and faults that were begun
	ordered bool              // ordered rules are tried
	beside  []powerfs.Entries // others that are
	hung    bool              // a verifier has hung
	seen    map[[32]byte]bool // the states that were opened and compared, by their sums
	why     string            // it was not tried, or not to the end
	done    bool

	flippedBits, readErrors result.Damage // of the task of damage
}

// weightOf returns a task's share of the time: of what is promised most is to be found out.
func weightOf(c caps, fault string) int {
	weights := map[string][3]int{ // of Synced, of what stays intact, of the rest
		result.FaultKill:     {4, 4, 3},
		result.FaultPower:    {9, 5, 2},
		result.FaultRecovery: {5, 2, 1},
		result.FaultEIO:      {12, 2, 1},
		result.FaultENOSPC:   {3, 1, 1},
	}[fault]
	switch {
	case c.Class == kv.Synced:
		return weights[0]
	case c.Intact:
		return weights[1]
	}
	return weights[2]
}

// newTask returns a task with its empty cells.
func (r *runner) newTask(p *pair, fault string) *task {
	t := &task{pair: p, fault: fault, weight: weightOf(p.caps, fault)}
	for _, rule := range r.rulesOf(fault) {
		t.cells = append(t.cells, p.newCell(fault, rule))
		switch r, err := powerfs.ParseRule(rule); {
		case err != nil || r.Entries == powerfs.Ordered:
			t.ordered = true
		case !slices.Contains(t.beside, r.Entries):
			t.beside = append(t.beside, r.Entries)
		}
	}
	return t
}

// saw counts a state that was opened and compared, unless it has been before.
func (t *task) saw(c *cell, sum [32]byte, o outcome) {
	if o.Late || t.seen[sum] {
		return
	}
	if t.seen == nil {
		t.seen = map[[32]byte]bool{}
	}
	t.seen[sum] = true
	c.States++
	t.states++
}

func (p *pair) newCell(fault, rule string) *cell {
	c := &cell{atomic: p.caps.KillAtomic}
	if fault == result.FaultPower || fault == result.FaultRecovery {
		c.atomic = p.caps.PowerAtomic
	}
	c.breaks = p.caps.DiskMayBreak && (fault == result.FaultEIO || fault == result.FaultENOSPC)
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

// begun notes that a task has begun another recording, kill or fault.
func (r *runner) begun(t *task) {
	r.mu.Lock()
	t.round++
	r.mu.Unlock()
	r.report(t)
}

// defaultWriters is how many goroutines commit at the same time where one alone does not.
const defaultWriters = 4

// writers returns how many goroutines commit in the kill with a seed. A log has one: the order of
// several would be another each time, and with it every message.
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
