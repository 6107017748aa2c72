package queue

import (
	"math"

	"github.com/assaydb/assay/kv"
)

// setTimer writes a timer.
func (q *kvQueue) setTimer(b *kvBackend, at int64, id uint64, t timer) error {
	q.due, q.low = min(q.due, at), min(q.low, at)
	b.value = t.append(b.value[:0])
	return b.put(q, q.timerAt(at, id), b.value)
}

// endTimer deletes a timer.
func (q *kvQueue) endTimer(b *kvBackend, at int64, id uint64, kind byte) error {
	if kind == timerExtended {
		if err := b.del(q, q.with(q.extended, id)); err != nil {
			return err
		}
	}
	return b.del(q, q.timerAt(at, id))
}

// makeReady makes ready the jobs whose delay or lease has ended, at most MostDue and those of slots, unless they are dead or
// too old.
func (q *kvQueue) makeReady(b *kvBackend, op *Op) error {
	if op.Now < q.due {
		return nil
	}
	if err := q.findDue(b, op.Now); err != nil {
		return err
	}
	for _, f := range b.list {
		if f.claim.kind == timerDelay {
			q.counts.Delayed--
			if err := q.endTimer(b, f.at, f.id, timerDelay); err != nil {
				return err
			}
		} else if err := q.endLease(b, &f); err != nil {
			return err
		}
		if err := q.comeBack(b, op, f); err != nil {
			return err
		}
	}
	clear(b.list)
	return nil
}

// endLease ends a claim whose lease has ended.
func (q *kvQueue) endLease(b *kvBackend, f *found) (err error) {
	if f.claim.kind == inSlot {
		if f.job, err = q.bodyOf(b, f.claim); err != nil {
			return err
		}
	}
	return q.endClaim(b, f.claim)
}

// findDue sets b.list to the delays and leases that have ended, and moves q.due and q.low.
func (q *kvQueue) findDue(b *kvBackend, now int64) error {
	b.list = b.list[:0]
	r := kv.Prefix(q.timer)
	r.Start = append([]byte(nil), q.timerAt(q.low, 0)...)
	q.due, q.low = math.MaxInt64, now+1
	for key, value := range b.tx.Scan(r) {
		p, err := q.parseTimerKey(key)
		if err != nil {
			return err
		}
		if p.at > now || len(b.list) == MostDue {
			q.due, q.low = p.at, min(q.low, p.at)
			break
		}
		f, err := parseFound(&q.keys, Claimed, key, value)
		if err != nil {
			return err
		}
		b.list = append(b.list, f.keep())
	}
	first := q.due // a lease that ends after what is left has its turn after it
	for _, c := range q.slots {
		if c.until <= now && c.until <= first {
			b.list = append(b.list, foundSlot(c))
		} else {
			q.due = min(q.due, c.until)
		}
	}
	return b.tx.Err()
}

// comeBack makes a job ready whose delay or lease has ended, unless it is dead or too old.
func (q *kvQueue) comeBack(b *kvBackend, op *Op, f found) error {
	if f.claim.kind != timerDelay && op.Settings.Exhausted(f.job.attempts) {
		return q.bury(b, op.Now, f.id, f.job)
	}
	if op.Settings.TooOld(f.job.created, op.Now) {
		return q.outdate(b, op, f.id, f.job)
	}
	return q.giveOut(b, op.Now, f.at, f.id, f.job)
}
