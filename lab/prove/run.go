// Package prove finds out what an engine's acknowledged commits survive, by making it happen.
//
// A writer process commits a history whose content is a function of a seed, and reports every acknowledgement with the
// time. Then something happens to it: it is killed, or the power of its disk (lab/powerfs) fails, or a write fails.
// A verifier process opens what is left and compares all of it with the history: how many of the acknowledged commits
// are there, and whether it is a state that some prefix of the commits explains. Then it writes on and compares again.
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

// Run inflicts the faults on the engines and returns what they kept. If ctx ends meanwhile, it returns what was found
// until then (Interrupted is set). An error means that nothing could be run, or, beside a proof, that one of its
// controls failed: then the cells that rest on it are unproved. No process, mount or file is left behind.
func Run(ctx context.Context, o Options) (_ *result.Proof, err error) {
	r := &runner{Options: o.withDefaults(), started: time.Now()}
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Dir == "" {
		if r.Dir, err = workdir.Default(); err != nil {
			return nil, err
		}
	}
	if r.dir, err = workdir.New(r.Dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.dir.Remove()) }()
	env, warnings := result.CurrentEnvironment(r.dir.Path, r.modules())
	r.proof = result.Proof{Schema: result.ProofSchema, Command: o.Command, Started: r.started.UTC(), Seed: o.Seed,
		Environment: env, Drivers: r.drivers(), Warnings: warnings}
	if err := r.plan(ctx); err != nil {
		return nil, err
	}
	failed := r.work(ctx)
	r.proof.Interrupted = ctx.Err() != nil
	for _, t := range r.tasks {
		for _, c := range t.cells {
			r.proof.Cells = append(r.proof.Cells, r.finish(t, c))
		}
	}
	r.proof.Took = time.Since(r.started)
	return &r.proof, failed
}

// runner is the state of a run.
type runner struct {
	Options
	dir           *workdir.Dir
	started       time.Time
	rules         []string
	recoveryRules []string
	unavailable   error // why power cannot fail on this machine
	proof         result.Proof
	tasks         []*task

	mu      sync.Mutex // of all that follows, and of the calls of Progress
	begin   []*task    // have not begun
	waiting int        // their weight
	short   []*task    // ended before they had all their rounds, because their time was over
	done    int
	images  int
	unkept  int
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
		var pairs []*pair
		for _, class := range r.Classes {
			p := &pair{entry: e, class: class, caps: all[class]}
			same := func(o *pair) bool { return o.caps.Promise == p.caps.Promise }
			if (p.caps.Supported || err != nil) && !slices.ContainsFunc(pairs, same) {
				pairs = append(pairs, p)
			}
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

// work does the tasks in as many lanes as there are processors. It returns the errors of controls.
func (r *runner) work(ctx context.Context) error {
	for _, t := range r.tasks {
		r.waiting += t.weight
	}
	r.begin = slices.Clone(r.tasks)
	lanes := min(runtime.GOMAXPROCS(0)+1, 5) // one more than there are processors: engines also wait for the disk
	errs := make([]error, lanes)
	var all sync.WaitGroup
	for i := range lanes {
		all.Go(func() {
			l := &lane{runner: r, number: i}
			defer l.close()
			for t := r.next(lanes); t != nil; t = r.next(lanes) {
				errs[i] = errors.Join(errs[i], l.do(ctx, t))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// next returns the next task and gives it its share of the time that is left. Once all have had a turn, those whose
// share did not suffice go on with what the others left.
func (r *runner) next(lanes int) *task {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.Budget - time.Since(r.started)
	if len(r.begin) == 0 && left > 0 {
		r.begin, r.short = r.short, nil
		for _, t := range r.begin {
			r.waiting += t.weight
		}
	}
	if len(r.begin) == 0 {
		return nil
	}
	t := r.begin[0]
	lanes = min(lanes, len(r.begin))
	t.deadline = time.Now().Add(left * time.Duration(lanes*t.weight) / time.Duration(max(r.waiting, 1)))
	r.waiting -= t.weight
	r.begin = r.begin[1:]
	return t
}

// do does one task. What keeps it from its end is noted in it; only the failure of a control is an error.
func (l *lane) do(ctx context.Context, t *task) error {
	var err error
	switch {
	case t.why != "":
	case ctx.Err() != nil:
		err = ctx.Err()
	case t.fault == result.FaultKill:
		err = l.kill(ctx, t)
	case l.unavailable != nil:
		err = l.unavailable
	default:
		err = l.onPowerDisk(ctx, t)
	}
	l.ended(ctx, t, err)
	var control *controlError
	switch {
	case ctx.Err() != nil:
		t.why = "interrupted"
	case err != nil:
		t.why = err.Error()
		if errors.As(err, &control) {
			t.void = err
			return err
		}
	}
	return nil
}

// ended takes down that a task came to its end, or will go on later.
func (r *runner) ended(ctx context.Context, t *task, err error) {
	if ctx.Err() != nil { // an interrupt ends what it cuts short, and nothing of it is done
		return
	}
	r.mu.Lock()
	if err == nil && t.round > 0 && t.round < t.planned {
		r.short = append(r.short, t)
	} else {
		r.done++
	}
	for _, c := range t.cells {
		keeps, whole := claims(t.caps, t.fault, c.Rule)
		if !c.unkept && (keeps && c.keeps.failed > 0 || whole && c.whole.failed > 0) {
			c.unkept = true
			r.unkept++
		}
	}
	r.mu.Unlock()
	r.report(t)
}

// record adds one image to a cell and, unless that is a control, to the run's figures.
func (r *runner) record(c *cell, t trial, o outcome) {
	c.record(t, o)
	if c.control || o.Late {
		return
	}
	r.mu.Lock()
	r.images++
	r.mu.Unlock()
}

// report tells where the run stands.
func (r *runner) report(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Progress(Progress{Engine: t.entry.Name, Class: t.class.String(), Fault: t.fault, Round: t.round, Rounds: t.planned,
		Images: r.images, Unkept: r.unkept, Done: r.done, All: len(r.tasks), Elapsed: time.Since(r.started), Budget: r.Budget})
}
