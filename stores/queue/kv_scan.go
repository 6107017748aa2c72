package queue

import (
	"cmp"
	"slices"

	"github.com/assaydb/assay/kv"
)

// found is a job that a scan found, to be changed after it.
type found struct {
	place         // at is as Job.VisibleAt says
	job   body    // the payload is borrowed until keep; of a claim in a slot nothing
	claim claimed // of one that is claimed; of one that is delayed its kind
}

// keep returns f with memory of its own.
func (f found) keep() found {
	f.job.payload = slices.Clone(f.job.payload)
	return f
}

func foundSlot(c claimed) found {
	return found{place: place{c.priority, c.until, c.id}, claim: c}
}

// scanState calls yield with the jobs in a state, until it returns false: ready ones in the order of claims, delayed ones
// as they become ready, claimed ones as their leases end, dead ones by id.
func scanState(s *kv.Snapshot, k *keys, q *stats, state State, yield func(found) bool) error {
	prefix := map[State][]byte{Ready: k.ready, Delayed: k.timer, Claimed: k.timer, Dead: k.dead}[state]
	var slots []claimed
	if state == Claimed {
		slots = slices.SortedFunc(slices.Values(q.slots), byEnd)
	}
	for key, value := range s.Scan(kv.Prefix(prefix)) {
		f, err := parseFound(k, state, key, value)
		if err != nil {
			return err
		}
		if !f.is(state, q) {
			continue
		}
		for ; len(slots) > 0 && byEnd(slots[0], f.claim) < 0; slots = slots[1:] {
			if !yield(foundSlot(slots[0])) {
				return nil
			}
		}
		if !yield(f.keep()) {
			return nil
		}
	}
	for _, c := range slots {
		if !yield(foundSlot(c)) {
			break
		}
	}
	return s.Err()
}

func byEnd(a, b claimed) int {
	return cmp.Or(cmp.Compare(a.until, b.until), cmp.Compare(a.id, b.id))
}

// is reports whether f is in a state that its key may be of.
func (f found) is(state State, q *stats) bool {
	switch state {
	case Ready:
		return !q.hasSlot(f.id)
	case Delayed:
		return f.claim.kind == timerDelay
	case Claimed:
		return f.claim.kind != timerDelay
	}
	return true
}

func parseFound(k *keys, state State, key, value []byte) (f found, err error) {
	switch state {
	case Ready:
		if f.place, err = k.parseReady(key); err == nil {
			f.job, err = parseBody(key, value)
		}
	case Delayed, Claimed:
		if f.place, err = k.parseTimerKey(key); err != nil {
			return f, err
		}
		var t timer
		t, err = parseTimer(key, value)
		f.job, f.priority = t.body, t.priority
		f.claim = claimed{place: f.place, kind: t.kind, until: f.at, token: t.token, attempts: t.attempts, large: t.large}
	default:
		if f.id, err = idOf(key, k.dead); err == nil {
			f.at, f.job, err = parseDead(key, value)
		}
	}
	return f, err
}

// purge does a Purge.
func (q *kvQueue) purge(b *kvBackend, op *Op) error {
	b.list = b.list[:0]
	err := scanState(&b.tx.Snapshot, &q.keys, &q.stats, op.State, func(f found) bool {
		b.list = append(b.list, f)
		return len(b.list) < op.Limit
	})
	if err != nil {
		return err
	}
	for _, f := range b.list {
		if err := q.delete(b, op.State, f); err != nil {
			return err
		}
	}
	if op.Done = len(b.list); op.State == Ready {
		q.head.reset()
	}
	clear(b.list)
	return nil
}

// delete deletes a job that is in a state.
func (q *kvQueue) delete(b *kvBackend, state State, f found) (err error) {
	if state == Claimed {
		return q.ack(b, nil, f.claim)
	}
	*q.counts.Of(state)--
	switch state {
	case Ready:
		err = b.del(q, q.readyAt(f.place))
	case Delayed:
		err = q.endTimer(b, f.at, f.id, timerDelay)
	default:
		err = b.del(q, q.with(q.dead, f.id))
	}
	if err != nil {
		return err
	}
	return q.forget(b, f.id, f.job.large)
}
