package queue

import "math"

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
	var list []entry
	for next := new(place); next != nil && len(list) < op.Limit; {
		var err error
		if list, next, err = q.findOld(b, op, list, next); err != nil {
			return err
		}
	}
	for _, e := range list {
		if err := q.takeOut(b, e); err != nil {
			return err
		}
		if err := q.outdate(b, op, e.homePlace(), e.tried); err != nil {
			return err
		}
	}
	if len(list) > 0 {
		q.head.reset()
	}
	return nil
}

// findOld adds the jobs that are too old to list, after a place up to the first that is not too
// old. It returns the place after which to go on, which is the end of a priority, or nil.
func (q *kvQueue) findOld(b *kvBackend, op *Op, list []entry, after *place) ([]entry, *place, error) {
	entries, more, err := readReady(b.tx.Snapshot, &q.keys, &q.stats, after, min(64, op.Limit-len(list)))
	if err != nil {
		return list, nil, err
	}
	for _, e := range entries {
		if !op.Settings.TooOld(e.at, op.Now) { // it was published earlier, or then
			return list, &place{priority: e.priority, at: math.MaxInt64, id: math.MaxUint64}, nil
		}
		if list = append(list, e); len(list) == op.Limit {
			return list, nil, nil
		}
		after = &e.place
	}
	if !more {
		after = nil
	}
	return list, after, nil
}

// sweepDead deletes the jobs that have been dead for too long, of those that it looks at. None died
// before it was published, which its id tells.
func (q *kvQueue) sweepDead(b *kvBackend, op *Op) error {
	if op.Settings.DeadRetention == 0 {
		return nil
	}
	if op.Done >= op.Limit {
		op.Last = op.From
		return nil
	}
	before := op.Now - op.Settings.DeadRetention.Milliseconds()
	var list []found
	looked := 0
	err := scanDead(b.tx.Snapshot, &q.keys, uint64(op.From), func(f found) bool {
		if int64(f.claim.id/1000) >= before {
			return false
		}
		if f.at < before {
			list = append(list, f)
		}
		if looked++; looked == MostLooked || op.Done+len(list) == op.Limit {
			op.Last = int64(f.claim.id)
		}
		return op.Last == 0
	})
	if err != nil {
		return err
	}
	for _, f := range list {
		if err := q.delete(b, op, Dead, f); err != nil {
			return err
		}
	}
	op.Done += len(list)
	return nil
}
