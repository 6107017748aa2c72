package queue

import (
	"math"

	"github.com/assaydb/assay/kv"
)

// found is a timer or a job that a scan found, to be changed after it.
type found struct {
	place
	timer // of a job that is ready or dead, the attempts alone
}

// setTimer writes a timer.
func (q *kvQueue) setTimer(b *kvBackend, at int64, id uint64, t timer) error {
	q.due, q.low = min(q.due, at), min(q.low, at)
	if t.kind != timerDelay && len(q.claims) < mostClaims {
		q.claims[id] = claimed{timer: t, id: id, until: at}
	}
	b.value = t.append(b.value[:0])
	return b.put(q, q.timerAt(at, id), b.value)
}

// endTimer deletes a timer.
func (q *kvQueue) endTimer(b *kvBackend, at int64, id uint64, kind byte) error {
	delete(q.claims, id)
	if kind == timerExtended {
		if err := b.del(q, q.with(q.extended, id)); err != nil {
			return err
		}
	}
	return b.del(q, q.timerAt(at, id))
}

// makeReady makes ready the jobs whose delay or lease has ended, at most MostDue, unless they are dead or too old.
func (q *kvQueue) makeReady(b *kvBackend, op *Op) error {
	if op.Now < q.due {
		return nil
	}
	if err := q.findDue(b, op.Now); err != nil {
		return err
	}
	for _, f := range b.list {
		if err := q.endTimer(b, f.at, f.id, f.kind); err != nil {
			return err
		}
		if f.kind == timerDelay {
			q.counts.Delayed--
		} else {
			q.counts.Claimed--
		}
		if err := q.comeBack(b, op, f); err != nil {
			return err
		}
	}
	return nil
}

// findDue sets b.list to the timers that have ended, and moves q.due and q.low.
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
		t, err := parseTimer(key, value)
		if err != nil {
			return err
		}
		b.list = append(b.list, found{p, t})
	}
	return b.tx.Err()
}

// comeBack makes a job ready whose timer has ended, unless it is dead or too old.
func (q *kvQueue) comeBack(b *kvBackend, op *Op, f found) error {
	if f.kind != timerDelay && op.Settings.Exhausted(f.attempts) {
		return q.bury(b, op.Now, f.id, f.attempts)
	}
	job, err := q.read(b, f.id)
	if err != nil {
		return err
	}
	if op.Settings.TooOld(job.CreatedAt.UnixMilli(), op.Now) {
		return q.outdate(b, op, f.id, f.attempts)
	}
	return q.giveOut(b, op.Now, entry{place: place{keyPriority(job.Priority), f.at, f.id}, attempts: f.attempts})
}

// purge does a Purge.
func (q *kvQueue) purge(b *kvBackend, op *Op) error {
	if err := q.findIn(b, op); err != nil {
		return err
	}
	count := q.counts.Of(op.State)
	for _, f := range b.list {
		var err error
		switch op.State {
		case Ready:
			err = b.del(q, q.readyAt(f.place))
		case Delayed, Claimed:
			err = q.endTimer(b, f.at, f.id, f.kind)
		default:
			err = b.del(q, q.with(q.dead, f.id))
		}
		if err != nil {
			return err
		}
		*count--
		if err := b.del(q, q.with(q.job, f.id)); err != nil {
			return err
		}
	}
	op.Done = len(b.list)
	if op.State == Ready {
		q.head.reset()
	}
	return nil
}

// findIn sets b.list to the first jobs in a state.
func (q *kvQueue) findIn(b *kvBackend, op *Op) error {
	b.list = b.list[:0]
	return scanState(&b.tx.Snapshot, &q.keys, op.State, func(f found) bool {
		b.list = append(b.list, f)
		return len(b.list) < op.Limit
	})
}

// scanState calls yield with the jobs in a state, until it returns false: ready ones in the order of claims, delayed ones
// as they become ready, claimed ones as their leases end, dead ones by id. at is as Job.VisibleAt says.
func scanState(s *kv.Snapshot, k *keys, state State, yield func(found) bool) error {
	prefix := map[State][]byte{Ready: k.ready, Delayed: k.timer, Claimed: k.timer, Dead: k.dead}[state]
	for key, value := range s.Scan(kv.Prefix(prefix)) {
		f, err := parseFound(k, state, key, value)
		if err != nil {
			return err
		}
		other := state == Delayed && f.kind != timerDelay || state == Claimed && f.kind == timerDelay
		if !other && !yield(f) {
			break
		}
	}
	return s.Err()
}

func parseFound(k *keys, state State, key, value []byte) (f found, err error) {
	switch state {
	case Ready:
		if f.place, err = k.parseReady(key); err == nil {
			f.attempts, err = attemptsOf(key, value)
		}
	case Delayed, Claimed:
		if f.place, err = k.parseTimerKey(key); err == nil {
			f.timer, err = parseTimer(key, value)
		}
	default:
		if f.id, err = idOf(key, k.dead); err == nil {
			f.at, f.attempts, err = parseDead(key, value)
		}
	}
	return f, err
}

// sweep does a Sweep.
func (q *kvQueue) sweep(b *kvBackend, op *Op) error {
	if err := q.makeReady(b, op); err != nil {
		return err
	}
	if err := q.sweepReady(b, op); err != nil {
		return err
	}
	return q.sweepDead(b, op)
}

// sweepReady moves or deletes ready jobs that are too old: those at the beginning of each priority.
func (q *kvQueue) sweepReady(b *kvBackend, op *Op) error {
	if op.Settings.Retention == 0 {
		return nil
	}
	b.list = b.list[:0]
	for priority := 0; priority <= math.MaxUint8 && len(b.list) < op.Limit; {
		next, err := q.findOld(b, op, uint8(priority))
		if err != nil {
			return err
		}
		priority = next
	}
	for _, f := range b.list {
		if err := b.del(q, q.readyAt(f.place)); err != nil {
			return err
		}
		q.counts.Ready--
		if err := q.outdate(b, op, f.id, f.attempts); err != nil {
			return err
		}
	}
	if len(b.list) > 0 {
		q.head.reset()
	}
	return nil
}

// findOld adds the jobs that are too old to b.list, from a priority on to the first that is not too old. It returns the
// priority to go on with.
func (q *kvQueue) findOld(b *kvBackend, op *Op, priority uint8) (next int, err error) {
	r := kv.Prefix(q.ready)
	r.Start = append([]byte(nil), q.readyAt(place{priority: priority})...)
	for key, value := range b.tx.Scan(r) {
		f, err := parseFound(&q.keys, Ready, key, value)
		if err != nil {
			return 0, err
		}
		if !op.Settings.TooOld(f.at, op.Now) { // it was published earlier, or then
			return int(f.place.priority) + 1, nil
		}
		if b.list = append(b.list, f); len(b.list) == op.Limit {
			break
		}
	}
	return math.MaxUint8 + 1, b.tx.Err()
}

// sweepDead deletes dead jobs that are too old, which are the first of them.
func (q *kvQueue) sweepDead(b *kvBackend, op *Op) error {
	if op.Settings.DeadRetention == 0 || op.Done >= op.Limit {
		return nil
	}
	before := op.Now - op.Settings.DeadRetention.Milliseconds()
	b.list = b.list[:0]
	err := scanState(&b.tx.Snapshot, &q.keys, Dead, func(f found) bool {
		if int64(f.id/1000) >= before {
			return false
		}
		b.list = append(b.list, f)
		return len(b.list) < op.Limit
	})
	if err != nil {
		return err
	}
	for _, f := range b.list {
		if err := b.del(q, q.with(q.dead, f.id)); err != nil {
			return err
		}
		if err := b.del(q, q.with(q.job, f.id)); err != nil {
			return err
		}
	}
	q.counts.Dead -= len(b.list)
	op.Done += len(b.list)
	return nil
}
