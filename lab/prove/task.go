package prove

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
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
	meetings   []*recording   // one process behind another, and nothing happens to them
	measured   *figures       // of the pair on a disk that nothing happens to; nil if there is none
	void       error          // the failure of a control
	did        map[string]int // by kind of operation, what the recordings hold

	spent  time.Duration // by lanes
	states int           // that were opened and compared, of what is promised, if anything is
	claims bool          // under the faults asked for something is promised
	found  stateSet      // those states
}

// task is a pair under one fault.
type task struct {
	*pair
	fault   string
	cells   []*cell           // one for each rule, or one
	weight  int               // its share of the time
	spent   time.Duration     // by lanes
	ops     int               // of the recordings that were crashed
	covered int               // of those, how many it was before
	round   int               // recordings, kills and faults that were begun
	ordered bool              // ordered rules are tried
	beside  []powerfs.Entries // others that are
	hung    atomic.Bool       // a verifier has hung
	late    []lateState       // the first ones
	seen    stateSet          // the states that were opened and compared of what is not promised
	why     string            // it was not tried, or not to the end
	done    bool

	flippedBits, readErrors result.Damage // of the task of damage
}

// newTask returns a task with its empty cells.
func (r *runner) newTask(p *pair, fault string) *task {
	t := &task{pair: p, fault: fault, weight: weightOf(p.caps, fault)}
	for _, rule := range r.rulesOf(fault) {
		c := p.newCell(fault, rule)
		t.cells, p.claims = append(t.cells, c), p.claims || c.claimed()
		switch r, err := powerfs.ParseRule(rule); {
		case err != nil || r.Entries == powerfs.Ordered:
			t.ordered = true
		case !slices.Contains(t.beside, r.Entries):
			t.beside = append(t.beside, r.Entries)
		}
	}
	return t
}

// saw counts a state that was opened and compared, unless it has been before: a kill and a power
// cut may leave the same, which shows a promise once.
func (t *task) saw(c *cell, sum [32]byte, o outcome) {
	seen := &t.seen
	if c.claimed() {
		seen = &t.found
	}
	if !o.Late && seen.add(sum) {
		t.count(c)
	}
}

// count counts a distinct state.
func (t *task) count(c *cell) {
	c.States++
	if c.claimed() || !t.claims {
		t.states++
	}
}

// entries returns what the states keep that are crashed more than once.
func (t *task) entries() powerfs.Entries {
	if t.ordered || len(t.beside) == 0 {
		return powerfs.Ordered
	}
	return t.beside[0]
}

// only returns the one state in which so much survives.
func (t *task) only(s powerfs.Survivors) stateFunc {
	rule := powerfs.Rule{Entries: t.entries(), Survivors: s}
	return func(*powerfs.Player, *rand.Rand) []powerfs.State { return []powerfs.State{powerfs.Random(rule, 0)} }
}

func (p *pair) newCell(fault, rule string) *cell {
	c := &cell{atomic: p.caps.KillAtomic}
	if fault == result.FaultPower || fault == result.FaultRecovery {
		c.atomic = p.caps.PowerAtomic
	}
	c.breaks = p.caps.DiskMayBreak && (fault == result.FaultEIO || fault == result.FaultENOSPC)
	c.Engine, c.URL, c.Fault, c.Rule = p.entry.Name, p.entry.URL(), fault, rule
	c.Requested, c.Delivered, c.Intact = p.class.String(), p.caps.Class.String(), p.caps.Intact
	c.Keeps.Claimed, c.Whole.Claimed = claims(p.caps, fault, rule)
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
