package sqlqueue

import (
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
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

// Hold implements intables.Tables.
func (b *backend) Hold(op *queue.Op, key string, id uint64, until int64) (bool, error) {
	held, err := b.isHeld(op, key, int64(id))
	if held || err != nil {
		return false, err
	}
	return true, b.holdKey(op, key, id, until)
}

// ReadTick implements intables.Tables.
func (b *backend) ReadTick(op *queue.Op) (last int64, err error) {
	err = b.write.readTick.each(func(r row) { last = r.integer(0) }, op.Queue, op.Schedule)
	return last, err
}

// SetTick implements intables.Tables.
func (b *backend) SetTick(op *queue.Op) error { return run(b.write.tick, op.Queue, op.Schedule, op.At) }

// Savepoint implements intables.Tables.
func (b *backend) Savepoint(s intables.Savepoint) error { return run(b.write.savepoints[s]) }

// ReadDead implements intables.Tables.
func (b *backend) ReadDead(op *queue.Op, id uint64) (special []byte, found bool, err error) {
	err = b.write.readDead.each(func(r row) { special, found = r.blob(0), true }, op.Queue, int64(id))
	return special, found, err
}

// Requeue implements intables.Tables.
func (b *backend) Requeue(op *queue.Op, id uint64) error {
	if err := run(b.write.requeue, op.Queue, int64(id), op.Now); err != nil {
		return err
	}
	return run(b.write.forgetFailures, op.Queue, int64(id))
}

// DeleteID implements intables.Tables. A job that is dead is found without looking at others.
func (b *backend) DeleteID(op *queue.Op, id uint64) (int, error) {
	n, err := b.write.drop.run(op.Queue, int64(queue.Dead), 0, 0, int64(id))
	if n == 0 && err == nil {
		n, err = b.write.deleteID.run(op.Queue, int64(id))
	}
	return n, err
}
