package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

// The operations of a recording: at which pace it is done.
const (
	Flat     = "flat"     // one transaction after the other
	Recorded = "recorded" // each when it was recorded
	Together = "together" // those at the same time that ran at the same time
)

// Paces are the operations, the usual one first.
var Paces = []string{Flat, Recorded, Together}

// Checked returns what a pass is held to at a pace: how many reads, and whether the store in the
// end is, too.
func (t *Trace) Checked(pace string) (reads int, whole bool) {
	if pace == Together {
		return t.Compared, !t.contested
	}
	return t.Reads, true
}

// Workload returns t as a workload. Its operations do all of t again and again, on a store that is
// made anew each time.
func Workload(name string, t *Trace) workload.Workload {
	commits := t.Commits > 0
	op := func(pace, summary string, cycle, items int) workload.Op {
		return workload.Op{Name: pace, Summary: summary, Commits: commits, Cycle: cycle, Items: items,
			New: func(env workload.Env) (workload.Runner, error) {
				j := newJob(t, env)
				r := &runner{Runner: workload.OnKV(env, j), job: j}
				switch pace {
				case Recorded:
					return &paced{runner: r}, nil
				case Together:
					j.crowd = true
					return &crowd{r}, nil
				}
				return r, nil
			}}
	}
	return workload.Workload{
		Name: name, Summary: fmt.Sprintf("a recording of a program on %s", t.Info.Engine),
		Ops: []workload.Op{
			op(Flat, "a recorded transaction, one after the other", len(t.units), 0),
			op(Recorded, "a recorded transaction, at the recorded pace", len(t.units), 0),
			op(Together, fmt.Sprintf("all %d recorded transactions, those at the same time that were", len(t.units)), 1,
				len(t.units)),
		},
	}
}

// job does units on an open store.
type job struct {
	t      *Trace
	env    workload.Env
	player player
	next   int  // unit
	crowd  bool // those at the same time that were
}

var _ workload.Job = (*job)(nil)

func newJob(t *Trace, env workload.Env) *job {
	j := &job{t: t, env: env}
	j.player = player{t: t, class: j.class, check: expect}
	if env.Engine == "null" { // it keeps nothing
		j.player.check = func(*unit, *step, finding) error { return nil }
	}
	return j
}

// class returns the class at which a commit is made: that of the recording where the strongest of
// it was asked for, and the one asked for otherwise.
func (j *job) class(recorded kv.Durability) kv.Durability {
	if j.env.Durability == j.t.Strongest {
		return recorded
	}
	return j.env.Durability
}

func (j *job) Load(ctx context.Context, db *kv.DB) error {
	j.next, j.player.db = 0, db
	return j.player.load(ctx, j.env.Durability)
}

func (j *job) Prepare(int) error { return nil }

func (j *job) Do(ctx context.Context, db *kv.DB, _, _ int) error {
	j.player.db = db
	if j.crowd {
		j.next = len(j.t.units)
		return j.together(ctx, db)
	}
	j.next++
	return j.player.do(ctx, j.t.units[j.next-1])
}

// Verify compares the store at the end of a pass with what the reference holds. What commits at the
// same time left where they wrote the same key is not known.
func (j *job) Verify(ctx context.Context, db *kv.DB) error {
	if j.next < len(j.t.units) || j.env.Engine == "null" || j.crowd && j.t.contested {
		return nil
	}
	j.player.db = db
	now, err := j.player.now(ctx)
	if err == nil && now != j.t.final {
		err = &kv.Error{Op: "replay", Kind: kv.Corrupt, Err: fmt.Errorf(
			"the store holds %d pairs in the end (digest %x), and should hold %d (digest %x)",
			now.pairs, uint64(now.digest), j.t.final.pairs, uint64(j.t.final.digest))}
	}
	return err
}

// together does all units: each once those are done that were done when it began.
func (j *job) together(ctx context.Context, db *kv.DB) error {
	units := j.t.units
	var mu sync.Mutex
	moved := sync.NewCond(&mu)
	done := make([]bool, len(units))
	taken, through := 0, 0 // the first so many are taken, or done
	var failed error
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if taken == len(units) {
			return 0, false
		}
		i := taken
		taken++
		for through < units[i].after && failed == nil {
			moved.Wait()
		}
		return i, failed == nil
	}
	finish := func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, err)
		for done[i] = true; through < len(done) && done[through]; {
			through++
		}
		moved.Broadcast()
	}
	var all sync.WaitGroup
	for range j.t.AtOnce {
		all.Go(func() {
			p := j.player
			p.db, p.batch, p.buf, p.want = db, kv.Batch{}, nil, nil
			if j.env.Engine != "null" {
				p.check = expectExact
			}
			for i, ok := take(); ok; i, ok = take() {
				finish(i, p.do(ctx, units[i]))
			}
		})
	}
	all.Wait()
	return failed
}

// expectExact is the check where units run at the same time: of those that have one answer.
func expectExact(u *unit, s *step, f finding) error {
	if !u.exact {
		return nil
	}
	return expect(u, s, f)
}

// runner makes the store anew after each pass, untimed.
type runner struct {
	workload.Runner
	job *job
}

var _ workload.Restorer = (*runner)(nil)

func (r *runner) Every() int { return len(r.job.t.units) }

// Restore makes the store as it was at the start, if something was done since.
func (r *runner) Restore(ctx context.Context) error {
	if r.job.next == 0 {
		return nil
	}
	if err := r.Close(); err != nil {
		return err
	}
	left, err := os.ReadDir(r.job.env.Dir)
	for _, e := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(r.job.env.Dir, e.Name())))
	}
	if err != nil {
		return err
	}
	return r.Setup(ctx)
}

// again is Restore at the end of a pass.
func (r *runner) again(ctx context.Context) error {
	if r.job.next < len(r.job.t.units) {
		return nil
	}
	return r.Restore(ctx)
}

func (r *runner) Prepare(n int) error {
	if err := r.again(context.Background()); err != nil {
		return err
	}
	return r.Runner.Prepare(n)
}

func (r *runner) Do(ctx context.Context, worker, i int) error {
	if err := r.again(ctx); err != nil { // where nobody calls Restore: while syncs are counted
		return err
	}
	return r.Runner.Do(ctx, worker, i)
}

// paced begins each unit when it began in the recording, or at once if that has passed.
type paced struct {
	*runner
	start time.Time // of the pass
}

var _ workload.Resetter = (*paced)(nil)

// Reset waits.
func (r *paced) Reset(ctx context.Context, _, _ int) error {
	if err := r.again(ctx); err != nil {
		return err
	}
	units := r.job.t.units
	if r.job.next == 0 {
		r.start = time.Now().Add(-time.Duration(units[0].at) * time.Millisecond)
	}
	begin := r.start.Add(time.Duration(units[r.job.next].at) * time.Millisecond)
	wait := time.NewTimer(time.Until(begin))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// crowd does a pass in each iteration.
type crowd struct{ *runner }

func (r *crowd) Every() int { return 1 }
