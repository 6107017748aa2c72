// Package prove finds out what an engine's acknowledged commits survive, by making it happen.
//
// A writer process commits a history whose content is a function of a seed, and reports every
// acknowledgement with the time. Then something happens to it: it is killed, or the power of its
// disk (lab/powerfs) fails, or a write fails. A verifier process opens what is left and compares
// all of it with the history: how many of the acknowledged commits are there, and whether it is a
// state that some prefix of the commits explains. Then it writes on and compares again.
package prove

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/workdir"
)

// Run inflicts the faults on the engines and returns what they kept. If ctx ends meanwhile, it
// returns what was found until then (Interrupted is set). An error means that nothing could be run,
// or, beside a proof, that evidence could not be kept, or that one of its controls failed: then the
// cells that rest on it are unproved. No process, mount or file is left behind.
func Run(ctx context.Context, o Options) (_ *result.Proof, err error) {
	r := &runner{Options: o.withDefaults(), started: time.Now(), damages: o.Faults == nil && o.Rounds == 0}
	r.freed = sync.NewCond(&r.mu)
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Dir == "" {
		if r.Dir, err = workdir.Default(); err != nil {
			return nil, err
		}
	}
	leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	if err := r.plan(ctx); err != nil {
		return nil, err
	}
	if err := r.goOn(); err != nil {
		return nil, err
	}
	stop := r.keepOften()
	failed := r.work(ctx)
	stop()
	r.proof.Interrupted = ctx.Err() != nil
	failed = errors.Join(failed, r.askAgain(ctx), r.keepEvidence())
	return r.soFar(false), failed
}

// runner is the state of a run.
type runner struct {
	Options
	dir           *workdir.Dir
	started       time.Time
	rules         []string
	recoveryRules []string
	unavailable   error // why power cannot fail on this machine
	damages       bool  // files also go bad
	proof         result.Proof
	tasks         []*task

	fast   string     // a folder in memory, "" if there is none
	mu     sync.Mutex // of all that follows, and of the calls of Progress
	freed  *sync.Cond // a job is no longer busy
	jobs   []*job
	lanes  int // that do them
	done   int
	images int
	unkept int
}

// enter makes the folders of a run, which an heir removes if the run cannot, and begins its proof.
// leave removes the folders.
func (r *runner) enter(ctx context.Context) (leave func() error, err error) {
	heir, err := child.StartHeir(r.Child)
	if err != nil {
		return nil, err
	}
	var fast *workdir.Dir
	end := func() (err error) {
		if r.dir != nil {
			err = r.dir.Remove()
		}
		if fast != nil {
			_ = fast.Remove() // the next run removes what cannot be removed now
		}
		_ = heir.End(time.Second) // nothing is left to inherit
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	var folders []string
	if memory := workdir.Memory(); memory != "" {
		if fast, err = workdir.New(memory); err != nil {
			return nil, err
		}
		r.fast = fast.Path
		folders = append(folders, fast.Path)
	}
	if r.dir, err = workdir.New(r.Dir); err != nil {
		return nil, err
	}
	folders = append(folders, r.dir.Path)
	if err := heir.Call(ctx, "inherit", request{Inherit: folders}, new(message), r.Hang); err != nil {
		return nil, err
	}
	env, warnings := result.CurrentEnvironment(r.dir.Path, r.modules())
	r.proof = result.Proof{Schema: result.ProofSchema, Command: r.Command, Started: r.started.UTC(), Seed: r.Seed,
		Environment: env, Drivers: r.drivers(), Warnings: warnings}
	return end, nil
}

// check refuses options that mean nothing.
func (r *runner) check() error {
	if len(r.Entries) == 0 {
		return invalid(errors.New("nothing to prove"), "name at least one engine")
	}
	for _, f := range r.Faults {
		if !slices.Contains(Faults, f) {
			return invalid(fmt.Errorf("unknown fault %q", f), "use some of %v", Faults)
		}
	}
	return r.checkRules()
}

func invalid(err error, hint string, args ...any) error {
	return &kv.Error{Kind: kv.Invalid, Err: err, Hint: fmt.Sprintf(hint, args...)}
}

// modules returns the modules of the engines that take part.
func (r *runner) modules() []string {
	var modules []string
	for _, e := range r.Entries {
		if d, ok := driver.Lookup(e.Engine); ok {
			modules = append(modules, d.Info().Modules...)
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// drivers returns the digests of the drivers of the engines that take part.
func (r *runner) drivers() map[string]string {
	all := map[string]string{}
	for _, e := range r.Entries {
		if digest := result.DriverDigest(e.Engine); digest != "" {
			all[e.Engine] = digest
		}
	}
	return all
}

// plan asks every engine what it promises and makes the tasks.
func (r *runner) plan(ctx context.Context) error {
	for i, e := range r.Entries {
		all, err := r.probe(ctx, storeSpec{Entry: e, Dir: filepath.Join(r.dir.Path, fmt.Sprintf("probe-%d", i))})
		if err != nil && (ctx.Err() != nil || errors.Is(err, kv.Invalid)) {
			return err
		}
		if all[kv.Synced].Remote || all[kv.Flushed].Remote {
			return remote(e.Name)
		}
		var pairs []*pair
		for _, class := range r.Classes {
			p := &pair{entry: e, class: class, caps: all[class]}
			same := func(o *pair) bool { return o.caps.Promise == p.caps.Promise }
			if (p.caps.Supported || err != nil) && !slices.ContainsFunc(pairs, same) {
				pairs = append(pairs, p)
			}
		}
		if r.damages && len(pairs) > 0 && err == nil && !pairs[0].caps.Log {
			t := &task{pair: pairs[0], fault: faultDamage, weight: 2}
			t.flippedBits = result.Damage{Engine: e.Name, Kind: result.DamageBit}
			t.readErrors = result.Damage{Engine: e.Name, Kind: result.DamageRead}
			r.tasks = append(r.tasks, t)
		}
		for _, p := range pairs {
			for _, f := range Faults {
				if slices.Contains(r.Faults, f) {
					t := r.newTask(p, f)
					if err != nil {
						t.why = "the engine does not run: " + err.Error()
					}
					r.tasks = append(r.tasks, t)
				}
			}
		}
	}
	if len(r.tasks) == 0 {
		return &kv.Error{Op: "prove", Kind: kv.Unsupported, Err: errors.New("no engine named delivers a class named"),
			Hint: "name other engines or classes"}
	}
	return nil
}

// remote is the error of an engine whose store is a server's. What a client that was killed has
// sent, the server may do later: there is no moment at which what is left can be compared. And the
// disk that fails here is not the server's.
func remote(name string) error {
	return &kv.Error{Op: "prove", Kind: kv.Unsupported,
		Err: fmt.Errorf("%s keeps its store on a server, which goes on when its client is killed", name),
		Hint: "a server of its own is proved by the command with the server's engine in, if the URL names no other one: " +
			"docs/growing.md"}
}

// probe asks one engine, in a process of its own. The store's folder goes with the run's.
func (r *runner) probe(ctx context.Context, spec storeSpec) (all [3]caps, err error) {
	p, err := child.Start(r.Child)
	if err != nil {
		return all, err
	}
	defer func() { _ = p.End(time.Second) }() // its answer is all that is wanted
	var m message
	if err := p.Call(ctx, "probe", request{Probe: &spec}, &m, r.Hang); err != nil {
		return all, err
	}
	if m.Done == nil || m.Done.Error != "" {
		e := &kv.Error{Op: "engine", Engine: spec.Entry.Name, Err: errors.New(m.Done.Error), Hint: m.Done.Hint}
		if m.Done.Invalid {
			e.Kind = kv.Invalid
		}
		return all, e
	}
	return *m.Done.Caps, nil
}

// work has some lanes do slices of the jobs. It returns the errors of controls.
func (r *runner) work(ctx context.Context) error {
	r.lanes = runtime.GOMAXPROCS(0) + 2 // two more than there are processors: a lane also waits for its child
	weights := 0
	for _, t := range r.tasks {
		weights += t.weight
	}
	for _, t := range r.tasks {
		lanes := 1 // that the task's share of the time is
		if r.Rounds == 0 {
			lanes = max((2*r.lanes*t.weight+weights)/(2*weights), 1)
		}
		for n := range lanes {
			r.jobs = append(r.jobs, &job{task: t, number: n, of: lanes})
		}
	}
	errs := make([]error, r.lanes)
	var all sync.WaitGroup
	for i := range r.lanes {
		all.Go(func() {
			l := &lane{runner: r, number: i}
			defer l.close()
			for j := r.next(); j != nil; j = r.next() {
				errs[i] = errors.Join(errs[i], l.do(ctx, j))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// next returns the job that is to have the next slice; nil if there is nothing more to do, or no
// time.
func (r *runner) next() *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		elapsed := time.Since(r.started)
		best := choose(r.jobs, r.lanes, r.counted(elapsed))
		busy := slices.ContainsFunc(r.jobs, func(j *job) bool { return j.busy })
		late := r.Rounds == 0 && elapsed >= r.Budget
		if best != nil && (!late || best.spent == 0) {
			best.busy = true
			return best
		}
		if best == nil && busy && !late {
			r.freed.Wait() // a job may become free, and have more to do
			continue
		}
		return nil
	}
}

// sliceTime is how long a lane stays with a job.
func (r *runner) sliceTime() time.Duration {
	return min(max(r.Budget/time.Duration(10*len(r.jobs)), 300*time.Millisecond), 2*time.Second)
}

// do does a slice of a job. What keeps its task from its end is noted in it; only the failure of a
// control is an error.
func (l *lane) do(ctx context.Context, j *job) error {
	began := time.Now()
	more, err := false, error(nil)
	switch {
	case j.why != "":
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		until := began.Add(l.sliceTime())
		if end := l.started.Add(l.Budget); l.Rounds == 0 && end.After(began) && end.Before(until) {
			until = end
		}
		more, err = l.slice(ctx, j, until)
	}
	l.ended(ctx, j, time.Since(began), more, err)
	var control *controlError
	if ctx.Err() == nil && errors.As(err, &control) {
		return err
	}
	return nil
}

// interrupted is why something is unproved that was not done.
const interrupted = "interrupted"

// ended takes down what came of a slice.
func (r *runner) ended(ctx context.Context, j *job, took time.Duration, more bool, err error) {
	r.mu.Lock()
	j.busy, j.spent = false, j.spent+max(took, 1)
	j.pair.spent += took
	j.task.spent += took
	j.over = err != nil || !more
	var control *controlError
	switch {
	case ctx.Err() != nil && (r.Rounds > 0 || time.Since(r.started) < r.Budget):
		j.why = interrupted
	case err != nil:
		if j.why = err.Error(); errors.As(err, &control) {
			j.void = err
		}
	}
	if !slices.ContainsFunc(r.jobs, func(o *job) bool { return o.task == j.task && !o.over }) && !j.done {
		j.done = true
		r.done++
	}
	for _, c := range j.cells {
		keeps, whole := claims(j.caps, j.fault, c.Rule)
		if !c.unkept && (keeps && c.keeps.failed > 0 || whole && c.whole.failed > 0) {
			c.unkept = true
			r.unkept++
		}
	}
	r.freed.Broadcast()
	r.mu.Unlock()
	r.report(j.task)
}

// noteWork adds what a recording did to what is told of a pair, and of the engine.
func (r *runner) noteWork(p *pair, rec *recording) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, use := range rec.uses {
		r.proof.Unseen = united(r.proof.Unseen, []string{p.entry.Name + " " + string(use)})
	}
	if p.did == nil {
		p.did = map[string]int{}
	}
	for k, n := range rec.happened() {
		p.did[k] += n
	}
}

// report tells where the run stands.
func (r *runner) report(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Progress(Progress{Engine: t.entry.Name, Class: t.class.String(), Fault: t.fault, Round: t.round, Rounds: r.Rounds,
		Images: r.images, Unkept: r.unkept, Done: r.done, All: len(r.tasks), Elapsed: time.Since(r.started),
		Budget: r.Budget})
}
