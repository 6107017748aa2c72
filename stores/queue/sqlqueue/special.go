package sqlqueue

import (
	"cmp"

	"github.com/assaydb/assay/stores/queue"
)

// isHeld reports whether a key is held by another job than self, or by the period of one.
func (b *backend) isHeld(op *queue.Op, key string, self int64) (held bool, err error) {
	if key == "" {
		return false, nil
	}
	err = b.write.isHeld.each(func(row) { held = true }, op.Queue, key, op.Now, self)
	return held, err
}

// holdKey gives a key that is not held to a job, and deletes some that nobody holds any more.
func (b *backend) holdKey(op *queue.Op, key string, id uint64, until int64) error {
	if err := run(b.write.sweepKeys, op.Queue, op.Now); err != nil {
		return err
	}
	return run(b.write.holdKey, op.Queue, key, int64(id), until)
}

// tick does a Tick.
func (b *backend) tick(op *queue.Op) error {
	err := b.write.readTick.each(func(r row) { op.Last = r.integer(0) }, op.Queue, op.Schedule)
	if err != nil || op.Last != op.From {
		return err
	}
	if err := run(b.write.tick, op.Queue, op.Schedule, op.At); err != nil {
		return err
	}
	if op.Last = op.At; len(op.Drafts) == 0 {
		return nil
	}
	return b.publish(op)
}

// forIDs calls fn for each of op.IDs: all, or none if it sets op.Err.
func (b *backend) forIDs(op *queue.Op, fn func(*queue.Op, uint64) error) error {
	if err := run(b.write.savepoint); err != nil {
		return err
	}
	for _, id := range op.IDs {
		if err := fn(op, id); err != nil {
			return err
		}
		if op.Err != nil {
			op.Ready = 0
			if err := run(b.write.undo); err != nil {
				return err
			}
			break
		}
	}
	return run(b.write.release)
}

func (b *backend) requeue(op *queue.Op, id uint64) error {
	dead := queue.Job{ID: id}
	found := false
	var bad error
	err := b.write.readDead.each(func(r row) { found, bad = true, dead.SetSpecial(r.blob(0)) }, op.Queue, int64(id))
	if err != nil || bad != nil {
		return cmp.Or(err, bad)
	}
	if !found {
		op.Err = queue.NotDead(op.Queue, id)
		return nil
	}
	if key, until := dead.Key(); key != "" {
		held, err := b.isHeld(op, key, int64(id))
		if err != nil {
			return err
		}
		if held {
			op.Err = queue.KeyTaken(op.Queue, id, key)
			return nil
		}
		if err := b.holdKey(op, key, id, max(0, until.UnixMilli())); err != nil {
			return err
		}
	}
	op.Ready++
	if err := run(b.write.requeue, op.Queue, int64(id), op.Now); err != nil {
		return err
	}
	return run(b.write.forgetFailures, op.Queue, int64(id))
}

// deleteID deletes a job. One that is dead is found without looking at others.
func (b *backend) deleteID(op *queue.Op, id uint64) error {
	n, err := b.write.drop.run(op.Queue, int64(queue.Dead), 0, 0, int64(id))
	if n == 0 && err == nil {
		n, err = b.write.deleteID.run(op.Queue, int64(id))
	}
	if n == 0 && err == nil {
		op.Err = queue.NoJob(op.Verb.String(), op.Queue, id)
	}
	return err
}
