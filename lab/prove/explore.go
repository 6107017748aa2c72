package prove

import (
	"context"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
)

// explorer goes through the moments of a recording: before each operation it makes the states that
// a crash may leave, has those verified that are new, and holds all against what was acknowledged
// until then.
type explorer struct {
	rec   *recording
	rng   *rand.Rand
	pass         // the present one
	later []pass // those that take turns with it
	loose []bool // moments that are not looked at: nothing is promised of them; nil is none
	known map[[32]byte]*verified
	cells func(rule powerfs.Rule) *cell
	// keep, if set, is told of each new state that is whole.
	keep func(i int, s powerfs.State, img *powerfs.Image, o outcome)
	// covers: what is looked at counts as covered of the task's operations.
	covers bool
	looked map[int]bool
}

// fresh reports whether a moment is looked at for the first time, and notes it.
func (x *explorer) fresh(i int) bool {
	known := x.looked[i]
	x.looked[i] = true
	return !known
}

// counts has an explorer tell the cells of a job what it finds, and how many of the operations of
// its recording it has looked at.
func (r *runner) counts(j *job, x *explorer) {
	x.cells, x.covers = j.cellOf, true
	r.mu.Lock()
	defer r.mu.Unlock()
	j.ops += len(x.rec.steps) + 1
}

// cover counts a moment that was looked at.
func (r *runner) cover(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.covered++
}

// stateFunc returns the states of the player's moment that are to be looked at.
type stateFunc func(*powerfs.Player, *rand.Rand) []powerfs.State

// pass is a way through moments.
type pass struct {
	left   []int // moments to come, those first that are worth most
	states stateFunc
	weight int   // its share of what is looked at, if there are others
	had    int   // moments, and states that were opened and compared, so far
	then   *pass // what follows it; nil is nothing
}

// turn makes the pass the present one that has had least by its share: one that has many moments
// leaves the others their part, and with it the rules that only they try. It returns false if
// nothing is left.
func (x *explorer) turn() bool {
	all := append(x.later, x.pass)
	for i := range all {
		for len(all[i].left) == 0 && all[i].then != nil {
			weight, had := all[i].weight, all[i].had
			all[i] = *all[i].then
			all[i].weight, all[i].had = weight, had
		}
	}
	all = slices.DeleteFunc(all, func(p pass) bool { return len(p.left) == 0 })
	if len(all) == 0 {
		x.later = nil
		return false
	}
	slices.SortStableFunc(all, func(a, b pass) int { return a.had*b.weight - b.had*a.weight })
	x.pass, x.later = all[0], all[1:]
	return true
}

// verified is a state that was opened and compared.
type verified struct {
	outcome
	lacks bool  // a property, and was counted
	in    *cell // that counts it
}

// newExplorer returns one of the moments of rec from index first on.
func newExplorer(rec *recording, first int, salt string) *explorer {
	x := &explorer{rec: rec, known: map[[32]byte]*verified{}, looked: map[int]bool{}, loose: rec.loose()}
	x.rng = rand.New(rand.NewPCG(mix(rec.seed, "explore", salt), rec.seed))
	x.left = moments(rec.course(), first, x.rng)
	return x
}

// chunk is how many moments are looked at while the tape is played once.
const chunk = 12

// explore looks at moments until none is left or until, and returns whether any is left.
func (l *lane) explore(ctx context.Context, t *task, x *explorer, until time.Time) (more bool, err error) {
	for first := true; x.turn() && (first || time.Now().Before(until)); first = false {
		some := slices.Clone(x.left[:min(chunk, len(x.left))])
		slices.Sort(some)
		p, err := x.rec.tape.Play()
		if err != nil {
			return false, err
		}
		done := map[int]bool{}
		for _, i := range some {
			if len(done) > 0 && !time.Now().Before(until) {
				break
			}
			if err := p.Forward(i); err != nil {
				return false, err
			}
			if err := l.exploreMoment(ctx, t, x, p, i); err != nil {
				return false, err
			}
			done[i] = true
			x.had++
			if x.covers && x.fresh(i) {
				l.cover(t)
			}
		}
		// Another pass may go through the same moments: they stay as they are.
		x.left = slices.DeleteFunc(slices.Clone(x.left), func(i int) bool { return done[i] })
	}
	return x.turn(), nil
}

// loose tells of each moment whether nothing is promised of it when power fails: the last commit
// that was acknowledged is a loose one of its one writer, or the next one is, which may have begun.
// nil is that no commit is loose.
func (r *recording) loose() []bool {
	if r.past.Work.Loose == kv.Synced {
		return nil
	}
	all, from, loose := make([]bool, len(r.steps)+1), 0, true
	until := func(end int) {
		for ; from < end; from++ {
			all[from] = loose
		}
	}
	for _, a := range r.ledger.acks[0] {
		until(r.behind(a.Done))
		loose = a.Weak || r.past.Work.class(a.N+1, kv.Synced) != kv.Synced
	}
	until(len(all))
	return all
}

// exploreMoment looks at the states of one moment.
func (l *lane) exploreMoment(ctx context.Context, t *task, x *explorer, p *powerfs.Player, i int) error {
	if x.loose != nil && x.loose[i] {
		return nil
	}
	tr := x.rec.trial(i)
	if at := x.rec.stoppedAt(i); at > 0 {
		tr.at = at
	}
	crashed := map[*cell]bool{}
	for _, s := range x.states(p, x.rng) {
		c := x.cells(s.Rule)
		if c == nil {
			continue
		}
		img, err := p.Image(s)
		if err != nil {
			return err
		}
		sum := img.Sum()
		v, known := x.known[sum]
		if !known {
			o, err := l.examineImage(ctx, t, img, x.rec)
			if err != nil {
				return err
			}
			v = &verified{outcome: o}
			x.known[sum] = v
			x.had++
			if x.keep != nil && o.Broken == "" && o.Torn == "" && !o.Late {
				x.keep(i, s, img, o)
			}
		}
		l.mu.Lock()
		if !crashed[c] {
			crashed[c] = true
			c.crash(tr)
		}
		e := evidence{rec: x.rec, i: i, state: s, img: img, trial: tr}
		c.found(t, e, v, known)
		if !known {
			t.saw(c, sum, v.outcome)
			if v.Late {
				t.wasLate(c, e, v.outcome)
			} else {
				l.images++
			}
		}
		l.mu.Unlock()
	}
	return nil
}

// few returns some of the states of a moment: nothing, everything, and others at random, each of
// another sort.
func few(states []powerfs.State, rng *rand.Rand) []powerfs.State {
	const most = 5
	rest := states[1:]
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	before, seen := map[powerfs.State]int{}, map[string]int{} // of each state, how many of its sort
	for _, s := range rest {
		before[s] = seen[s.Sort()]
		seen[s.Sort()]++
	}
	all := func(s powerfs.State) bool { return s == powerfs.Random(everything, 0) }
	if i := slices.IndexFunc(rest, all); i >= 0 {
		before[rest[i]] = -1
	}
	slices.SortStableFunc(rest, func(a, b powerfs.State) int { return before[a] - before[b] })
	rest = slices.Compact(rest) // everything may be there twice, as of a kill
	return states[:min(most, 1+len(rest))]
}

// examineImage has an image verified, and once more if that was late: a machine that stood still,
// as one that was suspended, makes no engine hang.
func (l *lane) examineImage(ctx context.Context, t *task, img *powerfs.Image, rec *recording) (outcome, error) {
	o, err := l.examineOnce(ctx, t, img, rec)
	if o.Late && !t.hung.Load() {
		o, err = l.examineOnce(ctx, t, img, rec)
		t.hung.Store(o.Late)
	}
	return o, err
}

// examineOnce verifies an image; half of them are written on, and of those half once they were
// opened again.
func (l *lane) examineOnce(ctx context.Context, t *task, img *powerfs.Image, rec *recording) (outcome, error) {
	dir := l.fastFolder("image")
	defer discard(dir)
	if err := img.Export(dir); err != nil {
		return outcome{}, err
	}
	spec := verifySpec{Store: rec.store, Past: rec.past, Salt: mix(rec.seed, "salt", 1)}
	spec.Store.Dir, spec.Copies = dir, rec.copies
	sum := img.Sum()
	if spec.Reopen = sum[1]%2 == 0; sum[0]%2 == 0 {
		spec.More = moreCommits
	}
	return l.ask(ctx, t, spec, l.Hang)
}

// troubled records that a run went wrong by itself.
func (l *lane) troubled(cells []*cell, rec *recording) {
	if rec.trouble == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	tr := rec.trial(len(rec.steps))
	for _, c := range cells {
		c.crash(tr)
		c.record(tr, wentWrong(tr, rec.trouble))
	}
}

// wentWrong returns what is found of a trial whose process had trouble by itself.
func wentWrong(tr trial, trouble error) outcome {
	o := outcome{Late: late(trouble)}
	for range tr.writers() {
		o.N = append(o.N, math.MaxUint64) // of what is kept, its images tell
	}
	if !o.Late {
		o.Broken = "while it ran: " + trouble.Error()
	}
	return o
}

// happened says what a recording did, by kinds of operations, and of files where it is more than
// writes and syncs.
func (r *recording) happened() map[string]int {
	n := map[string]int{}
	for _, s := range r.steps {
		switch s.Kind {
		case 0:
		case powerfs.OnWrite, powerfs.OnSync:
			n[s.Kind.String()]++
		default:
			n[s.Kind.String()+" "+path.Base(digits.ReplaceAllString(s.Path, "#"))]++
		}
	}
	return n
}
