package queue

import (
	"context"
	"errors"
	"time"

	"github.com/assaydb/assay/kv"
)

// Work is a worker: until ctx ends it waits for a job, calls do with it, and acknowledges it, together with the claim of
// the next (see [Queue.Swap]). Where do returns an error, the job is given back and ready again after [Settings.Retry], or
// dead. Programs start as many as there are to work at once, each in a goroutine of its own.
//
// do has the time of a lease, or calls [Queue.Extend]: a job whose lease ended before is done again, by whoever claims
// it next. When ctx ends, what do has done by then is acknowledged still, and Work returns Canceled; other errors are those
// of the queue.
func (q *Queue) Work(ctx context.Context, d kv.Durability, do func(context.Context, Job) error) error {
	var done []Receipt
	for {
		jobs, err := q.nextAfter(ctx, d, done)
		if err != nil {
			return err
		}
		done = done[:0]
		for _, job := range jobs {
			if do(ctx, job) == nil {
				done = append(done, job.Receipt)
			} else if err := q.giveBack(ctx, d, job); err != nil {
				return err
			}
		}
	}
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

// giveBack gives a job back that failed, unless its lease has ended.
func (q *Queue) giveBack(ctx context.Context, d kv.Durability, job Job) error {
	delay := min(q.settings.Retry*time.Duration(min(job.Attempts, 1000)), maxDelay)
	err := q.Nack(context.WithoutCancel(ctx), d, delay, job.Receipt)
	if isStale(err) {
		return nil
	}
	return err
}

func isStale(err error) bool {
	var stale *StaleError
	return errors.As(err, &stale)
}
