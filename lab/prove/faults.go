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
		case l.Restarts && l.Rounds == 0 && j.rounds%3 == 2 && len(j.follows) > 0:
			err = l.followUp(ctx, j)
		case l.Restarts && l.Rounds == 0 && j.rounds%6 == 0 && j.fault == result.FaultEIO:
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
	var found []int
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
	found = append([]int{min(i+1, len(r.steps)), len(r.steps)}, found...)
	var few []int
	for _, at := range found {
		if !slices.Contains(few, at) && len(few) < tellingMoments {
			few = append(few, at)
		}
	}
	return few
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
