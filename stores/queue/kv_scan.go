package queue

import (
	"cmp"
	"slices"

	"github.com/assaydb/assay/kv"
)

// found is a job that a scan found, to be changed after it.
type found struct {
	at    int64   // as Job.VisibleAt says
	claim claimed // of one that is claimed; of others place and tried, and of delayed ones kind and until
	ready entry   // of one that is ready
}

// findState returns the first jobs in a state, at most limit.
func findState(s *kv.Snapshot, k *keys, q *stats, state State, limit int) (list []found, err error) {
	err = scanState(s, k, q, state, limit, func(f found) bool {
		list = append(list, f)
		return len(list) < limit
	})
	return list, err
}

// scanState calls yield with the jobs in a state, until it returns false: ready ones in the order
// of claims, so many read at once, delayed ones as they become ready, claimed ones as their leases
// end, dead ones by id.
func scanState(s *kv.Snapshot, k *keys, q *stats, state State, atOnce int, yield func(found) bool) error {
	switch state {
	case Ready:
		var after *place
		for more := true; more; {
			var entries []entry
			var err error
			if entries, more, err = readReady(s, k, q, after, atOnce); err != nil {
				return err
			}
			for _, e := range entries {
				if !yield(foundReady(e)) {
					return nil
				}
				after = &e.place
			}
		}
		return nil
	case Dead:
		return scanDead(s, k, 0, yield)
	}
	return scanTimers(s, k, q, state, func(c claimed) bool { return yield(found{at: c.until, claim: c}) })
}

func foundReady(e entry) found {
	return found{at: e.at, claim: claimed{place: e.homePlace(), tried: e.tried}, ready: e}
}

// scanTimers calls yield with the delayed or the claimed jobs, until it returns false.
func scanTimers(s *kv.Snapshot, k *keys, q *stats, state State, yield func(claimed) bool) error {
	var slots []claimed
	if state == Claimed {
		slots = slices.SortedFunc(slices.Values(q.slots), byEnd)
	}
	for key, value := range s.Scan(kv.Prefix(k.timer)) {
		p, err := k.parseTimerKey(key)
		if err != nil {
			return err
		}
		t, err := parseTimer(key, value)
		if err != nil {
			return err
		}
		if (t.kind == timerDelay) != (state == Delayed) {
			continue
		}
		c := t.claimed(p.at, p.id)
		for ; len(slots) > 0 && byEnd(slots[0], c) < 0; slots = slots[1:] {
			if !yield(slots[0]) {
				return nil
			}
		}
		if !yield(c) {
			return nil
		}
	}
	for _, c := range slots {
		if !yield(c) {
			break
		}
	}
	return s.Err()
}

func byEnd(a, b claimed) int {
	return cmp.Or(cmp.Compare(a.until, b.until), cmp.Compare(a.id, b.id))
}

// scanDead calls yield with the dead jobs whose ids are above one, until it returns false.
func scanDead(s *kv.Snapshot, k *keys, above uint64, yield func(found) bool) error {
	r := kv.Prefix(k.dead)
	r.Start = kv.After(k.with(k.dead, above))
	for key, value := range s.Scan(r) {
		id, err := idOf(key, k.dead)
		if err != nil {
			return err
		}
		var f found
		if f.at, f.claim.tried, f.claim.place, err = parseDead(key, value, id); err != nil {
			return err
		}
		if !yield(f) {
			return nil
		}
	}
	return s.Err()
}

// purge does a Purge.
func (q *kvQueue) purge(b *kvBackend, op *Op) error {
	list, err := findState(b.tx.Snapshot, &q.keys, &q.stats, op.State, op.Limit)
	if err != nil {
		return err
	}
	for _, f := range list {
		if err := q.delete(b, op, op.State, f); err != nil {
			return err
		}
	}
	if op.Done = len(list); op.State == Ready {
		q.head.reset()
	}
	return nil
}

// delete deletes a job that is in a state.
func (q *kvQueue) delete(b *kvBackend, op *Op, state State, f found) (err error) {
	t := f.claim.tried
	switch state {
	case Ready:
		err = q.takeOut(b, f.ready)
	case Delayed:
		q.counts.Delayed--
		err = q.endTimer(b, f.at, f.claim.id, timerDelay)
	case Claimed:
		t, err = t.before(), q.endClaim(b, f.claim)
	default:
		q.counts.Dead--
		err = b.del(q, q.with(q.dead, f.claim.id))
	}
	if err != nil {
		return err
	}
	return q.forget(b, op.Now, f.claim.place, t)
}
