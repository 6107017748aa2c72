package queue

import (
	"time"

	"github.com/assaydb/assay/kv"
)

// publish does a Publish. An id is the time in microseconds, or one more than the last: so ids
// grow, and after a crash that lost jobs theirs are not used again unless the clock was set back.
func (q *kvQueue) publish(b *kvBackend, op *Op) error {
	for i := range op.Drafts {
		draft := &op.Drafts[i]
		if draft.Key != "" {
			if held, err := q.isHeld(b, op.Now, draft.Key, 0); err != nil {
				return err
			} else if held {
				q.changed = true // a commit of something makes the other job as durable as this one is to be
				op.IDs = append(op.IDs, 0)
				continue
			}
		}
		id := NextID(q.last, op.Now)
		q.last = id
		op.IDs = append(op.IDs, id)
		p := place{keyPriority(draft.Priority), op.Now, id}
		fresh := draft.Delay < time.Millisecond && q.isFresh(p)
		e := entry{place: p, home: op.Now, fresh: fresh}
		if !fresh {
			e.home = 0
		}
		special := draft.Special(op.Now)
		e.special = special != nil
		if draft.Key != "" {
			if err := q.holdKey(b, op.Now, draft.Key, id, op.Now+draft.KeyFor.Milliseconds()); err != nil {
				return err
			}
		}
		b.value = append(appendJob(b.value[:0], op.Now, special), draft.Payload...)
		if err := b.put(q, q.at(q.job, e.homePlace()), b.value); err != nil {
			return err
		}
		e.value = b.value
		if fresh {
			q.counts.Ready++
			q.head.add(e)
			continue
		}
		if err := q.giveOut(b, op.Now, op.Now+draft.Delay.Milliseconds(), e.homePlace(), e.tried); err != nil {
			return err
		}
	}
	return nil
}

// NextID returns the id of the next job of a queue. It is for backends.
func NextID(last uint64, now int64) uint64 { return max(last+1, uint64(now)*1000) }

// giveOut makes a job ready that is in no state, or delayed until a time.
func (q *kvQueue) giveOut(b *kvBackend, now, at int64, home place, t tried) error {
	if at > now {
		q.counts.Delayed++
		return q.setTimer(b, at, home.id, timer{kind: timerDelay, tried: t, priority: home.priority, at: home.at})
	}
	q.counts.Ready++
	q.readies++
	e := entry{place: place{home.priority, at, home.id}, home: home.at, tried: t}
	q.head.add(e)
	b.value = put64(t.append(b.value[:0]), uint64(home.at))
	return b.put(q, q.at(q.ready, e.place), b.value)
}

// takeOut makes a ready job be in no state. Of fresh ones it must be the first of their priority.
func (q *kvQueue) takeOut(b *kvBackend, e entry) error {
	q.counts.Ready--
	if e.fresh {
		q.setMark(e.place)
		q.changed = true
		return nil
	}
	q.readies--
	return b.del(q, q.at(q.ready, e.place))
}

// bury makes a job dead that is in no state.
func (q *kvQueue) bury(b *kvBackend, now int64, home place, t tried) error {
	q.counts.Dead++
	b.value = append(t.append(put64(b.value[:0], uint64(now))), home.priority)
	b.value = put64(b.value, uint64(home.at))
	return b.put(q, q.with(q.dead, home.id), b.value)
}

// outdate does what the settings say to a job that is too old and in no state.
func (q *kvQueue) outdate(b *kvBackend, op *Op, home place, t tried) error {
	op.Done++
	if op.Settings.Outdated == Drop {
		return q.forget(b, op.Now, home, t)
	}
	return q.bury(b, op.Now, home, t)
}

// forget deletes a job that is in no state, which was tried so often before, and what else is kept
// of it.
func (q *kvQueue) forget(b *kvBackend, now int64, home place, t tried) error {
	if t.attempts > 0 {
		if err := b.del(q, q.with(q.failure, home.id)); err != nil {
			return err
		}
	}
	if t.special {
		if err := q.freeKey(b, now, home); err != nil {
			return err
		}
	}
	return b.del(q, q.at(q.job, home))
}

// readJob returns a job without its state.
func readJob(s *kv.Snapshot, k *keys, home place) (Job, error) {
	v, err := s.Get(k.at(k.job, home))
	if err != nil {
		return Job{}, missing(err, home.id)
	}
	return parseJob(home, v)
}

// claimJobs does a Claim. It stops early at many jobs that are too old.
func (q *kvQueue) claimJobs(b *kvBackend, op *Op) error {
	if len(op.Receipts) > 0 {
		if err := q.withClaims(b, op, (*kvQueue).ack); err != nil || op.Err != nil {
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
		job, err := q.readEntry(b, e)
		if err != nil {
			return err
		}
		q.head.pop()
		if err := q.takeOut(b, e); err != nil {
			return err
		}
		if op.Settings.TooOld(job.CreatedAt.UnixMilli(), op.Now) {
			old++
			if err := q.outdate(b, op, e.homePlace(), e.tried); err != nil {
				return err
			}
			continue
		}
		c, err := q.addClaim(b, op.Until, e)
		if err != nil {
			return err
		}
		job.State, job.Attempts, job.VisibleAt, job.readyAt = Claimed, c.attempts, Millis(op.Until), e.at
		job.Receipt = Receipt{ID: e.id, Until: op.Until, Token: c.token}
		if op.Jobs == nil {
			op.Jobs = make([]Job, 0, max(1, min(op.Limit, q.counts.Ready+1))) // whatever a damaged counter says
		}
		op.Jobs = append(op.Jobs, job)
	}
	return nil
}

// readEntry returns the job of an entry of the head, without its state.
func (q *kvQueue) readEntry(b *kvBackend, e entry) (Job, error) {
	if e.value == nil {
		return readJob(b.tx.Snapshot, &q.keys, e.homePlace())
	}
	return parseJob(e.homePlace(), e.value)
}

// ack deletes a claimed job.
func (q *kvQueue) ack(b *kvBackend, op *Op, c claimed) error {
	if err := q.endClaim(b, c); err != nil {
		return err
	}
	return q.forget(b, op.Now, c.place, c.before())
}

func (q *kvQueue) nack(b *kvBackend, op *Op, c claimed) error {
	if err := q.endClaim(b, c); err != nil {
		return err
	}
	if op.Cause != "" {
		if err := q.addFailure(b, op, c, op.Cause); err != nil {
			return err
		}
	}
	dead, err := q.exhausted(b, op, c)
	if err != nil {
		return err
	}
	if dead || op.Bury {
		return q.bury(b, op.Now, c.place, c.tried)
	}
	return q.giveOut(b, op.Now, op.Until, c.place, c.tried)
}

func (q *kvQueue) release(b *kvBackend, op *Op, c claimed) error {
	if err := q.endClaim(b, c); err != nil {
		return err
	}
	return q.giveOut(b, op.Now, op.Until, c.place, c.before())
}
