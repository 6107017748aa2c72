package prove

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
)

// A process may be stopped between any two operations, as on a busy machine, while another waits to
// open the store: a lock that is given up too early lets that one in amid what the first has yet to
// do. And who opens a store beside another may do so right behind a failed sync of that one, of
// which the system tells nobody else.

// meeting is that of two processes the first is stopped until the second has committed, or has
// waited for that.
type meeting struct {
	at      uint64 // the operation behind which it is stopped
	ofFault bool   // counted from the first that fails, which is 0
	never   bool   // it is not: the second comes when it is done
	dies    bool   // it is killed then; else it goes on
	stopped chan struct{}
}

// awayTime is for how long the first is stopped, at most, once the second opens the store.
const awayTime = 150 * time.Millisecond

// arm has a process stopped.
func (m *meeting) arm(g *rig, pid int) {
	m.stopped = make(chan struct{})
	call := g.disk.CallBefore
	switch {
	case m.never:
		return
	case m.ofFault:
		call = g.disk.CallBehindFault
	}
	call(m.at, func() {
		_ = g.mount.Halt(pid) // it may have ended
		close(m.stopped)
	})
}

// untilStopped waits until a process is stopped, or has done all, or hangs.
func (l *lane) untilStopped(ctx context.Context, w *writer, m *meeting) (*doneMessage, error) {
	limited, cancel := context.WithTimeout(ctx, l.Hang)
	defer cancel()
	d, err := w.wait(limited, m.stopped)
	if ctx.Err() == nil {
		err = nil // who hangs has the other come in
	}
	return d, err
}

// end lets the first process go on, or kills it and returns true, once the second has committed or
// has waited for that.
func (m *meeting) end(g *rig, first, second *writer) (died bool) {
	select {
	case <-m.stopped:
	default:
		return false
	}
	select {
	case <-second.opening:
	case <-second.over:
	}
	select {
	case <-second.enough:
	case <-second.over:
	case <-time.After(awayTime):
	}
	if m.dies {
		first.p.Kill()
	} else {
		g.mount.GoOn(first.p.PID())
	}
	return m.dies
}

// meetings are the runs of two processes, one behind the other. Where some commits are weaker, the
// last one is, so that a sync is left to who closes the store.
var meetings = []scene{
	{writers: 2, slow: true, weak: true, small: true, work: work{Batch: 40}, legs: []leg{{"", 13}}},
	{writers: 2, slow: true, small: true, fails: true, work: work{Sizes: 1, Batch: 40}, legs: []leg{{"", 11}}},
}

// oneBehindAnother returns what each of two processes is told.
func oneBehindAnother(spec writeSpec) []writeSpec {
	one, two := spec, spec
	one.Only, one.Close = []int{0}, true
	two.Only, two.Legs = []int{1}, []leg{{"", 6}, {reopen, 2}}
	return []writeSpec{one, two}
}

// besides returns the meetings in which nothing happens to anybody, which are recorded once.
func (l *lane) besides(ctx context.Context, j *job) ([]*recording, error) {
	j.making.Lock()
	defer j.making.Unlock()
	for k := len(j.meetings); k < len(meetings); k++ {
		alone := run{meets: &meeting{never: true}}
		rec, err := l.record(ctx, j.task, j.fitted(meetings[k]), mix(l.Seed, "meeting", k), alone)
		if err != nil {
			return nil, err
		}
		j.meetings = append(j.meetings, rec)
	}
	return j.meetings, nil
}

// ofTheFirst returns the steps of the first process of a meeting: while it closes the store, while
// it opens it, and between.
func (r *recording) ofTheFirst() (closing, opening, between []int) {
	acks, end := r.ledger.acks[0], len(r.steps)
	if len(r.ledger.opened) > 1 {
		end = r.behind(r.ledger.opened[1])
	}
	if len(acks) == 0 {
		return nil, nil, nil
	}
	for i, s := range r.steps[:end] {
		switch {
		case s.Kind == 0:
		case s.Monotonic > acks[len(acks)-1].Done:
			closing = append(closing, i)
		case s.Monotonic < acks[0].Began:
			opening = append(opening, i)
		default:
			between = append(between, i)
		}
	}
	return closing, opening, between
}

// meet has a process come in while another is stopped behind an operation: of closing first, where
// locks are given up.
func (l *lane) meet(ctx context.Context, j *job) error {
	all, err := l.besides(ctx, j)
	if err != nil {
		return err
	}
	k := j.met*j.of + j.number
	j.met++
	base := all[k%len(all)]
	rng := rand.New(rand.NewPCG(mix(l.Seed, "meet", k%len(all)), l.Seed))
	closing, opening, between := base.ofTheFirst()
	var order []int
	for _, part := range [][]int{closing, opening, between} {
		rng.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
	}
	for i := range max(len(closing), len(opening), len(between)) {
		for _, part := range [][]int{closing, closing[min(len(closing), 1):], opening, between} {
			if i < len(part) && !slices.Contains(order, part[i]) {
				order = append(order, part[i])
			}
		}
	}
	if len(order) == 0 {
		return nil
	}
	n := k / len(all)
	m := meeting{at: base.opOf(order[n%len(order)]), dies: n%4 == 3}
	rec, err := l.record(ctx, j.task, base.scene, base.seed, run{meets: &m})
	if err != nil {
		return err
	}
	return l.afterRestart(ctx, j, rec, mix(l.Seed, "meet", k))
}

// meetEvery: one of so many faults is met by two processes, where an engine lets several in.
const meetEvery = 8

// excusedBeside is excused of a meeting, in which the second process opens the store behind the
// failure of the first.
func (p *pair) excusedBeside(s scene) bool {
	return s.weak && p.caps.Class == kv.Synced && p.caps.Mixed != kv.Synced
}

// meetAtFault has a sync fail of a process that is stopped then: another opens the store beside it,
// before it has mended anything, and commits. Those that have most to lose come first.
func (l *lane) meetAtFault(ctx context.Context, j *job) error {
	all, err := l.besides(ctx, j)
	if err != nil {
		return err
	}
	type place struct {
		base  *recording
		fault powerfs.Fault
		bytes int
	}
	of, sorted := map[string][]place{}, []string{}
	for _, base := range all {
		if j.excusedBeside(meetings[slices.Index(all, base)]) {
			continue
		}
		closing, opening, between := base.ofTheFirst()
		kinds, faults, bytes := sortsOf(base.course()), faultsAt(base.steps), written(base.steps)
		steps := slices.Sorted(slices.Values(slices.Concat(closing, opening, between)))
		for _, i := range slices.Backward(steps) { // what is lost early is still in the log that is begun first
			if base.steps[i].Kind != powerfs.OnSync {
				continue
			}
			if of[kinds[i]] == nil {
				sorted = append(sorted, kinds[i])
			}
			of[kinds[i]] = append(of[kinds[i]], place{base, faults[i], bytes[i]})
		}
	}
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(of[b][0].bytes, of[a][0].bytes) })
	var places []place
	inTurn(sorted, of, func(_, _ int, p place) { places = append(places, p) })
	if len(places) == 0 {
		return nil
	}
	k := j.met*j.of + j.number
	j.met++
	p := places[k%len(places)]
	in := run{meets: &meeting{ofFault: true, dies: k/len(places)%2 == 0}}
	in.options.Faults = []powerfs.Fault{p.fault}
	rec, err := l.record(ctx, j.task, p.base.scene, p.base.seed, in)
	if err != nil {
		return err
	}
	return l.afterRestart(ctx, j, rec, mix(l.Seed, "meet at fault", k))
}
