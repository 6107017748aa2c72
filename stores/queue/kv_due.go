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

// makeReady makes ready the jobs whose delay or lease has ended, at most MostDue and those of
// slots, unless they are dead or too old.
func (q *kvQueue) makeReady(b *kvBackend, op *Op) error {
	if op.Now < q.due {
		return nil
	}
	if err := q.findDue(b, op.Now); err != nil {
		return err
	}
	for _, c := range b.due {
		if c.kind == timerDelay {
			q.counts.Delayed--
			if err := q.endTimer(b, c.until, c.id, timerDelay); err != nil {
				return err
			}
		} else if err := q.endClaim(b, c); err != nil {
			return err
		}
		if err := q.comeBack(b, op, c); err != nil {
			return err
		}
	}
	return nil
}

// findDue sets b.due to the delays and leases that have ended, and moves q.due and q.low.
func (q *kvQueue) findDue(b *kvBackend, now int64) error {
	b.due = b.due[:0]
	r := kv.Prefix(q.timer)
	r.Start = append([]byte(nil), q.timerAt(q.low, 0)...)
	q.due, q.low = math.MaxInt64, now+1
	for key, value := range b.tx.Scan(r) {
		p, err := q.parseTimerKey(key)
		if err != nil {
			return err
		}
		if p.at > now || len(b.due) == MostDue {
			q.due, q.low = p.at, min(q.low, p.at)
			break
		}
		t, err := parseTimer(key, value)
		if err != nil {
			return err
		}
		b.due = append(b.due, t.claimed(p.at, p.id))
	}
	first := q.due // a lease that ends after what is left has its turn after it
	for _, c := range q.slots {
		if c.until <= now && c.until <= first {
			b.due = append(b.due, c)
		} else {
			q.due = min(q.due, c.until)
		}
	}
	return b.tx.Err()
}

// comeBack makes a job ready whose delay or lease has ended, unless it is dead or too old. With a
// retention its age must be looked up.
func (q *kvQueue) comeBack(b *kvBackend, op *Op, c claimed) error {
	if c.kind != timerDelay {
		if err := q.addFailure(b, op, c, LeaseEnded); err != nil {
			return err
		}
		dead, err := q.exhausted(b, op, c)
		if err != nil {
			return err
		}
		if dead {
			return q.bury(b, op.Now, c.place, c.tried)
		}
	}
	if op.Settings.Retention > 0 {
		job, err := readJob(b.tx.Snapshot, &q.keys, c.place)
		if err != nil {
			return err
		}
		if op.Settings.TooOld(job.CreatedAt.UnixMilli(), op.Now) {
			return q.outdate(b, op, c.place, c.tried)
		}
	}
	return q.giveOut(b, op.Now, c.until, c.place, c.tried)
}
