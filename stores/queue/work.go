package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/assaydb/assay/kv"
)

// Work is a worker: until ctx ends it waits for a job, calls do with it, and acknowledges it,
// together with the claim of the next (see [Queue.Swap]). Where do returns an error, or panics, the
// error is kept with the job ([Job.Failures]), which is ready again after [Settings.Backoff], or
// dead. [Never] and [Later] make errors that say otherwise. Programs start as many as there are to
// work at once, each in a goroutine of its own, or use [Workers]. A do that calls [runtime.Goexit]
// has failed, too, and ends the goroutine that called Work.
//
// While do runs, Work extends the lease, so that a job may take as long as it takes, or as
// [Settings.Timeout] allows. The context of do ends with ctx, by the timeout, and when the job is
// no longer this worker's: it was deleted, or the program stood still for longer than a lease and
// another has it. Its cause is then a [*StaleError].
//
// When ctx ends, do is to come to an end soon. What it has done by then is acknowledged still; a
// job that it returns an error of after that is given back at once, and the attempt does not count.
// Work then returns Canceled; other errors are those of the queue.
func (q *Queue) Work(ctx context.Context, d kv.Durability, do func(context.Context, Job) error) error {
	w := worker{queue: q, class: d, do: do}
	return w.work(ctx, ctx)
}

// worker works on the jobs of a queue, one after the other.
type worker struct {
	queue *Queue
	class kv.Durability
	do    func(context.Context, Job) error
	team  *team // nil for one who works alone
}

// work claims until one context ends; what it then does goes on until another ends.
func (w *worker) work(claims, runs context.Context) error {
	var done *Outcome // its acknowledgement is committed with the next claim
	for {
		job, err := w.next(claims, done)
		if err != nil {
			return err
		}
		o := Outcome{Queue: w.queue.name, Job: job}
		if err := w.try(claims, runs, &o); err != nil {
			return err
		}
		if done = nil; o.Err == nil {
			done = &o
		}
	}
}

// errExited is what a job failed with whose function called [runtime.Goexit], as t.FailNow does.
var errExited = errors.New("the function ended its goroutine (runtime.Goexit)")

// try does the job of o, and gives it back where that fails: also where the function ends the
// goroutine, which nothing keeps from ending.
func (w *worker) try(claims, runs context.Context, o *Outcome) error {
	exited := true
	defer func() {
		if exited {
			o.Err = errExited
			_ = w.giveBack(runs, o) // if it fails, the lease ends by itself
		}
	}()
	o.Err = w.attempt(claims, runs, o)
	if exited = false; o.Err == nil {
		return nil
	}
	return w.giveBack(runs, o)
}

// next acknowledges what is done, whatever becomes of ctx, and waits for the next job.
func (w *worker) next(ctx context.Context, done *Outcome) (Job, error) {
	var looked *uint64
	if done != nil && !w.team.wasTaken(done) {
		seen := w.queue.line.arrive(false)
		jobs, err := w.queue.Swap(ctx, w.class, 1, done.Job.Receipt)
		switch {
		case isStale(err): // another does it again
			w.report(done, Lost)
		case errors.Is(err, kv.Canceled):
			aerr := w.queue.Ack(context.WithoutCancel(ctx), w.class, done.Job.Receipt)
			if aerr != nil && !isStale(aerr) {
				return Job{}, aerr
			}
			w.reportUnlessStale(done, Done, aerr)
			return Job{}, err
		case err != nil:
			return Job{}, err
		default:
			if w.report(done, Done); len(jobs) > 0 {
				return jobs[0], nil
			}
			looked = &seen
		}
	}
	jobs, err := w.queue.await(ctx, w.class, 1, looked)
	if err != nil {
		return Job{}, err
	}
	return jobs[0], nil
}

// errNotBegun is of a job that was claimed and for which there was no place before the end.
var errNotBegun = errors.New("the program ended before the job was begun")

// attempt calls do while a heartbeat keeps the job claimed, and sets the times of o.
func (w *worker) attempt(claims, runs context.Context, o *Outcome) error {
	q, job := w.queue, o.Job
	ctx, lose := context.WithCancelCause(runs)
	defer lose(nil)
	h := heartbeat{every: q.settings.Lease / 3, lose: lose}
	h.beat = func() error { return q.Extend(context.WithoutCancel(ctx), w.class, 0, job.Receipt) }
	h.start()
	defer h.stop()
	if !w.team.enter(claims, w, job) {
		return errNotBegun
	}
	defer w.team.leave(job)
	began := q.store.options.Clock()
	o.Wait = max(0, began.Sub(job.ReadyAt()))
	defer func() { o.Run = q.store.options.Clock().Sub(began) }()
	if timeout := cmp.Or(job.Timeout(), q.settings.Timeout); timeout > 0 {
		var cancel context.CancelFunc
		cause := fmt.Errorf("the job took longer than %v: %w", timeout, context.DeadlineExceeded)
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, cause)
		defer cancel()
	}
	return protect(ctx, job, w.do)
}

// PanicError is what a job failed with whose function panicked.
type PanicError struct {
	Value any    // that was given to panic
	Stack []byte // as debug.Stack returns it
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

func protect(ctx context.Context, job Job, do func(context.Context, Job) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return do(ctx, job)
}

// giveBack gives a job back that was not done, unless its lease has ended or the team gave it back.
func (w *worker) giveBack(runs context.Context, o *Outcome) error {
	if w.team.wasTaken(o) {
		return nil
	}
	q, ctx, receipt := w.queue, context.WithoutCancel(runs), o.Job.Receipt
	var panicked *PanicError
	var later laterError
	result := Retried
	var err error
	switch {
	case o.Err == errNotBegun, runs.Err() != nil && o.Err != errExited && !errors.As(o.Err, &panicked):
		result, err = Released, q.Release(ctx, w.class, receipt)
	case errors.As(o.Err, &later):
		result, err = Snoozed, q.Snooze(ctx, w.class, time.Duration(later), receipt)
	default:
		if isNever(o.Err) || q.settings.Exhausted(o.Job.MaxAttempts(), o.Job.Attempts) {
			result = Buried
		}
		delay := min(max(0, q.settings.Backoff(o.Job, o.Err)), maxDelay)
		err = q.Fail(ctx, w.class, o.Err, delay, receipt)
	}
	if err != nil && !isStale(err) {
		return err
	}
	w.reportUnlessStale(o, result, err)
	return nil
}

func (w *worker) reportUnlessStale(o *Outcome, result Result, err error) {
	if isStale(err) {
		result = Lost
	}
	w.report(o, result)
}

// report counts and tells how a job ended.
func (w *worker) report(o *Outcome, result Result) {
	o.Result = result
	w.queue.line.count(o)
	if tell := w.queue.store.options.Ended; tell != nil {
		tell(*o)
	}
}

func isStale(err error) bool {
	var stale *StaleError
	return errors.As(err, &stale)
}
