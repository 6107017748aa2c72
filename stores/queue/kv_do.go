package queue

import (
	"slices"
)

// publish does a Publish. An id is the time in microseconds, or one more than the last: so ids grow, and after a crash
// that lost jobs theirs are not used again unless the clock was set back.
func (q *kvQueue) publish(b *kvBackend, op *Op) error {
	for i := range op.Drafts {
		draft := &op.Drafts[i]
		id := NextID(q.last, op.Now)
		q.last = id
		op.IDs = append(op.IDs, id)
		job := body{created: op.Now, priority: keyPriority(draft.Priority), payload: draft.Payload}
		if len(draft.Payload) > mostInline {
			job.large = true
			if err := b.put(q, q.with(q.job, id), draft.Payload); err != nil {
				return err
			}
		}
		if err := q.giveOut(b, op.Now, op.Now+draft.Delay.Milliseconds(), id, job); err != nil {
			return err
		}
	}
	return nil
}

// NextID returns the id of the next job of a queue. It is for backends.
func NextID(last uint64, now int64) uint64 { return max(last+1, uint64(now)*1000) }

// giveOut makes a job ready, or delayed until a time. The payload of a large one, which is stored already, may be there to
// be kept in memory.
func (q *kvQueue) giveOut(b *kvBackend, now, at int64, id uint64, job body) error {
	e := entry{place: place{job.priority, at, id}}
	if job.large {
		e.payload, job.payload = job.payload, nil
	}
	if at > now {
		q.counts.Delayed++
		return q.setTimer(b, at, id, timer{kind: timerDelay, body: job})
	}
	q.counts.Ready++
	b.value = job.append(b.value[:0])
	e.value = b.value
	q.head.add(e)
	return b.put(q, q.readyAt(e.place), b.value)
}

// bury makes a job dead that is in no other state.
func (q *kvQueue) bury(b *kvBackend, now int64, id uint64, job body) error {
	q.counts.Dead++
	b.value = job.append(put64(b.value[:0], uint64(now)))
	return b.put(q, q.with(q.dead, id), b.value)
}

// outdate does what the settings say to a job that is too old and in no other state.
func (q *kvQueue) outdate(b *kvBackend, op *Op, id uint64, job body) error {
	op.Done++
	if op.Settings.Outdated == Drop {
		return q.forget(b, id, job.large)
	}
	return q.bury(b, op.Now, id, job)
}

// forget deletes what is left of a job that is in no state.
func (q *kvQueue) forget(b *kvBackend, id uint64, large bool) error {
	if !large {
		return nil
	}
	return b.del(q, q.with(q.job, id))
}

// claimJobs does a Claim. It stops early at many jobs that are too old.
func (q *kvQueue) claimJobs(b *kvBackend, op *Op) error {
	if len(op.Receipts) > 0 {
		if err := q.withClaims(b, op, q.ack); err != nil || op.Err != nil {
			return err
		}
	}
	if err := q.makeReady(b, op); err != nil {
		return err
	}
	for old := 0; len(op.Jobs) < op.Limit && old < MostDue; {
		e, ok, err := q.head.peek(b, q)
		if err != nil || !ok {
			return err
		}
		job, err := q.readEntry(b, &e)
		if err != nil {
			return err
		}
		q.head.pop()
		q.counts.Ready--
		if op.Settings.TooOld(job.created, op.Now) {
			old++
			if err := b.del(q, q.readyAt(e.place)); err != nil {
				return err
			}
			if err := q.outdate(b, op, e.id, job); err != nil {
				return err
			}
			continue
		}
		if op.Jobs == nil {
			op.Jobs = make([]Job, 0, min(op.Limit, q.counts.Ready+1))
		}
		if err := q.take(b, op, e, job); err != nil {
			return err
		}
	}
	return nil
}

// take claims a ready job and adds it to op.Jobs.
func (q *kvQueue) take(b *kvBackend, op *Op, e entry, job body) error {
	c, err := q.addClaim(b, op.Until, e, job)
	if err != nil {
		return err
	}
	payload := e.payload
	if !job.large {
		payload = job.payload
		if c.value != nil { // it is kept
			payload = slices.Clone(payload)
		}
	}
	op.Jobs = append(op.Jobs, newJob(e.id, job, payload, Job{State: Claimed, Attempts: c.attempts, VisibleAt: Millis(op.Until),
		Receipt: Receipt{ID: e.id, Until: op.Until, Token: c.token}}))
	return nil
}

// newJob completes a job with what is stored of it. The payload becomes the job's.
func newJob(id uint64, stored body, payload []byte, job Job) Job {
	job.ID, job.CreatedAt, job.Priority = id, Millis(stored.created), jobPriority(stored.priority)
	if len(payload) > 0 {
		job.Payload = payload
	}
	return job
}

// ack ends a claim and deletes its job.
func (q *kvQueue) ack(b *kvBackend, _ *Op, c claimed) error {
	if err := q.endClaim(b, c); err != nil {
		return err
	}
	return q.forget(b, c.id, c.large)
}

func (q *kvQueue) nack(b *kvBackend, op *Op, c claimed) error {
	job, err := q.bodyOf(b, c)
	if err != nil {
		return err
	}
	if err := q.endClaim(b, c); err != nil {
		return err
	}
	if op.Settings.Exhausted(c.attempts) {
		return q.bury(b, op.Now, c.id, job)
	}
	return q.giveOut(b, op.Now, op.Until, c.id, job)
}

// requeue does a Requeue.
func (q *kvQueue) requeue(b *kvBackend, op *Op) error {
	for _, id := range op.IDs {
		ok, err := b.tx.Has(q.with(q.dead, id))
		if err != nil {
			return err
		}
		if !ok {
			op.Err = NotDead(op.Queue, id)
			return nil
		}
	}
	for _, id := range op.IDs {
		key := q.with(q.dead, id)
		v, err := b.tx.Get(key)
		if err != nil {
			return err
		}
		_, job, err := parseDead(key, v)
		if err != nil {
			return err
		}
		q.counts.Dead--
		if err := b.del(q, key); err != nil {
			return err
		}
		job.attempts = 0
		if err := q.giveOut(b, op.Now, op.Now, id, job); err != nil {
			return err
		}
	}
	return nil
}
