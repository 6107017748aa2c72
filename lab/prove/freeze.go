package prove

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/assaydb/assay/lab/powerfs"
)

// What a process changes in memory that it has mapped the disk hears of late, so that a record does
// not tell what a kill leaves. So the processes of such an engine are stopped again and again, what
// they have changed is brought to the disk, and they go on: at each of these moments the record
// holds what their death would leave.

// mostFreezes is how often the processes of one recording are stopped; freezePause is how long
// they go on, at most, in between; frozenLegs is by how much the work is longer than in other
// records, as a process takes long to begin, and as much again where values are not the largest.
const (
	mostFreezes = 120
	freezePause = 2 * time.Millisecond
	frozenLegs  = 3
	largest     = 2 // of work.Sizes
)

// freeze stops processes, brings what they have mapped and changed to the disk, calls then and lets
// them go on.
func (g *rig) freeze(pids []int, then func()) error {
	if len(pids) == 0 {
		then()
		return nil
	}
	var rest error
	err := g.mount.Freeze(pids[0], func() { rest = g.freeze(pids[1:], then) })
	return errors.Join(err, rest)
}

// freezeOften freezes processes again and again. Stop, which may be called more than once, ends
// that and returns when they were stopped, by clock.
func (g *rig) freezeOften(workers []*writer, seed uint64) (stop func() ([]int64, error)) {
	var pids []int
	for _, w := range workers {
		pids = append(pids, w.p.PID())
	}
	var at []int64
	var err error
	quit, over := make(chan struct{}), make(chan struct{})
	rng := rand.New(rand.NewPCG(mix(seed, "freeze"), seed))
	go func() {
		defer close(over)
		for err == nil && len(at) < mostFreezes {
			select {
			case <-quit:
				return
			case <-after(time.Duration(rng.Int64N(int64(freezePause)))):
			}
			err = g.freeze(pids, func() { at = append(at, clock()) })
		}
	}()
	return sync.OnceValues(func() ([]int64, error) {
		close(quit)
		<-over
		return at, err
	})
}

// frozen records a scene once more, with processes that are stopped again and again, and returns an
// explorer of the moments at which they were.
func (l *lane) frozen(ctx context.Context, j *job, like *recording) (*explorer, error) {
	s := like.scene
	s.legs = slices.Clone(s.legs)
	for i := range s.legs {
		if s.legs[i].Commits *= frozenLegs; s.work.Sizes < largest {
			s.legs[i].Commits *= frozenLegs
		}
	}
	rec, err := l.record(ctx, j.task, s, mix(like.seed, "frozen"), run{freezes: true})
	if err != nil {
		return nil, err
	}
	l.troubled(j.cells, rec)
	x := newExplorer(rec, 0, "frozen")
	l.counts(j, x)
	x.left, x.states = []int{len(rec.steps)}, j.only(powerfs.Everything)
	for _, at := range rec.stopped {
		if i := rec.behind(at); !slices.Contains(x.left, i) {
			x.left = append(x.left, i)
		}
	}
	x.rng.Shuffle(len(x.left), func(a, b int) { x.left[a], x.left[b] = x.left[b], x.left[a] })
	return x, nil
}

// stoppedAt returns when the processes were last stopped behind the steps before index i, by clock;
// 0 is never. What is acknowledged then may not have moved the disk.
func (r *recording) stoppedAt(i int) (last int64) {
	for _, at := range r.stopped {
		if r.behind(at) == i {
			last = at
		}
	}
	return last
}
