package prove

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/result"
)

// stateID is the beginning of a state's sum: enough to tell as many apart as a proof can look at.
type stateID [8]byte

// stateSet holds states that were opened and compared.
type stateSet map[stateID]bool

// add adds a state, and reports whether it is new.
func (s *stateSet) add(sum [32]byte) bool {
	id := stateID(sum[:])
	if (*s)[id] {
		return false
	}
	if *s == nil {
		*s = stateSet{}
	}
	(*s)[id] = true
	return true
}

// packed returns the states one behind the other, in order.
func (s stateSet) packed() []byte {
	ids := slices.SortedFunc(maps.Keys(s), func(a, b stateID) int { return slices.Compare(a[:], b[:]) })
	var all []byte
	for _, id := range ids {
		all = append(all, id[:]...)
	}
	return all
}

func unpacked(all []byte) stateSet {
	s := stateSet{}
	for id := range slices.Chunk(all, len(stateID{})) {
		if len(id) == len(stateID{}) {
			s[stateID(id)] = true
		}
	}
	return s
}

// goOn takes over what Earlier has seen, but for engines of other sources than those that run now.
// It refuses one that has nothing of what runs now.
func (r *runner) goOn() error {
	if r.Earlier == nil {
		return nil
	}
	var others []string
	var why []error
	for _, e := range r.Entries {
		if err := r.another(e); err != nil {
			others, why = append(others, e.Name), append(why, err)
		}
	}
	if len(others) == len(r.Entries) {
		return &kv.Error{Op: "go on with a proof", Kind: kv.Unsupported, Err: why[0],
			Hint: "what was found of the other one says nothing of this one: begin a new proof, without --resume"}
	}
	for i, name := range others {
		r.Anew(name, why[i])
	}
	r.Earlier = r.Earlier.Without(others)
	for _, t := range r.tasks {
		if n := lateOf(r.Earlier, t.pair); n > 0 {
			r.Anew(t.pair.name(), fmt.Errorf("%d stores were not verified in time", n))
			r.Earlier = r.Earlier.WithoutPromise(t.entry.Name, t.class.String())
		}
	}
	for _, t := range r.tasks {
		if t.found == nil {
			t.found = unpacked(r.Earlier.Seen[t.pair.name()])
		}
		t.seen = unpacked(r.Earlier.Seen[t.name()])
		for _, c := range t.cells {
			if e := sameCell(r.Earlier, c.ProofCell); e != nil && (c.claimed() || !t.claims) {
				t.states += e.States
			}
		}
	}
	return nil
}

// lateOf returns how many stores of a pair p has that were not verified in time, which would leave
// what is promised of it open for ever; 0 if that is broken anyway.
func lateOf(p *result.Proof, of *pair) (late int) {
	for _, c := range p.Cells {
		if c.Engine != of.entry.Name || c.Requested != of.class.String() {
			continue
		}
		if c.Keeps.Broken() || c.Whole.Broken() {
			return 0
		}
		late += c.Late
	}
	return late
}

// another returns how an entry is another one than in Earlier, nil if it is the same.
func (r *runner) another(e bench.Entry) error {
	if r.proof.Drivers[e.Engine] != r.Earlier.Drivers[e.Engine] {
		return fmt.Errorf("the driver %s is another one than it was", e.Engine)
	}
	if d, ok := driver.Lookup(e.Engine); ok {
		for _, name := range d.Info().Modules {
			if r.proof.Environment.Modules[name] != r.Earlier.Environment.Modules[name] {
				return fmt.Errorf("the module %s is another one than it was", name)
			}
		}
	}
	return nil
}

// name names what the states of a promise are kept under.
func (p *pair) name() string { return p.entry.Name + " " + p.class.String() }

// name names what the states are kept under of which nothing is promised.
func (t *task) name() string { return t.pair.name() + " " + t.fault }

// sameCell returns the cell of p that is of the same as c, nil if it has none.
func sameCell(p *result.Proof, c result.ProofCell) *result.ProofCell {
	i := slices.IndexFunc(p.Cells, func(e result.ProofCell) bool {
		return e.Engine == c.Engine && e.URL == c.URL && e.Requested == c.Requested &&
			e.Fault == c.Fault && e.Rule == c.Rule
	})
	if i < 0 {
		return nil
	}
	return &p.Cells[i]
}

// seen returns the states of the run, and those of Earlier.
func (r *runner) seen() result.States {
	all := result.States{}
	for _, t := range r.tasks {
		if all[t.name()] = t.seen.packed(); all[t.pair.name()] == nil { // it is of several tasks
			all[t.pair.name()] = t.found.packed()
		}
	}
	maps.DeleteFunc(all, func(_ string, states []byte) bool { return len(states) == 0 })
	return all
}

// addEarlier adds what Earlier found to a proof.
func (r *runner) addEarlier(p *result.Proof) {
	e := r.Earlier
	if e == nil {
		return
	}
	p.Command, p.Started, p.Took = e.Command, e.Started, p.Took+e.Took
	p.Warnings, p.Unseen = united(p.Warnings, e.Warnings), united(p.Unseen, e.Unseen)
	for i := range p.Damage {
		for _, was := range e.Damage {
			if d := &p.Damage[i]; d.Engine == was.Engine && d.Kind == was.Kind {
				d.Tries, d.Noticed, d.Missing = d.Tries+was.Tries, d.Noticed+was.Noticed, d.Missing+was.Missing
				d.Wrong, d.Ended, d.What = d.Wrong+was.Wrong, d.Ended+was.Ended, cmp.Or(was.What, d.What)
			}
		}
	}
	for i := range p.Cells {
		if was := sameCell(e, p.Cells[i]); was != nil {
			addCell(&p.Cells[i], *was)
		}
	}
}

// united returns a list with what it lacks of another.
func united[T comparable](list, with []T) []T {
	for _, v := range with {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// addCell adds what another proof found of the same cell.
func addCell(c *result.ProofCell, e result.ProofCell) {
	c.Rounds, c.Cuts, c.Kills = c.Rounds+e.Rounds, c.Cuts+e.Cuts, c.Kills+e.Kills
	c.Images, c.States, c.Late = c.Images+e.Images, c.States+e.States, c.Late+e.Late
	c.Ops, c.Covered, c.Worked = c.Ops+e.Ops, c.Covered+e.Covered, c.Worked+e.Worked
	c.Acked, c.Lost, c.Torn, c.Broken = c.Acked+e.Acked, c.Lost+e.Lost, c.Torn+e.Torn, c.Broken+e.Broken
	c.LostMax, c.LostAge = max(c.LostMax, e.LostMax), max(c.LostAge, e.LostAge)
	c.What = cmp.Or(e.What, c.What)
	if c.Did == nil {
		c.Did = e.Did
	} else {
		c.Did = maps.Clone(c.Did) // it is the pair's
		for what, n := range e.Did {
			c.Did[what] += n
		}
	}
	if c.SyncsPerCommit == nil {
		c.SyncsPerCommit, c.WritesPerCommit, c.BytesPerCommit = e.SyncsPerCommit, e.WritesPerCommit, e.BytesPerCommit
	}
	c.Keeps, c.Whole = addFinding(c.Keeps, e.Keeps, c), addFinding(c.Whole, e.Whole, c)
}

// addFinding returns what two proofs found of one property together, of cell c: one counterexample
// disproves it, what was not verified in time leaves it open, and to what one has not come the
// other may have.
func addFinding(f, e result.Finding, c *result.ProofCell) result.Finding {
	weight := func(f result.Finding) int {
		switch {
		case f.Verdict == result.Disproved:
			return 3
		case f.Verdict == result.Unproved && c.Late > 0:
			return 2
		case f.Verdict == result.Proved:
			return 1
		}
		return 0
	}
	failed := f.Failed + e.Failed
	if weight(e) > weight(f) {
		f = e
	}
	if f.Failed = failed; f.Verdict == result.Proved {
		f.UpperBound = upperBound(c.Cuts)
	}
	return f
}
