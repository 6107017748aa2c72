package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
)

// Workers runs the jobs of several kinds, each with its own function, settings and number at once,
// and the schedules that publish jobs.
//
//	w, err := queue.NewWorkers(store, kv.Synced, &queue.WorkersOptions{Total: 16})
//	err = queue.Handle(w, mail, 4, nil, func(ctx context.Context, letter Letter) error { return send(ctx, letter) })
//	go func() { <-interrupted; w.Shutdown(deadline) }()
//	err = w.Run(ctx)
//
// A kind without a function is never claimed, so that no program takes jobs that it cannot do: see
// [Workers.Unhandled].
type Workers struct {
	store   *Store
	class   kv.Durability
	options WorkersOptions
	team    team

	mu        sync.Mutex
	crews     []crew
	schedules []schedule
	shut      bool                    // by Shutdown before Run
	stop      context.CancelFunc      // no more claims; nil before Run
	cancel    context.CancelCauseFunc // ends what runs
	ended     chan struct{}           // closed when all workers have ended
	left      chan struct{}           // closed when Shutdown does not wait any longer for those that have not
}

// WorkersOptions is how Workers work. A nil *WorkersOptions is the zero WorkersOptions.
type WorkersOptions struct {
	// Total is how many jobs run at once at most, of all kinds together; 0 is as many as the kinds
	// have. A job that waits for a place is claimed and stays so.
	Total int

	// Grace is how long Shutdown waits, when its context has ended and it has ended those of the
	// functions, for these to return; 0 is a second.
	Grace time.Duration

	// Unhandled is told by Run of each kind that has jobs and no function; nil tells nobody.
	Unhandled func(*UnhandledError)
}

// DefaultGrace is that of WorkersOptions.
const DefaultGrace = time.Second

// crew is the workers of one kind.
type crew struct {
	queue *Queue
	n     int
	do    func(context.Context, Job) error
}

type schedule struct {
	queue *Queue
	Schedule
}

// ErrShutdown is why the context of a function ends when the deadline of [Workers.Shutdown] has
// come.
var ErrShutdown = errors.New("the workers are shut down")

// UnhandledError tells of a kind that has jobs and no function. They are kept.
type UnhandledError struct {
	Kind string
	Jobs Counts
}

func (e *UnhandledError) Error() string {
	return fmt.Sprintf("kind %q has %d jobs and no function here: they are kept", e.Kind, e.Jobs.Total())
}

// NewWorkers returns workers on the queues of a store, whose calls have at least the durability d.
func NewWorkers(store *Store, d kv.Durability, opts *WorkersOptions) (*Workers, error) {
	w := &Workers{store: store, class: d, ended: make(chan struct{}), left: make(chan struct{})}
	if opts != nil {
		w.options = *opts
	}
	if w.options.Grace == 0 {
		w.options.Grace = DefaultGrace
	}
	if w.options.Total < 0 || w.options.Grace < 0 {
		return nil, invalid("open workers", fmt.Errorf("options Total %d, Grace %v", w.options.Total, w.options.Grace),
			"give a positive number, or 0 for the default")
	}
	w.team.running, w.team.taken = map[Receipt]running{}, map[Receipt]bool{}
	if n := w.options.Total; n > 0 {
		w.team.places = make(chan struct{}, n)
	}
	return w, nil
}

// handle is Handle without types.
func (w *Workers) handle(kind string, n int, settings *Settings, do func(context.Context, Job) error) error {
	q, err := w.store.Queue(kind, settings)
	if err != nil {
		return err
	}
	if n < 1 {
		return invalid("handle", fmt.Errorf("kind %s: %d jobs at once", kind, n), "give at least 1")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.stop != nil:
		return errRunning("handle")
	case slices.ContainsFunc(w.crews, func(c crew) bool { return c.queue.name == kind }):
		return invalid("handle", fmt.Errorf("kind %s has a function already", kind), "give each kind one function")
	}
	w.crews = append(w.crews, crew{q, n, do})
	return nil
}

// Schedule has w publish the jobs of a schedule to the queue of a kind, which need not have a
// function here.
func (w *Workers) Schedule(kind string, s Schedule) error {
	q, err := w.store.Queue(kind, nil)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		return errRunning("schedule")
	}
	w.schedules = append(w.schedules, schedule{q, s})
	return nil
}

func errRunning(op string) error {
	return invalid(op, errors.New("the workers were run already"), "say everything before Run")
}

// Unhandled returns an error for each kind that has jobs and no function, nil if there is none.
func (w *Workers) Unhandled(ctx context.Context) (list []*UnhandledError, err error) {
	names, err := w.store.Queues(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	crews := w.crews
	w.mu.Unlock()
	for _, name := range names {
		if slices.ContainsFunc(crews, func(c crew) bool { return c.queue.name == name }) {
			continue
		}
		q, err := w.store.Queue(name, nil)
		if err != nil {
			return nil, err
		}
		counts, err := q.Counts(ctx)
		if err != nil {
			return nil, err
		}
		if counts.Total() > 0 {
			list = append(list, &UnhandledError{name, counts})
		}
	}
	return list, nil
}

// Run works until Shutdown, and returns nil then; or until ctx ends, which ends the contexts of the
// functions, too, and is Canceled (see [Queue.Work]); or until an error of the store, which it
// returns. Where a function calls [runtime.Goexit] its job has failed, and another goroutine goes
// on. Run can be called once.
func (w *Workers) Run(ctx context.Context) error {
	claims, stop := context.WithCancel(ctx)
	defer stop()
	runs, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.mu.Lock()
	switch {
	case w.stop != nil:
		w.mu.Unlock()
		return errRunning("run")
	case len(w.crews)+len(w.schedules) == 0:
		w.mu.Unlock()
		return invalid("run", errors.New("there is neither a kind nor a schedule"), "call Handle or Schedule first")
	}
	shut := w.shut
	w.stop, w.cancel = stop, cancel
	w.mu.Unlock()
	if shut {
		close(w.ended)
		return nil
	}
	if tell := w.options.Unhandled; tell != nil {
		list, err := w.Unhandled(ctx)
		if err != nil {
			close(w.ended)
			return err
		}
		for _, e := range list {
			tell(e)
		}
	}
	failed := w.start(claims, runs)
	select {
	case err := <-failed:
		return err
	case <-w.left:
		return nil
	}
}

// start starts workers and schedules. The first error that is more than the end of claims ends them
// all; what they ended with can be received once. Of begin's functions the second is called instead
// of end where the first did not return.
func (w *Workers) start(claims, runs context.Context) <-chan error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	end := func(err error) {
		if claims.Err() != nil && errors.Is(err, kv.Canceled) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
		w.stop()
	}
	begin := func(fn func() error, exited func()) {
		wg.Go(func() {
			defer func() {
				if exited != nil {
					exited()
				}
			}()
			err := fn()
			exited = nil
			end(err)
		})
	}
	for _, c := range w.crews {
		var work func()
		work = func() {
			one := worker{queue: c.queue, class: w.class, do: c.do, team: &w.team}
			begin(func() error { return one.work(claims, runs) }, work) // another one takes its place
		}
		for range c.n {
			work()
		}
	}
	for _, s := range w.schedules {
		begin(func() error { return s.queue.RunSchedule(claims, w.class, s.Schedule) }, func() {
			end(invalid("schedule", fmt.Errorf("schedule %s: %w", s.Name, errExited), "have Draft return an error"))
		})
	}
	result := make(chan error, 1)
	go func() {
		wg.Wait()
		if first == nil && runs.Err() != nil && !errors.Is(context.Cause(runs), ErrShutdown) {
			first = canceled("run", runs)
		}
		close(w.ended)
		result <- first
	}()
	return result
}

// Shutdown ends Run: nothing more is claimed, and what runs is waited for until ctx ends. Then the
// contexts of the functions end, with [ErrShutdown] as the cause, and what they return an error of
// is given back, the attempt not counted. What has not returned after [WorkersOptions.Grace] is
// given back all the same: where its function goes on it may run beside itself. Shutdown says how
// many these were, in an error of kind Canceled. A Run that comes after it ends at once.
func (w *Workers) Shutdown(ctx context.Context) error {
	w.mu.Lock()
	stop, cancel := w.stop, w.cancel
	w.shut = true
	w.mu.Unlock()
	if stop == nil {
		return nil
	}
	stop()
	select {
	case <-w.ended:
		return nil
	case <-ctx.Done():
	}
	cancel(ErrShutdown)
	grace := time.NewTimer(w.options.Grace)
	defer grace.Stop()
	select {
	case <-w.ended:
		return nil
	case <-grace.C:
	}
	return w.abandon(context.WithoutCancel(ctx))
}

// abandon gives back what is still running, and ends Run.
func (w *Workers) abandon(ctx context.Context) error {
	var errs []error
	left := w.team.takeAll()
	for _, r := range left {
		o := Outcome{Queue: r.worker.queue.name, Job: r.job, Err: ErrShutdown}
		err := r.worker.queue.Release(ctx, w.class, r.job.Receipt)
		if err != nil && !isStale(err) {
			errs = append(errs, err)
			continue
		}
		r.worker.reportUnlessStale(&o, Released, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.left:
	default:
		close(w.left)
	}
	if len(left) > 0 {
		errs = append(errs, &kv.Error{Op: "shut down", Kind: kv.Canceled,
			Err:  fmt.Errorf("%d jobs did not end and were given back", len(left)),
			Hint: "have their functions end with their contexts"})
	}
	return errors.Join(errs...)
}
