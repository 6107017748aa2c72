package workload

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// queueRunner runs one operation on one queue. Jobs have serial numbers, in the order of their
// publishing, in their payloads.
type queueRunner struct {
	queueStore
	env     Env
	task    queueTask
	workers int
	backlog int
	values  values

	jobs   jobQueue
	status []jobStatus // by serial
	oldest int         // the first serial that may not be acknowledged

	// The slice.
	first    int // serial of the job that iteration 0 publishes
	payloads [][]byte
	memory   []byte
	claims   []queue.Job // that iterations settle
	took     [][]queue.Job
	settled  []int // serial that an iteration acknowledged or gave back; -1 is none

	producers []chan int // each publishes for one worker
	published []chan error
}

// jobStatus is where a job is, as the runner knows.
type jobStatus uint8

const (
	jobReady jobStatus = iota
	jobClaimed
	jobAcked
)

// doJob is one iteration.
type doJob func(r *queueRunner, ctx context.Context, worker, i int) error

var (
	_ Runner = (*queueRunner)(nil)
	_ Weaker = (*queueRunner)(nil)
)

func newQueueRunner(env Env, task queueTask, op Op) (*queueRunner, error) {
	p := env.params(queueParams)
	backlog := p.count("backlog", 0, 1e6)
	payload := p.count("payload", minValue, 1<<20)
	if p.err != nil {
		return nil, p.err
	}
	store, err := newQueueStore(env, op)
	if err != nil {
		return nil, err
	}
	return &queueRunner{
		queueStore: store,
		env:        env,
		task:       task,
		workers:    max(1, op.Workers),
		backlog:    backlog,
		values:     values{seed: env.Seed, size: payload},
	}, nil
}

// queueSettings are those of the queue: a lease that no run outlasts, and no job that dies.
var queueSettings = queue.Settings{Lease: 24 * time.Hour, MaxAttempts: queue.NoLimit}

// Setup creates the queue and publishes the backlog.
func (r *queueRunner) Setup(ctx context.Context) (err error) {
	r.jobs, err = r.create(ctx, func(jobs jobQueue) error {
		r.jobs = jobs
		return r.load(ctx, r.backlog)
	})
	if err == nil && r.task.meets {
		r.produce(ctx)
	}
	return err
}

// load publishes n more jobs.
func (r *queueRunner) load(ctx context.Context, n int) error {
	for n > 0 {
		part := min(n, loadBatch)
		r.drawPayloads(part)
		if err := r.jobs.publish(ctx, r.payloads...); err != nil {
			return err
		}
		n -= part
	}
	return nil
}

// drawPayloads makes the payloads of the next n jobs.
func (r *queueRunner) drawPayloads(n int) {
	r.first = len(r.status)
	r.status = append(r.status, make([]jobStatus, n)...)
	r.memory = slices.Grow(r.memory[:0], n*r.values.size)
	r.payloads = r.payloads[:0]
	for i := range n {
		start := len(r.memory)
		r.memory = r.values.append(r.memory, uint64(r.first+i), 0)
		r.payloads = append(r.payloads, r.memory[start:len(r.memory):len(r.memory)])
	}
}

// Prepare makes the queue as long as the parameter says, and puts in place what the iterations
// claim or settle.
func (r *queueRunner) Prepare(n int) error {
	ctx := context.Background()
	if err := r.restore(ctx, n*r.task.ready); err != nil {
		return err
	}
	if r.task.claimed {
		if err := r.prepareClaims(ctx, n); err != nil {
			return err
		}
	}
	r.took = slices.Grow(r.took[:0], n)[:n]
	clear(r.took)
	r.settled = slices.Grow(r.settled[:0], n)[:n]
	for i := range r.settled {
		r.settled[i] = -1
	}
	if r.task.publishes {
		r.drawPayloads(n)
	}
	return nil
}

// restore acknowledges what the last slice claimed and left, then brings the ready jobs to the
// backlog and more.
func (r *queueRunner) restore(ctx context.Context, more int) error {
	var left []queue.Job
	for _, jobs := range r.took {
		for _, job := range jobs {
			if r.status[r.serial(job)] == jobClaimed {
				left = append(left, job)
			}
		}
	}
	r.took = r.took[:0]
	if err := r.ackAll(ctx, left); err != nil {
		return err
	}
	ready := 0
	for _, s := range r.status[r.oldest:] {
		if s == jobReady {
			ready++
		}
	}
	for surplus := ready - r.backlog - more; surplus > 0; {
		jobs, err := r.claimChecked(ctx, min(surplus, loadBatch))
		if err != nil {
			return err
		}
		if err := r.ackAll(ctx, jobs); err != nil {
			return err
		}
		surplus -= len(jobs)
	}
	return r.load(ctx, r.backlog+more-ready)
}

// prepareClaims publishes n jobs and claims as many.
func (r *queueRunner) prepareClaims(ctx context.Context, n int) error {
	if err := r.load(ctx, n); err != nil {
		return err
	}
	r.claims = r.claims[:0]
	for len(r.claims) < n {
		jobs, err := r.claimChecked(ctx, min(n-len(r.claims), loadBatch))
		if err != nil {
			return err
		}
		r.claims = append(r.claims, jobs...)
	}
	return nil
}

// claimChecked claims n jobs outside of iterations, which must be there.
func (r *queueRunner) claimChecked(ctx context.Context, n int) ([]queue.Job, error) {
	jobs, err := r.jobs.claim(ctx, n)
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, errors.New("claim: the queue is empty too early")
	}
	for _, job := range jobs {
		if err := r.check(job); err != nil {
			return nil, err
		}
		if err := r.note(job, jobReady, jobClaimed); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// ackAll acknowledges claimed jobs outside of iterations.
func (r *queueRunner) ackAll(ctx context.Context, jobs []queue.Job) error {
	for part := range slices.Chunk(jobs, loadBatch) {
		if err := r.jobs.ack(ctx, part...); err != nil {
			return err
		}
		for _, job := range part {
			if err := r.note(job, jobClaimed, jobAcked); err != nil {
				return err
			}
		}
	}
	return nil
}

// serial returns the number of a job.
func (r *queueRunner) serial(job queue.Job) int { return int(binary.LittleEndian.Uint64(job.Payload)) }

// check compares a job with what was published.
func (r *queueRunner) check(job queue.Job) error {
	if len(job.Payload) < 8 || uint64(len(r.status)) <= binary.LittleEndian.Uint64(job.Payload) {
		return fmt.Errorf("job %d: a payload of %d bytes that was not published", job.ID, len(job.Payload))
	}
	return r.values.check(job.Payload, binary.LittleEndian.Uint64(job.Payload), 0)
}

// note moves a job from one status to another.
func (r *queueRunner) note(job queue.Job, from, to jobStatus) error {
	serial := r.serial(job)
	if r.status[serial] != from {
		return fmt.Errorf("job %d is %s, though it was %s", serial, to, r.status[serial])
	}
	r.status[serial] = to
	return nil
}

func (s jobStatus) String() string {
	return [...]string{"ready", "claimed", "acknowledged"}[s]
}

// Do does one iteration.
func (r *queueRunner) Do(ctx context.Context, worker, i int) error {
	return r.task.do(r, ctx, worker, i)
}

// Commit is that of Weaker. The queue as published commits by one class alone.
func (r *queueRunner) Commit(d kv.Durability) (before kv.Durability) {
	q, ok := r.jobs.(*storeQueue)
	if !ok {
		return r.env.Durability
	}
	before, q.class = q.class, d
	return before
}

func (r *queueRunner) publish(ctx context.Context, _, i int) error {
	return r.jobs.publish(ctx, r.payloads[i])
}

func (r *queueRunner) claim(ctx context.Context, _, i int) error { return r.take(ctx, i, 1) }

func (r *queueRunner) claimBatch(ctx context.Context, _, i int) error {
	return r.take(ctx, i, r.task.ready)
}

// take claims n jobs, which must be there.
func (r *queueRunner) take(ctx context.Context, i, n int) error {
	jobs, err := r.jobs.claim(ctx, n)
	if err != nil {
		return err
	}
	if len(jobs) != n {
		return fmt.Errorf("claim: %d jobs, want %d", len(jobs), n)
	}
	for _, job := range jobs {
		if err := r.check(job); err != nil {
			return err
		}
	}
	r.took[i] = jobs
	return nil
}

func (r *queueRunner) ack(ctx context.Context, _, i int) error {
	r.settled[i] = r.serial(r.claims[i])
	return r.jobs.ack(ctx, r.claims[i])
}

func (r *queueRunner) nack(ctx context.Context, _, i int) error {
	r.settled[i] = r.serial(r.claims[i])
	return r.jobs.nack(ctx, r.claims[i])
}

func (r *queueRunner) cycle(ctx context.Context, worker, i int) error {
	if err := r.publish(ctx, worker, i); err != nil {
		return err
	}
	if err := r.claim(ctx, worker, i); err != nil {
		return err
	}
	r.settled[i] = r.serial(r.took[i][0])
	return r.jobs.ack(ctx, r.took[i][0])
}

// Verify accounts for every job: what the slice claimed was ready, in order if there was one
// worker, what it acknowledged was claimed, and the queue has as many left as that leaves.
func (r *queueRunner) Verify(ctx context.Context) error {
	last := -1
	for _, jobs := range r.took {
		for _, job := range jobs {
			if err := r.note(job, jobReady, jobClaimed); err != nil {
				return err
			}
			if serial := r.serial(job); r.workers == 1 && serial < last {
				return fmt.Errorf("job %d was given out after job %d", serial, last)
			} else {
				last = serial
			}
		}
	}
	if err := r.verifyOrder(); err != nil {
		return err
	}
	for i, serial := range r.settled {
		if serial < 0 {
			if r.task.claimed {
				return fmt.Errorf("iteration %d was not done", i)
			}
			continue
		}
		if r.status[serial] != jobClaimed {
			return fmt.Errorf("job %d was acknowledged though it was %v", serial, r.status[serial])
		}
		if r.status[serial] = jobAcked; r.task.returns {
			r.status[serial] = jobReady
		}
	}
	return r.verifyCounts(ctx)
}

// verifyOrder returns an error if a job was claimed though one that comes before it was ready all
// the time: as where that was lost, and is still counted. Several producers publish in no order,
// but all after what was there before the slice.
func (r *queueRunner) verifyOrder() error {
	waits := slices.Index(r.status[r.oldest:], jobReady) + r.oldest
	if waits < r.oldest || r.task.returns || r.workers > 1 && waits >= r.first {
		return nil
	}
	for _, jobs := range r.took {
		for _, job := range jobs {
			if serial := r.serial(job); serial > waits && (r.workers == 1 || serial >= r.first) {
				return fmt.Errorf("job %d was given out before job %d", serial, waits)
			}
		}
	}
	return nil
}

func (r *queueRunner) verifyCounts(ctx context.Context) error {
	for r.oldest < len(r.status) && r.status[r.oldest] == jobAcked {
		r.oldest++
	}
	var want queue.Counts
	for _, s := range r.status[r.oldest:] {
		switch s {
		case jobReady:
			want.Ready++
		case jobClaimed:
			want.Claimed++
		}
	}
	got, err := r.jobs.counts(ctx)
	if err == nil && got != want {
		err = fmt.Errorf("after the slice: %+v, want %+v", got, want)
	}
	return err
}

// Close closes the queue and what keeps it.
func (r *queueRunner) Close() error {
	for i, orders := range r.producers {
		close(orders)
		for range r.published[i] {
		}
	}
	r.producers, r.published = nil, nil
	var err error
	if r.jobs != nil {
		err = r.jobs.close()
	}
	return errors.Join(err, r.queueStore.Close())
}
