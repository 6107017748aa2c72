package prove

import (
	"cmp"
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/assaydb/assay/lab/powerfs"
)

// What a killed process wrote and did not sync is there for the one that takes its place, and for
// no power cut: a recovery that takes what it reads for what the disk holds shows in no crash but
// in two, a kill first. The same goes for what a failed sync has left in memory, if the process
// dies before it has mended that.

// killedAt has a process work until it is killed at an operation of the disk, or has done all, and
// returns what the next one is told.
func (l *lane) killedAt(ctx context.Context, g *rig, r *recording, spec writeSpec, op uint64,
	ofFault bool) (writeSpec, error) {
	call := g.disk.CallBefore
	if ofFault {
		call = g.disk.CallBehindFault
	}
	w, err := startWriter(l.Child, spec, 0, func(w *writer) error {
		call(op, killer(w.p.PID()))
		return l.takeSyncs(g, r.scene, w)
	})
	if err != nil {
		return spec, err
	}
	_, _, err = l.untilEnd(ctx, w, spec.Resume)
	own := w.stop()
	if err != nil {
		return spec, err
	}
	next := spec
	next.Tried, next.From = make([]uint64, len(spec.From)), slices.Clone(spec.From)
	for w, acks := range own.acks {
		if len(acks) > 0 {
			next.From[w] = acks[len(acks)-1].N
		}
		next.Tried[w] = next.From[w]
		for _, found := range own.resumed {
			if found.W == w {
				next.Tried[w] = max(next.Tried[w], found.After)
				if len(acks) == 0 {
					next.From[w] = min(next.From[w], found.After)
				}
			}
		}
		next.Tried[w]++
	}
	next.Past = spec.Past.after(own)
	for w, n := range next.Tried { // what it was at when it died
		own.failed = append(own.failed, failure{W: w, N: n, Salt: next.Past.Chains[w].salt(n), At: clock(),
			Text: "killed"})
		next.Past.Unsure[w] = append(next.Past.Unsure[w], stampJSON{n, next.Past.Chains[w].salt(n)})
	}
	if r.trouble == nil {
		r.trouble = own.wrong()
	}
	r.ledger.add(own)
	next.Legs = []leg{{"", 3}, {reopen, 2}}
	if r.scene.looks {
		next.Legs[0].First = reopen
	}
	return next, nil
}

// killer returns what kills a process. What it has asked the disk for is done.
func killer(pid int) func() {
	p, err := os.FindProcess(pid)
	return func() {
		if err == nil {
			_ = p.Kill() // it may have ended by itself
		}
	}
}

// died adds what the writers of a process that was killed were at: whether it is there nobody
// knows.
func (l *ledger) died(spec writeSpec) {
	p := spec.Past.after(*l)
	for _, w := range spec.Only {
		n := spec.From[w]
		if list := l.acks[w]; len(list) > 0 {
			n = list[len(list)-1].N
		}
		l.failed = append(l.failed, failure{W: w, N: n + 1, Salt: p.Chains[w].salt(n + 1), At: clock(), Text: "killed"})
	}
}

// follow is an operation at which a process is to be killed that mends what a failure has left.
type follow struct {
	scene   int
	options powerfs.Options
	op      uint64 // behind the one that fails, which is 0
	looks   bool   // see scene
	rank    int    // those with a small one come first
}

// followLater notes operations at which the process is to be killed that mends what a fault has
// left: of syncs, which leave most in memory that is not on the disk, those of commits before
// others. Of syncs, who dies before he does anything is one of deaths.
func (j *job) followLater(t target, o powerfs.Options, ops []uint64, ofCommits bool) {
	for k, op := range ops {
		if op == 0 && t.Op == powerfs.OnSync && t.Again == 0 {
			continue
		}
		rank := 2 * k
		if t.Op != powerfs.OnSync {
			rank += 2 * followsOfOne
		}
		if !ofCommits {
			rank++
		}
		j.follows = append(j.follows, follow{t.scene, o, op, (t.Nth+op)%2 == 0, rank})
	}
	slices.SortStableFunc(j.follows, func(a, b follow) int { return a.rank - b.rank })
	j.follows = j.follows[:min(len(j.follows), mostFollows)]
}

// ofCommits reports whether step i is of the file that is synced most often, to which commits go:
// who comes later reads it. What a compaction writes beside may have no name yet.
func (r *recording) ofCommits(i int) bool {
	if i >= len(r.steps) {
		return false
	}
	syncs, most := map[string]int{}, 0
	for _, s := range r.steps {
		if s.Kind == powerfs.OnSync {
			name := digits.ReplaceAllString(s.Path, "#")
			syncs[name]++
			most = max(most, syncs[name])
		}
	}
	return syncs[digits.ReplaceAllString(r.steps[i].Path, "#")] == most
}

const (
	mostFollows    = 48
	followsOfOne   = 3
	restartMoments = 16
)

// mending returns some of the operations from a failure at step i until commits are taken again by
// a store that was opened since, by how many they come behind it: the last one before its process
// is told, so that it dies before it does anything, then the next one, then others.
func (r *recording) mending(i int, rng *rand.Rand) []uint64 {
	end := len(r.steps)
	for _, opened := range r.ledger.opened {
		if i >= len(r.steps) || opened <= r.steps[i].Monotonic {
			continue
		}
		for _, list := range r.ledger.acks {
			for _, a := range list {
				if a.Began > opened {
					end = min(end, r.behind(a.Began))
				}
			}
		}
		break
	}
	next := r.failedBy(i)
	for next < end && r.steps[next].Kind == 0 {
		next++
	}
	if next >= end {
		return nil
	}
	failed := r.opOf(i)
	ops := []uint64{r.opOf(next) - 1 - failed, r.opOf(next) - failed}
	for _, k := range turns(r.steps[next+1:end], rng) {
		ops = append(ops, r.opOf(next+1+k)-failed)
	}
	return ops[:min(len(ops), followsOfOne)]
}

// failedBy returns the moment at which who met the failure at step i is told of it: a slow sync
// takes a while to fail.
func (r *recording) failedBy(i int) int {
	if i < len(r.steps) && r.steps[i].Until > 0 {
		for k := i + 1; k < len(r.steps); k++ {
			if r.steps[k].Done && r.steps[k].Path == r.steps[i].Path {
				return k + 1
			}
		}
	}
	return min(i+1, len(r.steps))
}

// opOf returns the number of the operation at a step.
func (r *recording) opOf(i int) uint64 {
	n := uint64(0)
	for _, s := range r.steps[:i+1] {
		if s.Kind != 0 {
			n++
		}
	}
	return n
}

// restart kills the process of a scene before one of its operations, those of rare kinds first, and
// has another go on in what it left, on the same disk; that one may be killed early, too, or meet a
// failing disk. Then power fails.
func (l *lane) restart(ctx context.Context, j *job, fails bool) error {
	k := j.restarts*j.of + j.number
	j.restarts++
	base, err := l.recording(ctx, j.task, k%len(scenes))
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(mix(l.Seed, "restart", k, fails), l.Seed))
	order := turns(base.steps, rand.New(rand.NewPCG(mix(l.Seed, "restarts", k%len(scenes)), l.Seed)))
	if len(order) == 0 {
		return nil
	}
	op := base.opOf(order[k/len(scenes)%len(order)])
	in := run{kills: []uint64{op}}
	if base.scene.apart && !fails && rng.IntN(2) == 0 { // one process dies, and the other goes on
		in = run{dies: op}
	}
	switch {
	case fails:
		f := powerfs.Fault{Nth: 1 + rng.Uint64N(10), Err: syscall.EIO}
		if rng.IntN(2) == 0 {
			f.Op, f.Nth = powerfs.OnSync, 1+rng.Uint64N(4)
		}
		in.faults = []powerfs.Fault{f}
	case in.dies == 0 && rng.IntN(3) == 0:
		in.kills = append(in.kills, op+1+rng.Uint64N(12))
	}
	s := base.scene
	s.looks = mix(l.Seed, "looks", op)%2 == 0
	rec, err := l.record(ctx, j.task, s, base.seed, in)
	if err != nil {
		return err
	}
	return l.afterRestart(ctx, j, rec, mix(l.Seed, "restart", k), certainTime)
}

// followUp has a process killed that mends what a failure has left, or dies of it.
func (l *lane) followUp(ctx context.Context, j *job) error {
	f := j.nextFollow()
	in := run{options: f.options, kills: []uint64{f.op}, ofFault: true}
	s := j.fitted(faulty[f.scene])
	s.looks = f.looks
	rec, err := l.record(ctx, j.task, s, mix(l.Seed, "faulty", f.scene), in)
	if err != nil {
		return err
	}
	most := certainTime
	if j.followed <= firstDeaths {
		most = soonTime
	}
	return l.afterRestart(ctx, j, rec, mix(l.Seed, "follow", f.scene, f.options.Faults, f.op, f.looks), most)
}

// afterRestart looks at what a crash leaves while the last process of a recording goes on: at the
// moments that tell most first, and of all in one state before others, for so long at most.
func (l *lane) afterRestart(ctx context.Context, j *job, rec *recording, seed uint64, most time.Duration) error {
	rec.seed = seed
	l.troubled(j.cells, rec)
	first := rec.behind(rec.began)
	x := newExplorer(rec, first, "restart")
	telling := rec.tellingSince(max(first-1, 0), rec.began)
	x.left = append(telling, slices.DeleteFunc(rec.pressing(x.left),
		func(i int) bool { return slices.Contains(telling, i) })...)
	x.left = x.left[:min(restartMoments, len(x.left))]
	x.cells = j.cellOf
	if err := l.exploreGathered(ctx, j, x, first); err != nil {
		return err
	}
	all, until := x.left, time.Now().Add(most)
	x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State { return p.States(j.entries(), rng)[:1] }
	if _, err := l.explore(ctx, j.task, x, until); err != nil {
		return err
	}
	x.left, x.states = all, j.fewStates
	_, err := l.explore(ctx, j.task, x, until)
	return err
}

// fewStates returns some of the states of a moment.
func (t *task) fewStates(p *powerfs.Player, rng *rand.Rand) []powerfs.State {
	return few(p.States(t.entries(), rng), rng)
}

// gathered returns the moments from step first on before the syncs that are to write most, of which
// any part may be on the disk then: where a log is copied, or a table is written, it is of a store
// that needs all of it.
func (r *recording) gathered(first int) (moments []int) {
	bytes := written(r.steps)
	for i := first; i < len(r.steps); i++ {
		if r.steps[i].Kind == powerfs.OnSync && amountOf(bytes[i]) > 0 {
			moments = append(moments, i)
		}
	}
	slices.SortStableFunc(moments, func(a, b int) int { return cmp.Compare(bytes[b], bytes[a]) })
	return moments[:min(len(moments), mostGathered)]
}

// mostGathered is how many of those are looked at before others.
const mostGathered = 4

// exploreGathered looks at them before what else is left of an explorer, for as long as it takes:
// they are few, and of a large store each takes long.
func (l *lane) exploreGathered(ctx context.Context, j *job, x *explorer, first int) error {
	y := *x
	y.left, y.states = x.rec.gathered(first), j.fewStates
	_, err := l.explore(ctx, j.task, &y, time.Now().Add(certainTime))
	return err
}
