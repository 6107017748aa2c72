package prove

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// job is a task's work, which lanes do in slices, one lane at a time. A task that has lanes for itself has several jobs,
// each with recordings of its own.
type job struct {
	*task
	number, of int // of the jobs of the task
	spent      time.Duration
	busy, over bool

	made    int // recordings, or faults, so far
	turn    int
	turns   int // kills so far
	xs      []*explorer
	targets [][]target // of each faulty scene, the operations that are to fail
	found   []candidate

	rounds   int // of faults, and of recovery, so far
	restarts int
	follows  []follow
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

// another reports whether the job makes another recording: while time is left, or until it has had the rounds asked for.
func (l *lane) another(j *job) bool { return l.Rounds == 0 || j.made*j.of+j.number < l.Rounds }

// roundMoments is how many moments of a recording are looked at if a number of rounds was asked for.
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
	s := t.fitted(scenes[k%len(scenes)])
	if l.Writers > 0 && !t.caps.Log {
		s.writers = l.Writers
	}
	r, err := l.record(ctx, t, s, l.seedOf(k), run{})
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

func (r *runner) seedOf(k int) uint64 {
	if k == 0 {
		return r.Seed
	}
	return mix(r.Seed, "recording", k)
}

// explorers lets the job have explorers, as many as there are scenes, and those in turn look at their moments.
func (l *lane) explorers(ctx context.Context, j *job, until time.Time, start func(*recording) *explorer) (more bool, err error) {
	if len(j.xs) < len(scenes) && l.another(j) {
		rec, err := l.nextRecording(ctx, j)
		if err != nil {
			return false, err
		}
		l.troubled(j.cells, rec)
		if x := start(rec); x != nil {
			if l.Rounds > 0 {
				x.left = x.left[:min(roundMoments, len(x.left))]
			}
			j.xs = append(j.xs, x)
		}
	}
	for first := true; len(j.xs) > 0 && (first || time.Now().Before(until)); first = false {
		j.turn++
		i := j.turn % len(j.xs)
		left, err := l.explore(ctx, j.task, j.xs[i], minTime(until, time.Now().Add(turnTime)))
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
	return l.explorers(ctx, j, until, func(rec *recording) *explorer {
		x := newExplorer(rec, 0, "power")
		x.covers = true
		l.mu.Lock()
		j.ops += len(x.left)
		l.mu.Unlock()
		x.cells = j.cellOf
		all := x.left
		x.states = j.allStates
		if l.Rounds > 0 {
			return x
		}
		x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State { return few(j.allStates(p, rng), rng) }
		x.later = []pass{{all, j.allStates}} // first a few states of all moments
		if j.caps.Class == kv.Synced {
			x.later = append([]pass{{all, x.states}}, x.later...)
			x.left, x.states = rec.syncs(), func(*powerfs.Player, *rand.Rand) []powerfs.State {
				return []powerfs.State{powerfs.Random(nothing, 0)}
			}
		}
		return x
	})
}

// allStates returns all states that power cuts leave.
func (j *job) allStates(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
	states := p.States(powerfs.Ordered, rng)
	if j.strict && rng.IntN(8) == 0 {
		states = append(states, p.States(powerfs.Strict, rng)...)
	}
	return states
}

// syncs returns the moments before syncs, and the end. Until there, what is certain stays as it is while more and more is
// acknowledged: a sync that was left out shows at one of these moments, or nowhere.
func (r *recording) syncs() []int {
	var all []int
	for i, s := range r.steps {
		if s.Kind == powerfs.OnSync {
			all = append(all, i)
		}
	}
	return append(all, len(r.steps))
}

// few returns some of the states of a moment: nothing, and others at random.
func few(states []powerfs.State, rng *rand.Rand) []powerfs.State {
	const most = 5
	rest := states[1:]
	rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return states[:min(most, len(states))]
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

// mostCandidates bounds the states that wait for being recovered from; deepest is how often one store is crashed.
const (
	mostCandidates = 24
	deepest        = 3
)

// recovery is a job: what a power cut has left is opened and gone on in, and power fails again before every operation of
// that, and once more.
func (l *lane) recovery(ctx context.Context, j *job, until time.Time) (more bool, err error) {
	start := func(rec *recording) *explorer {
		x := newExplorer(rec, 0, "recovery")
		x.left = x.left[:min(10, len(x.left))]
		x.cells, x.states = j.cellOf, func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
			states := p.States(powerfs.Ordered, rng)
			rng.Shuffle(len(states), func(i, j int) { states[i], states[j] = states[j], states[i] })
			return append(states[:min(3, len(states))], powerfs.Random(everything, 0))
		}
		x.keep = j.keeper(rec, 1)
		return x
	}
	if len(j.found) == 0 {
		if more, err = l.explorers(ctx, j, minTime(until, time.Now().Add(turnTime)), start); err != nil {
			return more, err
		}
	}
	if l.Rounds > 0 {
		j.found = j.found[:min(2, len(j.found))]
	}
	for first := true; len(j.found) > 0 && (first || l.Rounds > 0 || time.Now().Before(until)); first = false {
		if j.rounds++; l.Rounds == 0 && j.rounds%2 == 0 {
			if err := l.restart(ctx, j, false); err != nil {
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
	rec, err := l.record(ctx, j.task, s, mix(c.rec.seed, "again", c.i, c.deep), run{options: powerfs.Options{From: c.img}, before: before})
	if err != nil {
		return err
	}
	rec.recovered = &c
	l.troubled(j.cells, rec)
	x := newExplorer(rec, 0, "again")
	x.cells = j.cellOf
	x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
		return append(p.States(powerfs.Ordered, rng), rec.killed(p, rng)...)
	}
	if l.Rounds == 0 && c.deep+1 < deepest && len(j.found) < mostCandidates/2 {
		kept := 0
		x.keep = func(i int, st powerfs.State, img *powerfs.Image, o outcome) {
			if kept++; kept <= 2 {
				j.keeper(rec, c.deep+1)(i, st, img, o)
			}
		}
	}
	if l.Rounds > 0 {
		x.left = x.left[:min(roundMoments, len(x.left))]
	}
	for range 3 { // a slice more than its own: what is begun is not left
		more, err := l.explore(ctx, j.task, x, time.Now().Add(turnTime))
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

// killed returns the states that a kill leaves before the player's moment, if the disk has seen all that the process did.
func (r *recording) killed(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
	if r.mapped {
		return nil
	}
	return p.Killed(rng)
}

// target is an operation that is to fail, and how.
type target struct {
	powerfs.Fault
	space int64 // instead, so many bytes fit on the disk
}

// faults is a job: one operation of a short run fails, or the disk becomes full, and the process goes on as far as the
// engine lets it. Then it is killed, or power fails, before every operation that follows.
func (l *lane) faults(ctx context.Context, j *job, until time.Time) (more bool, err error) {
	if j.targets == nil {
		if j.targets, err = l.targetsOf(ctx, j); err != nil {
			return false, err
		}
	}
	for first := true; l.another(j) && (first || time.Now().Before(until)); first = false {
		err := error(nil)
		switch j.rounds++; {
		case l.Rounds == 0 && j.rounds%3 == 2 && len(j.follows) > 0:
			err = l.followUp(ctx, j)
		case l.Rounds == 0 && j.rounds%6 == 0 && j.fault == result.FaultEIO:
			err = l.restart(ctx, j, true)
		default:
			err = l.faultRound(ctx, j)
		}
		if err != nil {
			return false, err
		}
	}
	return l.another(j), nil
}

// targetsOf returns the operations of each faulty scene that are to fail, those of rare kinds first. A write fails as a
// whole and half done; a disk becomes full at one write, or for good.
func (l *lane) targetsOf(ctx context.Context, j *job) ([][]target, error) {
	var all [][]target
	for k, s := range faulty {
		rec, err := l.record(ctx, j.task, j.fitted(s), mix(l.Seed, "faulty", k), run{})
		if err != nil {
			return nil, err
		}
		p, err := rec.tape.Play()
		if err != nil {
			return nil, err
		}
		nth := map[powerfs.FaultOp]uint64{}
		at := make([][]target, len(rec.steps)+1)
		for i, s := range rec.steps {
			if s.Kind == 0 {
				continue
			}
			if err := p.Forward(i); err != nil {
				return nil, err
			}
			nth[s.Kind]++
			at[i] = j.variants(powerfs.Fault{Op: s.Kind, Nth: nth[s.Kind]}, max(p.Used()+int64(s.Bytes)/2, 1))
		}
		var list []target
		rng := rand.New(rand.NewPCG(mix(l.Seed, "targets", k, j.number), l.Seed))
		for _, i := range turns(rec.steps, rng) {
			list = append(list, at[i]...)
		}
		all = append(all, list)
	}
	return all, nil
}

// variants returns how one operation can fail.
func (j *job) variants(f powerfs.Fault, space int64) []target {
	short, sticky := f, f
	short.Short, sticky.Sticky = true, true
	var all []target
	for i, v := range []powerfs.Fault{short, f, sticky} {
		if v.Short && f.Op != powerfs.OnWrite {
			continue
		}
		v.Err = syscall.EIO
		if j.fault == result.FaultENOSPC {
			v.Err = syscall.ENOSPC
		}
		// A disk that fails for good shows little: it comes now and then.
		if !v.Sticky || f.Nth%8 == 1 {
			all = append(all, target{Fault: v})
		}
		if j.fault == result.FaultENOSPC && i == 1 {
			all = append(all, target{space: space})
		}
	}
	if j.fault == result.FaultENOSPC && f.Op&(powerfs.OnWrite|powerfs.OnCreate|powerfs.OnAllocate|powerfs.OnTruncate) == 0 {
		return nil
	}
	return all
}

func (l *lane) faultRound(ctx context.Context, j *job) error {
	k := j.made*j.of + j.number
	j.made++
	l.begun(j.task)
	scene := k % len(faulty)
	seed := mix(l.Seed, "fault", j.fault, k)
	o := j.faultOf(scene, k/len(faulty))
	rec, err := l.record(ctx, j.task, j.fitted(faulty[scene]), mix(l.Seed, "faulty", scene), run{options: o})
	if err != nil {
		return err
	}
	rec.seed = seed
	if rec.hung {
		l.warnHung(j.task)
	}
	l.troubled(j.cells, rec)
	first := slices.IndexFunc(rec.steps, func(s powerfs.Step) bool { return s.Failed })
	if first < 0 {
		first = len(rec.steps)
	}
	x := newExplorer(rec, min(first+1, len(rec.steps)), "fault")
	for _, op := range rec.mending(first, x.rng) {
		if len(j.follows) < mostFollows {
			j.follows = append(j.follows, follow{scene, o, op})
		}
	}
	telling := rec.telling(first)
	x.left = append(telling, slices.DeleteFunc(x.left, func(i int) bool { return slices.Contains(telling, i) })...)
	if k/len(faulty) < len(j.targets[scene]) { // first all operations, then more of what follows each
		x.left = x.left[:min(tellingMoments, len(x.left))]
	} else {
		x.left = x.left[:min(faultMoments, len(x.left))]
	}
	x.cells = j.cellOf
	every := func(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
		var states []powerfs.State
		if j.caps.Class == kv.Synced {
			states = p.Some(powerfs.Ordered, rng)
		}
		if states = append(states, rec.killed(p, rng)...); len(states) == 0 {
			states = append(states, powerfs.Random(everything, 0))
		}
		return states
	}
	x.states = every
	if l.Rounds == 0 { // first a few states of all moments, as in time there may be no more
		x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State { return few(every(p, rng), rng) }
		x.later = []pass{{slices.Clone(x.left), every}}
	}
	_, err = l.explore(ctx, j.task, x, time.Now().Add(turnTime))
	return err
}

// Moments behind a fault that are looked at: at first a few, then more.
const (
	tellingMoments = 10
	faultMoments   = 24
)

// telling returns the moments behind a fault at step i that show most: right behind it, before and behind the syncs of the
// commits that follow, for until then the disk may still need what they replace, and at the end.
func (r *recording) telling(i int) []int {
	found := []int{min(i+1, len(r.steps)), len(r.steps)}
	var later []ack
	for _, list := range r.ledger.acks {
		for _, a := range list {
			if i < len(r.steps) && a.Began > r.steps[i].Monotonic {
				later = append(later, a)
			}
		}
	}
	slices.SortFunc(later, func(a, b ack) int { return cmp.Compare(a.Began, b.Began) })
	for _, a := range later[:min(2, len(later))] {
		end := r.behind(a.Done)
		for k := r.behind(a.Began); k < end; k++ {
			if r.steps[k].Kind == powerfs.OnSync {
				found = append(found, k, k+1)
			}
		}
		found = append(found, end)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found[:min(tellingMoments, len(found))]
}

// behind returns the first moment after a time.
func (r *recording) behind(at int64) int {
	i, _ := slices.BinarySearchFunc(r.steps, at, func(s powerfs.Step, at int64) int { return cmp.Compare(s.Monotonic, at+1) })
	return i
}

// faultOf returns a disk that fails.
func (j *job) faultOf(scene, turn int) (o powerfs.Options) {
	if list := j.targets[scene]; len(list) > 0 {
		if t := list[turn%len(list)]; t.space > 0 {
			o.Space = t.space
		} else {
			o.Faults = []powerfs.Fault{t.Fault}
		}
	}
	return o
}
