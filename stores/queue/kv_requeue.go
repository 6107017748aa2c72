package queue

import (
	"errors"

	"github.com/assaydb/assay/kv"
)

// revived is a dead job that is to be requeued.
type revived struct {
	home place
	tried
	special special
}

// requeue does a Requeue.
func (q *kvQueue) requeue(b *kvBackend, op *Op) error {
	list := make([]revived, 0, len(op.IDs))
	keys := map[string]bool{}
	for _, id := range op.IDs {
		r, err := q.readDead(b, op, id)
		if err != nil || op.Err != nil {
			return err
		}
		if key := r.special.Key; key != "" {
			held, err := q.isHeld(b, op.Now, key, id)
			if err != nil {
				return err
			}
			if held || keys[key] {
				op.Err = KeyTaken(op.Queue, id, key)
				return nil
			}
			keys[key] = true
		}
		list = append(list, r)
	}
	for _, r := range list {
		if err := q.revive(b, op, r); err != nil {
			return err
		}
	}
	return nil
}

// readDead returns a dead job, or sets op.Err.
func (q *kvQueue) readDead(b *kvBackend, op *Op, id uint64) (r revived, err error) {
	key := q.with(q.dead, id)
	b.value, err = b.tx.Append(b.value[:0], key)
	if errors.Is(err, kv.NotFound) {
		op.Err = NotDead(op.Queue, id)
		return r, nil
	}
	if err == nil {
		_, r.tried, r.home, err = parseDead(key, b.value, id)
	}
	if err == nil && r.tried.special {
		r.special, err = q.readSpecial(b, r.home)
	}
	return r, err
}

// revive makes a dead job ready.
func (q *kvQueue) revive(b *kvBackend, op *Op, r revived) error {
	q.counts.Dead--
	if err := b.del(q, q.with(q.dead, r.home.id)); err != nil {
		return err
	}
	if r.attempts > 0 {
		if err := b.del(q, q.with(q.failure, r.home.id)); err != nil {
			return err
		}
	}
	if key := r.special.Key; key != "" {
		if err := q.holdKey(b, op.Now, key, r.home.id, r.special.KeyUntil); err != nil {
			return err
		}
	}
	return q.giveOut(b, op.Now, op.Now, r.home, tried{special: r.tried.special})
}
