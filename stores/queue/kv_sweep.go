package queue

import (
	"math"

	"github.com/assaydb/assay/kv"
)

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
		if err := q.outdate(b, op, f.id, f.job); err != nil {
			return err
		}
	}
	if len(b.list) > 0 {
		q.head.reset()
	}
	clear(b.list)
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
		if !f.is(Ready, &q.stats) {
			continue
		}
		if !op.Settings.TooOld(f.at, op.Now) { // it was published earlier, or then
			return int(f.place.priority) + 1, nil
		}
		if b.list = append(b.list, f.keep()); len(b.list) == op.Limit {
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
	err := scanState(&b.tx.Snapshot, &q.keys, &q.stats, Dead, func(f found) bool {
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
		if err := q.delete(b, Dead, f); err != nil {
			return err
		}
	}
	op.Done += len(b.list)
	clear(b.list)
	return nil
}
