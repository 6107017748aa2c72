package prove

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// job is a task's work, which lanes do in slices, one lane at a time. A task that has lanes for
// itself has several jobs, each with recordings of its own.
type job struct {
	*task
	number, of int // of the jobs of the task
	spent      time.Duration
	busy, over bool

	made    int // recordings, or faults, so far
	turn    int
	turns   int           // kills so far
	killing time.Duration // of its time, for those
	xs      []*explorer
	records time.Duration // of its time, for recordings
	targets []target      // the operations that are to fail
	found   []candidate

	rounds   int // of faults, and of recovery, so far
	restarts int
	follows  []follow
	deaths   []follow    // of processes right behind a failed sync
	followed int         // of those two, so far
	died     int         // of deaths
	met      int         // meetings, so far
	written  []candidate // what recordings end with, for damage
}

// slice does the job's work until a moment. More is false if nothing is left to do.
func (l *lane) slice(ctx context.Context, j *job, until time.Time) (more bool, err error) {
	switch {
	case j.fault == result.FaultKill:
		return l.kill(ctx, j, until)
	case l.unavailable != nil:
		return false, l.unavailable
	case j.fault == faultDamage:
		return l.damaged(ctx, j, until)
	case j.fault == result.FaultPower:
		return l.power(ctx, j, until)
	case j.fault == result.FaultRecovery:
		return l.recovery(ctx, j, until)
	}
	return l.faults(ctx, j, until)
}

// another reports whether the job makes another recording: while time is left, or until it has had
// the rounds asked for.
func (l *lane) another(j *job) bool { return l.Rounds == 0 || j.made*j.of+j.number < l.Rounds }

// mostAgain is how many faults or kills more there are, at most, where none of those that were
// asked for came behind a commit.
const mostAgain = 4

// anotherBehind reports whether a job that has made n faults or kills makes another one: as many as
// were asked for, and on until one has come behind an acknowledged commit.
func (l *lane) anotherBehind(j *job, n int) bool {
	return l.Rounds == 0 || n*j.of+j.number < l.Rounds ||
		j.number == 0 && n*j.of < l.Rounds+mostAgain*j.of && len(l.untried(j.task)) > 0
}

// roundMoments is how many moments of a recording are looked at if a number of rounds was asked
// for.
const roundMoments = 16

// next returns the job's next recording, which other jobs of the pair use too.
func (l *lane) nextRecording(ctx context.Context, j *job) (*recording, error) {
	k := j.made*j.of + j.number
	j.made++
	l.begun(j.task)
	return l.recording(ctx, j.task, k)
}

// mostRecordings is how many recordings of a pair are kept for others to use.
const mostRecordings = 8

// recording returns the pair's k-th recording, which is made when it is first asked for.
func (l *lane) recording(ctx context.Context, t *task, k int) (*recording, error) {
	t.recording.Lock()
	defer t.recording.Unlock()
	if r := t.recordings[k]; r != nil {
		return r, nil
	}
	s := t.fitted(t.nth(k))
	if l.Writers > 0 && !t.caps.Log {
		s.writers = l.Writers
	}
	r, in, err := l.aged(ctx, t, s, l.seedOf(k))
	if err == nil && (r == nil || r.trouble == nil) {
		r, err = l.record(ctx, t, s, l.seedOf(k), in)
	}
	if err != nil {
		return nil, err
	}
	if t.recordings == nil {
		t.recordings = map[int]*recording{}
	}
	delete(t.recordings, k-mostRecordings)
	t.recordings[k] = r
	l.noteWork(t.pair, r)
	return r, nil
}

// aged returns how a scene is recorded: in what an earlier run has left, which it returns too, if
// the store is to be old. One that had trouble is all that there is to look at.
func (l *lane) aged(ctx context.Context, t *task, s scene, seed uint64) (rec *recording, in run, err error) {
	if s.aged == 0 {
		return nil, in, nil
	}
	from := slices.Repeat([]uint64{uint64(s.aged)}, s.writers)
	s.legs = slices.Repeat([]leg{{reopen, 1}}, s.aged)
	if rec, err = l.record(ctx, t, s, mix(seed, "aged"), run{closes: true}); err != nil {
		return nil, in, err
	}
	in.before = rec.goOn(len(rec.steps), from, mix(seed, "salt", "aged"))
	in.options.From, err = rec.end(everything)
	return rec, in, err
}

func (r *runner) seedOf(k int) uint64 {
	if k == 0 {
		return r.Seed
	}
	return mix(r.Seed, "recording", k)
}

// explorers lets the job have explorers, as many as there are scenes, and those in turn look at
// their moments. Where recordings take long, the moments of those that there are have half of its
// time.
func (l *lane) explorers(ctx context.Context, j *job, until time.Time,
	start func(*recording) (*explorer, error)) (more bool, err error) {
	due := len(j.xs) == 0 || l.Rounds > 0 || 2*j.records <= j.spent
	if due && len(j.xs) < len(scenes) && l.another(j) {
		began := time.Now()
		rec, err := l.nextRecording(ctx, j)
		if err != nil {
			return false, err
		}
		l.troubled(j.cells, rec)
		x, err := start(rec)
		if err != nil {
			return false, err
		}
		if l.Rounds > 0 {
			x.left = x.left[:min(roundMoments, len(x.left))]
		}
		j.xs = append(j.xs, x)
		j.records += time.Since(began)
	}
	for first := true; len(j.xs) > 0 && (first || time.Now().Before(until)); first = false {
		j.turn++
		i := j.turn % len(j.xs)
		left, err := l.explore(ctx, j.task, j.xs[i], minTime(until, l.within(turnTime)))
		if err != nil {
			return false, err
		}
		if !left {
			j.xs = slices.Delete(j.xs, i, i+1)
		}
	}
	return len(j.xs) > 0 || l.another(j), nil
}

// turnTime is how long one of several explorers goes on.
const turnTime = 400 * time.Millisecond

// within returns when something ends that may take so long. Where rounds are counted it goes on to
// its end: what is done then does not depend on how fast the machine is.
func (r *runner) within(d time.Duration) time.Time {
	if r.Rounds > 0 {
		d = math.MaxInt64
	}
	return time.Now().Add(d)
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// power is a job: power fails before every operation of recorded runs.
func (l *lane) power(ctx context.Context, j *job, until time.Time) (bool, error) {
	if j.made == 0 && j.number == 0 {
		if err := l.controlLying(ctx, j.task, powerfs.Options{Lying: true}); err != nil {
			return false, err
		}
		if err := l.countCommits(ctx, j.pair); err != nil {
			return false, err
		}
	}
	return l.explorers(ctx, j, until, func(rec *recording) (*explorer, error) {
		x := newExplorer(rec, 0, "power")
		l.counts(j, x)
		x.left, x.states = rec.pressing(x.left), j.allStates
		if l.Rounds > 0 {
			return x, nil
		}
		every := func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
			states := p.States(powerfs.Ordered, rng)
			for _, e := range j.beside {
				states = append(states, p.States(e, rng)...)
			}
			return states
		}
		if err := l.tryEach(ctx, j, x, every); err != nil {
			return nil, err
		}
		j.passes(x)
		return x, nil
	})
}

// passes has the moments of an explorer looked at in several ways, which take turns: what is within
// large commits; what is behind a change of names, in two or three states; records that are torn;
// of all moments a few states, and then all; and, for a promise that is to hold, what is certain
// before each sync.
func (j *job) passes(x *explorer) {
	all := x.left
	some := func(p *powerfs.Player, rng *rand.Rand) []powerfs.State { return few(j.allStates(p, rng), rng) }
	first := func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
		states := some(p, rng)
		return states[:min(3, len(states))]
	}
	x.pass = pass{left: all, states: some, weight: 2, then: &pass{left: all, states: j.allStates}}
	x.later = []pass{{left: append(x.rec.inside(), len(x.rec.steps)), weight: 1, states: j.only(powerfs.Everything)},
		{left: x.rec.renamed(), weight: 2, states: first}, {left: x.rec.crossing(), weight: 1, states: j.torn}}
	if j.caps.Class == kv.Synced {
		x.later = append(x.later, pass{left: x.rec.syncs(), weight: 3, states: j.only(powerfs.Nothing)})
	}
}

// mostFirst is how many moments are looked at, at most, for each cell of a task to have a state.
const mostFirst = 16

// tryEach lets each cell of a task that has none yet have one of some states behind an acknowledged
// commit, whatever time that takes: only then are others looked at more closely.
func (l *lane) tryEach(ctx context.Context, j *job, x *explorer, every stateFunc) error {
	first := *x
	first.left = slices.DeleteFunc(slices.Clone(x.left), func(i int) bool { return x.rec.trial(i).acked() == 0 })
	first.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
		states := every(p, rng)
		rng.Shuffle(len(states), func(a, b int) { states[a], states[b] = states[b], states[a] })
		missing := map[*cell]bool{}
		for _, c := range l.untried(j.task) {
			missing[c] = true
		}
		return slices.DeleteFunc(states, func(s powerfs.State) bool {
			c := j.cellOf(s.Rule)
			wanted := missing[c]
			delete(missing, c)
			return !wanted
		})
	}
	for range mostFirst {
		if len(l.untried(j.task)) == 0 || len(first.left) == 0 {
			break
		}
		if _, err := l.explore(ctx, j.task, &first, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// untried returns the cells of a task that have no state behind an acknowledged commit.
func (r *runner) untried(t *task) []*cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.cells), func(c *cell) bool { return c.judged > 0 && c.Acked > 0 })
}

// allStates returns all states that power cuts leave.
func (j *job) allStates(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
	var states []powerfs.State
	if j.ordered {
		states = p.States(powerfs.Ordered, rng)
	}
	for _, e := range j.beside {
		if !j.ordered || rng.IntN(8) == 0 {
			states = append(states, p.States(e, rng)...)
		}
	}
	return states
}

// torn returns some states of a moment in which a page or a write is torn.
func (j *job) torn(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
	states := slices.DeleteFunc(p.States(j.entries(), rng), func(s powerfs.State) bool { return !s.Torn() })
	if len(states) == 0 {
		return nil
	}
	rng.Shuffle(len(states), func(a, b int) { states[a], states[b] = states[b], states[a] })
	return few(states, rng)
}

// cellOf returns the cell of a rule, nil if the rule was not asked for.
func (t *task) cellOf(rule powerfs.Rule) *cell {
	for _, c := range t.cells {
		if c.Rule == "" || c.Rule == rule.String() {
			return c
		}
	}
	return nil
}

// candidate is a state that a crash has left, to be recovered from.
type candidate struct {
	rec  *recording
	i    int
	img  *powerfs.Image
	from []uint64
	deep int // how often it was crashed before
}

// mostCandidates bounds the states that wait for being recovered from; deepest is how often one
// store is crashed.
const (
	mostCandidates = 24
	deepest        = 3
)

// recovery is a job: what a power cut has left is opened and gone on in, and power fails again
// before every operation of that, and once more.
func (l *lane) recovery(ctx context.Context, j *job, until time.Time) (more bool, err error) {
	start := func(rec *recording) (*explorer, error) {
		x := newExplorer(rec, 0, "recovery")
		x.left = rec.pressing(x.left)
		x.left = x.left[:min(10, len(x.left))]
		x.cells, x.states = j.cellOf, func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
			states := p.States(j.entries(), rng)
			rng.Shuffle(len(states), func(i, j int) { states[i], states[j] = states[j], states[i] })
			return append(states[:min(3, len(states))], j.only(powerfs.Everything)(p, rng)...)
		}
		x.keep = j.keeper(rec, 1)
		return x, nil
	}
	if len(j.found) == 0 {
		end := l.within(turnTime)
		if l.Rounds == 0 {
			end = minTime(until, end)
		}
		if more, err = l.explorers(ctx, j, end, start); err != nil {
			return more, err
		}
	}
	if l.Rounds > 0 {
		j.found = j.found[:min(2, len(j.found))]
	}
	for first := true; len(j.found) > 0 && (first || l.Rounds > 0 || time.Now().Before(until)); first = false {
		if j.rounds++; l.Rounds == 0 && j.rounds%3 > 0 {
			again := func(ctx context.Context, j *job) error { return l.restart(ctx, j, false) }
			if j.rounds%3 == 2 && !j.caps.Log {
				again = l.meet
			}
			if err := again(ctx, j); err != nil {
				return false, err
			}
			continue
		}
		i := len(j.found) - 1
		c := j.found[i]
		j.found = j.found[:i]
		if err := l.recoverFrom(ctx, j, c, until); err != nil {
			return false, err
		}
	}
	return more || len(j.found) > 0 || l.another(j), nil
}

// keeper returns what keeps states as candidates.
func (j *job) keeper(rec *recording, deep int) func(int, powerfs.State, *powerfs.Image, outcome) {
	return func(i int, _ powerfs.State, img *powerfs.Image, o outcome) {
		if len(j.found) < mostCandidates {
			j.found = append(j.found, candidate{rec, i, img, o.N, deep})
		}
	}
}

// recoverFrom opens a state on a disk, goes on in it, and looks at all moments of that.
func (l *lane) recoverFrom(ctx context.Context, j *job, c candidate, until time.Time) error {
	s := c.rec.scene
	s.legs = []leg{{"", 2}, {reopen, 1}}
	before := c.rec.goOn(c.i, c.from, mix(c.rec.seed, "salt", "again", c.deep))
	rec, err := l.record(ctx, j.task, s, mix(c.rec.seed, "again", c.i, c.deep),
		run{options: powerfs.Options{From: c.img}, before: before})
	if err != nil {
		return err
	}
	l.troubled(j.cells, rec)
	x := newExplorer(rec, 0, "again")
	x.left, x.cells = rec.pressing(x.left), j.cellOf
	x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
		return append(p.States(j.entries(), rng), rec.killed(p, rng)...)
	}
	if l.Rounds == 0 && c.deep+1 < deepest && len(j.found) < mostCandidates/2 {
		kept := 0
		x.keep = func(i int, st powerfs.State, img *powerfs.Image, o outcome) {
			if kept++; kept <= 2 {
				j.keeper(rec, c.deep+1)(i, st, img, o)
			}
		}
	}
	if every := x.states; l.Rounds > 0 {
		x.left = x.left[:min(roundMoments, len(x.left))]
		x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State { return few(every(p, rng), rng) }
	}
	for range 3 { // a slice more than its own: what is begun is not left
		more, err := l.explore(ctx, j.task, x, l.within(turnTime))
		if err != nil || !more {
			return err
		}
		if l.Rounds == 0 && time.Now().After(until.Add(turnTime)) {
			break
		}
	}
	return nil
}

// goOn returns what a process needs to know that goes on in what the crash before step i has left.
func (r *recording) goOn(i int, from []uint64, salt uint64) *generation {
	g := &generation{from: slices.Clone(from), past: past{Seed: r.past.Seed, Work: r.past.Work}}
	at := r.trial(i).at
	g.ledger.acks = make([][]ack, len(from))
	for w, n := range from {
		g.past.Chains = append(g.past.Chains, r.past.Chains[w].next(n, salt))
		for _, a := range r.ledger.acks[w] {
			if a.N <= n && a.Done < at {
				g.ledger.acks[w] = append(g.ledger.acks[w], a)
			}
		}
	}
	return g
}

// killed returns the states that a kill leaves before the player's moment, if the disk has seen all
// that the process did.
func (r *recording) killed(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
	if r.mapped {
		return nil
	}
	return p.Killed(rng)
}
