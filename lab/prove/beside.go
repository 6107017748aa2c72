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

// meeting has the first of two processes stopped until the second has committed, or has waited long
// enough.
type meeting struct {
	at      uint64 // the operation behind which it is stopped
	ofFault bool   // counted from the first that fails, which is 0
	never   bool   // it is not: the second comes when it is done
	early   bool   // it has not opened the store then: the second may, and is to close it
	dies    bool   // it is killed then; else it goes on
	stopped chan struct{}
}

// awayTime is how long the first stays stopped, at most, once the second opens the store.
const awayTime = 150 * time.Millisecond

// arm has the first process stopped.
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

// untilStopped waits until the first process is stopped, or has done all, or hangs. It fails if ctx
// has ended.
func (l *lane) untilStopped(ctx context.Context, first *writer, m *meeting) error {
	limited, cancel := context.WithTimeout(ctx, l.Hang)
	defer cancel()
	if d, _ := first.wait(limited, m.stopped); d != nil {
		first.done <- *d // for who waits for its end
	}
	return ctx.Err()
}

// end lets the first process go on, or kills it and returns true, once the second has committed or
// has waited for that.
func (m *meeting) end(ctx context.Context, g *rig, first, second *writer) (died bool) {
	select {
	case <-m.stopped:
	default:
		return false
	}
	select {
	case <-second.opening:
	case <-second.over:
	case <-ctx.Done():
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
func (m *meeting) oneBehindAnother(spec writeSpec) []writeSpec {
	one, two := spec, spec
	one.Only, one.Close = []int{0}, true
	two.Only, two.Legs = []int{1}, []leg{{"", 6}, {reopen, 2}}
	two.Close = m.early && !m.dies
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

// ofTheFirst returns the steps of the first process of a meeting.
func (r *recording) ofTheFirst() []powerfs.Step {
	if len(r.ledger.opened) > 1 {
		return r.steps[:r.behind(r.ledger.opened[1])]
	}
	return r.steps
}

// partsOfTheFirst returns them by index: while it closes the store, while it opens it, and between.
func (r *recording) partsOfTheFirst() (closing, opening, between []int) {
	acks := r.ledger.acks[0]
	if len(acks) == 0 {
		return nil, nil, nil
	}
	for i, s := range r.ofTheFirst() {
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

// stops returns the steps behind which the first process of a meeting is to be stopped, in their
// order: of four two while it closes the store, when locks are given up.
func (r *recording) stops(rng *rand.Rand) []int {
	closing, opening, between := r.partsOfTheFirst()
	for _, part := range [][]int{closing, opening, between} {
		rng.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
	}
	var order []int
	for len(closing)+len(opening)+len(between) > 0 {
		for _, from := range []*[]int{&closing, &closing, &opening, &between} {
			if len(*from) > 0 {
				order, *from = append(order, (*from)[0]), (*from)[1:]
			}
		}
	}
	return order
}

// nextMeeting returns the number of the next meeting, among those of all jobs of a task.
func (j *job) nextMeeting() int {
	k := j.met*j.of + j.number
	j.met++
	return k
}

// meet has a process come in while another is stopped behind an operation.
func (l *lane) meet(ctx context.Context, j *job) error {
	all, err := l.besides(ctx, j)
	if err != nil {
		return err
	}
	k := j.nextMeeting()
	base := all[k%len(all)]
	order := base.stops(rand.New(rand.NewPCG(mix(l.Seed, "meet", k%len(all)), l.Seed)))
	if len(order) == 0 {
		return nil
	}
	n := k / len(all)
	_, opening, _ := base.partsOfTheFirst()
	step := order[n%len(order)]
	m := meeting{at: base.opOf(step), early: slices.Contains(opening, step), dies: n%4 == 3}
	rec, err := l.record(ctx, j.task, base.scene, base.seed, run{meets: &m})
	if err != nil {
		return err
	}
	return l.afterRestart(ctx, j, rec, mix(l.Seed, "meet", k), certainTime)
}

// meetEvery: one of so many faults is met by two processes, where an engine lets several in.
const meetEvery = 8

// excusedBeside is excused of a meeting, in which the second process opens the store behind the
// failure of the first.
func (p *pair) excusedBeside(s scene) bool {
	return s.weak && p.caps.Class == kv.Synced && p.caps.Mixed != kv.Synced
}

// meetAtFault has a sync fail of a process that is stopped then: another opens the store beside it,
// before it has mended anything, and commits.
func (l *lane) meetAtFault(ctx context.Context, j *job) error {
	all, err := l.besides(ctx, j)
	if err != nil {
		return err
	}
	places := j.syncsOfTheFirst(all)
	if len(places) == 0 {
		return nil
	}
	k := j.nextMeeting()
	p := places[k%len(places)]
	in := run{meets: &meeting{ofFault: true, dies: k/len(places)%2 == 0}}
	in.options.Faults = []powerfs.Fault{p.fault}
	rec, err := l.record(ctx, j.task, p.base.scene, p.base.seed, in)
	if err != nil {
		return err
	}
	return l.afterRestart(ctx, j, rec, mix(l.Seed, "meet at fault", k), certainTime)
}

// syncAt is a sync in a meeting: what fails, and how many bytes that loses.
type syncAt struct {
	base  *recording
	fault powerfs.Fault
	bytes int
}

// syncsOfTheFirst returns the syncs of the first processes of meetings, one of each sort in turn:
// those that have most to lose first, and late ones, as what is lost early is still in the log that
// is begun first.
func (p *pair) syncsOfTheFirst(all []*recording) (places []syncAt) {
	of, sorts := map[string][]syncAt{}, []string{}
	for n, base := range all {
		if p.excusedBeside(meetings[n]) {
			continue
		}
		kinds, faults, bytes := sortsOf(base.course()), faultsAt(base.steps), written(base.steps)
		for i, s := range slices.Backward(base.ofTheFirst()) {
			if s.Kind != powerfs.OnSync {
				continue
			}
			if of[kinds[i]] == nil {
				sorts = append(sorts, kinds[i])
			}
			of[kinds[i]] = append(of[kinds[i]], syncAt{base, faults[i], bytes[i]})
		}
	}
	slices.SortStableFunc(sorts, func(a, b string) int { return cmp.Compare(of[b][0].bytes, of[a][0].bytes) })
	inTurn(sorts, of, func(_, _ int, p syncAt) { places = append(places, p) })
	return places
}
