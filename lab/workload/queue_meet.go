package workload

import (
	"context"
	"errors"

	"github.com/assaydb/assay/stores/queue"
)

// produce starts the producers of meet and pipeline.
func (r *queueRunner) produce(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	room := max(1, r.task.ahead)
	for range r.workers {
		orders, done := make(chan int, room), make(chan error, room)
		r.producers, r.published = append(r.producers, orders), append(r.published, done)
		go func() {
			for i := range orders {
				done <- r.publish(ctx, 0, i)
			}
			close(done)
		}()
	}
}

// meet publishes with the worker's producer, while the worker waits for a job, of whichever
// producer, and acknowledges it.
func (r *queueRunner) meet(ctx context.Context, worker, i int) error {
	r.producers[worker] <- i
	jobs, err := r.jobs.next(ctx)
	if err == nil {
		if err = r.check(jobs[0]); err == nil {
			r.took[i], r.settled[i] = jobs, r.serial(jobs[0])
			err = r.jobs.ack(ctx, jobs[0])
		}
	}
	return errors.Join(<-r.published[worker], err)
}

// pipeline takes the next job of the producer, which is ahead, and acknowledges the one before with
// it; the last iteration of a slice acknowledges its own, too. So each iteration publishes, claims
// and acknowledges once.
func (r *queueRunner) pipeline(ctx context.Context, _, i int) error {
	n := len(r.took)
	if i == 0 {
		for first := range min(n, r.task.ahead) {
			r.producers[0] <- first
		}
	}
	var done []queue.Job
	if i > 0 {
		done = r.took[i-1]
		r.settled[i-1] = r.serial(done[0])
	}
	jobs, err := r.jobs.nextAfter(ctx, done...)
	if err == nil {
		err = r.check(jobs[0])
	}
	if err = errors.Join(<-r.published[0], err); err != nil {
		return err
	}
	if r.took[i] = jobs; i+r.task.ahead < n {
		r.producers[0] <- i + r.task.ahead
	}
	if i < n-1 {
		return nil
	}
	r.settled[i] = r.serial(jobs[0])
	return r.jobs.ack(ctx, jobs[0])
}
