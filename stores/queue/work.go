package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
)

// Work is a worker: until ctx ends it waits for a job, calls do with it, and acknowledges it, together with the claim of
// the next (see [Queue.Swap]). Where do returns an error, or panics, the job is given back and ready again after
// [Settings.Retry], or dead. Programs start as many as there are to work at once, each in a goroutine of its own.
//
// While do runs, Work extends the lease, so that a job may take as long as it takes. The context of do ends with ctx, and
// when the job is no longer this worker's: it was purged, or the program stood still for longer than a lease and another
// has it. Its cause is then a [*StaleError].
//
// When ctx ends, do is to come to an end soon. What it has done by then is acknowledged still; a job that it returns an
// error of after that is given back at once, and the attempt does not count. Work then returns Canceled; other errors are
// those of the queue.
func (q *Queue) Work(ctx context.Context, d kv.Durability, do func(context.Context, Job) error) error {
	var done []Receipt
	for {
		jobs, err := q.nextAfter(ctx, d, done)
		if err != nil {
			return err
		}
		done = done[:0]
		for _, job := range jobs {
			if err := q.run(ctx, d, job, do); err == nil {
				done = append(done, job.Receipt)
			} else if err := q.giveBack(ctx, d, job, err); err != nil {
				return err
			}
		}
	}
}

// run calls do while a heartbeat keeps the job claimed.
func (q *Queue) run(ctx context.Context, d kv.Durability, job Job, do func(context.Context, Job) error) error {
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	h := heartbeat{every: q.settings.Lease / 3, lose: lose}
	h.beat = func() error { return q.Extend(context.WithoutCancel(ctx), d, 0, job.Receipt) }
	h.start()
	defer h.stop()
	return protect(ctx, job, do)
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

// heartbeat calls beat again and again, until it is stopped or the claim is lost.
type heartbeat struct {
	every time.Duration
	beat  func() error
	lose  context.CancelCauseFunc

	mu      sync.Mutex // held during a beat
	timer   *time.Timer
	stopped bool
}

func (h *heartbeat) start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(h.every, h.ring)
}

func (h *heartbeat) ring() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	if err := h.beat(); isStale(err) {
		h.lose(err)
		return
	}
	h.timer.Reset(h.every) // after another error, too: the lease lasts for two more beats
}

// stop waits for a beat that is running: nothing must follow that makes its receipt stale.
func (h *heartbeat) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.timer.Stop()
}

// nextAfter acknowledges done, whatever becomes of ctx, and waits for the next job.
func (q *Queue) nextAfter(ctx context.Context, d kv.Durability, done []Receipt) ([]Job, error) {
	if len(done) > 0 {
		jobs, err := q.Swap(ctx, d, 1, done...)
		switch {
		case isStale(err): // another does it again
		case errors.Is(err, kv.Canceled):
			if aerr := q.Ack(context.WithoutCancel(ctx), d, done...); aerr != nil && !isStale(aerr) {
				return nil, aerr
			}
			return nil, err
		case err != nil || len(jobs) > 0:
			return jobs, err
		}
	}
	return q.Next(ctx, d, 1)
}

// giveBack gives a job back that failed with cause, unless its lease has ended.
func (q *Queue) giveBack(ctx context.Context, d kv.Durability, job Job, cause error) error {
	if report := q.store.options.Failed; report != nil {
		report(q.name, job, cause)
	}
	var panicked *PanicError
	err := ctx.Err()
	if ctx = context.WithoutCancel(ctx); err != nil && !errors.As(cause, &panicked) {
		err = q.Release(ctx, d, job.Receipt)
	} else {
		delay := min(q.settings.Retry*time.Duration(min(job.Attempts, 1000)), maxDelay)
		err = q.Nack(ctx, d, delay, job.Receipt)
	}
	if isStale(err) {
		return nil
	}
	return err
}

func isStale(err error) bool {
	var stale *StaleError
	return errors.As(err, &stale)
}
