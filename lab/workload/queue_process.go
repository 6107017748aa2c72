package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// processJobs is how many jobs an iteration of processQueueRunner publishes, and takes. They take
// much longer than it takes to tell the processes what to do.
const processJobs = 20

// processQueueRunner works on one queue by a producer and a consumer for each worker, which are
// processes and live as long as it does. This one has the store open, too: it loads the backlog and
// accounts for the jobs.
type processQueueRunner struct {
	*queueRunner
	publishing, consuming []*queueProcess // by worker
	acked                 [][]int         // of the slice: serials, by iteration

	mu   sync.Mutex // guards what follows
	busy int        // calls of the slice that gave up waiting for a lock, and were made again
	dead int        // consumers of the slice that were killed
}

var (
	_ Metered = (*processQueueRunner)(nil)
	_ Apart   = (*processQueueRunner)(nil)
)

// Staying tells that the processes live on.
func (r *processQueueRunner) Staying() bool { return true }

// processQueueOp completes an operation of processes. The published queue has none: nothing in it
// wakes another process.
func processQueueOp(op Op) Op {
	op.Commits, op.Forms, op.Items = true, queueForms, processJobs
	op.New = func(env Env) (Runner, error) {
		if len(env.Self) == 0 {
			return nil, &kv.Error{Op: "workload", Kind: kv.Unsupported, Err: errors.New("no helper processes here"),
				Hint: "use the operations of queue that work in one process"}
		}
		r, err := newQueueRunner(env, queueTask{}, op)
		if err != nil {
			return nil, err
		}
		return &processQueueRunner{queueRunner: r}, nil
	}
	return op
}

// Setup creates the queue, publishes the backlog, and starts the processes.
func (r *processQueueRunner) Setup(ctx context.Context) error {
	if err := r.queueRunner.Setup(ctx); err != nil {
		return err
	}
	if !r.shared() {
		return &kv.Error{Op: "workload", Engine: r.env.Engine, Kind: kv.Unsupported,
			Err:  errors.New("one process alone may have the store open"),
			Hint: "use an engine that several processes may open, as sqlite"}
	}
	for range r.workers {
		r.publishing = append(r.publishing, newQueueProcess(r.env, produces))
		r.consuming = append(r.consuming, newQueueProcess(r.env, consumes))
	}
	for _, p := range slices.Concat(r.publishing, r.consuming) {
		if err := p.start(); err != nil {
			return err
		}
	}
	return nil
}

// Prepare makes the queue as long as the parameter says, and numbers the jobs of the slice, which
// the producers draw.
func (r *processQueueRunner) Prepare(n int) error {
	if err := r.restore(context.Background(), 0); err != nil {
		return err
	}
	r.first = len(r.status)
	r.status = append(r.status, make([]jobStatus, n*processJobs)...)
	r.acked = make([][]int, n)
	r.busy, r.dead = 0, 0
	return nil
}

// Do lets the worker's producer publish, while its consumer takes as many jobs, of whichever
// producer.
func (r *processQueueRunner) Do(ctx context.Context, worker, i int) error {
	p, c := r.publishing[worker], r.consuming[worker]
	defer context.AfterFunc(ctx, func() { p.end(); c.end() })()
	if err := p.order(r.first+i*processJobs, processJobs); err != nil {
		return err
	}
	err := c.order(0, processJobs)
	if perr := r.await(p, func(int) {}); perr != nil {
		c.end() // it would wait for jobs that nobody publishes
		return errors.Join(ctx.Err(), perr)
	}
	if err == nil {
		err = r.await(c, func(serial int) { r.acked[i] = append(r.acked[i], serial) })
	}
	if err == nil || ctx.Err() != nil || !c.killed.Load() {
		return errors.Join(ctx.Err(), err)
	}
	r.mu.Lock()
	r.dead++
	r.mu.Unlock()
	return errors.Join(c.stop(), c.start())
}

// await calls each for every job that a process reports, until it has done what it was told.
func (r *processQueueRunner) await(p *queueProcess, each func(serial int)) error {
	for {
		serial, busy, err := p.report()
		if err != nil {
			return err
		}
		if serial >= 0 {
			each(serial)
			continue
		}
		r.mu.Lock()
		r.busy += busy
		r.mu.Unlock()
		return nil
	}
}

// Verify accounts for every job: each that was acknowledged had been published and was acknowledged
// once, and the queue has as many left as that leaves.
func (r *processQueueRunner) Verify(ctx context.Context) error {
	for _, serials := range r.acked {
		for _, serial := range serials {
			if serial >= len(r.status) {
				return fmt.Errorf("job %d was never published", serial)
			}
			if r.status[serial] != jobReady {
				return fmt.Errorf("job %d was acknowledged twice", serial)
			}
			r.status[serial] = jobAcked
		}
	}
	if r.dead > 0 {
		if err := r.settleDead(ctx); err != nil {
			return err
		}
	}
	return r.verifyCounts(ctx)
}

// settleDead accounts for what consumers were doing that were killed: each may have had one job,
// and may have acknowledged one that it could not report. It acknowledges the former in their
// place.
func (r *processQueueRunner) settleDead(ctx context.Context) error {
	left, err := r.jobs.list(ctx, queue.Claimed, r.dead+1)
	if err != nil {
		return err
	}
	for _, job := range left {
		if err := errors.Join(r.check(job), r.note(job, jobReady, jobClaimed)); err != nil {
			return err
		}
	}
	if err := r.ackAll(ctx, left); err != nil {
		return err
	}
	ready, err := r.jobs.list(ctx, queue.Ready, len(r.status))
	if err != nil {
		return err
	}
	there := make(map[int]bool, len(ready))
	for _, job := range ready {
		there[r.serial(job)] = true
	}
	unreported := len(left)
	for serial := r.oldest; serial < len(r.status); serial++ {
		if r.status[serial] == jobReady && !there[serial] {
			r.status[serial] = jobAcked
			unreported++
		}
	}
	if unreported > r.dead {
		return fmt.Errorf("%d jobs are missing after %d consumers were killed, each of which had one at most",
			unreported, r.dead)
	}
	return nil
}

// Metrics returns what the processes of the slice met.
func (r *processQueueRunner) Metrics() []Metric {
	if r.busy == 0 {
		return nil
	}
	return []Metric{{Name: "timeouts", Value: float64(r.busy), Sum: true}}
}

// Close ends the processes, then what queueRunner does.
func (r *processQueueRunner) Close() error {
	var errs []error
	for _, p := range slices.Concat(r.publishing, r.consuming) {
		errs = append(errs, p.stop())
	}
	r.publishing, r.consuming = nil, nil
	return errors.Join(append(errs, r.queueRunner.Close())...)
}
