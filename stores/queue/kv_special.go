package queue

import (
	"errors"

	"github.com/assaydb/assay/kv"
)

// readSpecial returns what a job has beside its payload, which says that there is something.
func (q *kvQueue) readSpecial(b *kvBackend, home place) (s special, err error) {
	key := q.at(q.job, home)
	b.value, err = b.tx.Append(b.value[:0], key)
	if err != nil {
		return s, missing(err, home.id)
	}
	if !isSpecial(b.value) {
		return s, corrupt("job %d has nothing special, though its place says so", home.id)
	}
	text, _, err := cutSpecial(home.id, b.value[jobHeader:])
	if err != nil {
		return s, err
	}
	return parseSpecial(home.id, text)
}

// missing makes a NotFound of a job that is known to be there Corrupt.
func missing(err error, id uint64) error {
	if errors.Is(err, kv.NotFound) {
		return corrupt("there is no job %d, though the queue has it", id)
	}
	return err
}

// exhausted reports whether a job whose claim ended was tried as often as it may be.
func (q *kvQueue) exhausted(b *kvBackend, op *Op, c claimed) (bool, error) {
	var s special
	if c.special {
		var err error
		if s, err = q.readSpecial(b, c.place); err != nil {
			return false, err
		}
	}
	return op.Settings.Exhausted(s.MaxAttempts, c.attempts), nil
}

// addFailure keeps why an attempt failed.
func (q *kvQueue) addFailure(b *kvBackend, op *Op, c claimed, why string) error {
	text, err := readFailures(b.tx.Snapshot, &q.keys, c.id)
	if err != nil {
		return err
	}
	text, err = addFailure(c.id, text, storedFailure{At: op.Now, Attempt: c.attempts, Error: why})
	if err != nil {
		return err
	}
	return b.put(q, q.with(q.failure, c.id), text)
}

// readFailures returns the failures of a job as they are kept, nil if there are none.
func readFailures(s *kv.Snapshot, k *keys, id uint64) ([]byte, error) {
	text, err := s.Get(k.with(k.failure, id))
	if errors.Is(err, kv.NotFound) {
		return nil, nil
	}
	return text, err
}

// uniqueKey is the value of 'u'.
type uniqueKey struct {
	id    uint64 // of the job that has it, 0 if that is not there any more
	until int64  // it is held until then in any case
	found bool
}

func (q *kvQueue) readKey(b *kvBackend, name string) (u uniqueKey, err error) {
	key := q.named(q.key, name)
	b.value, err = b.tx.Append(b.value[:0], key)
	switch {
	case errors.Is(err, kv.NotFound):
		return u, nil
	case err != nil:
		return u, err
	case len(b.value) != 16:
		return u, corrupt("key %q: %d bytes instead of a unique key", key, len(b.value))
	}
	return uniqueKey{be64(b.value), int64(be64(b.value[8:])), true}, nil
}

func (q *kvQueue) writeKey(b *kvBackend, name string, u uniqueKey) error {
	b.value = put64(put64(b.value[:0], u.id), uint64(u.until))
	return b.put(q, q.named(q.key, name), b.value)
}

// isHeld reports whether a key is held by another job than self, or by the period of one. A dead
// job has given up its key.
func (q *kvQueue) isHeld(b *kvBackend, now int64, name string, self uint64) (bool, error) {
	u, err := q.readKey(b, name)
	if err != nil || !u.found || u.id == self && self != 0 {
		return false, err
	}
	if u.until > now || u.id == 0 {
		return u.until > now, nil
	}
	dead, err := b.tx.Has(q.with(q.dead, u.id))
	return !dead, err
}

// mostKeyEnds is how many keys that nobody holds any more are deleted when one is taken.
const mostKeyEnds = 8

// holdKey gives a key that is not held to a job.
func (q *kvQueue) holdKey(b *kvBackend, now int64, name string, id uint64, until int64) error {
	if err := q.sweepKeys(b, now); err != nil {
		return err
	}
	return q.writeKey(b, name, uniqueKey{id: id, until: until})
}

// sweepKeys deletes keys whose job is not there any more and whose period has ended.
func (q *kvQueue) sweepKeys(b *kvBackend, now int64) error {
	type ended struct {
		until int64
		name  string
	}
	var list []ended
	r := kv.Range{Start: q.keyEnd, End: append([]byte(nil), q.keyEndAt(now+1, "")...)}
	for key := range b.tx.Scan(r) {
		rest := key[len(q.keyEnd):]
		if len(rest) < 8 {
			return corrupt("key %q is not that of the end of a unique key", key)
		}
		if list = append(list, ended{int64(be64(rest)), string(rest[8:])}); len(list) == mostKeyEnds {
			break
		}
	}
	if err := b.tx.Err(); err != nil {
		return err
	}
	for _, e := range list {
		u, err := q.readKey(b, e.name)
		if err == nil && u.found && u.id == 0 && u.until == e.until { // otherwise another took it since
			err = b.del(q, q.named(q.key, e.name))
		}
		if err == nil {
			err = b.del(q, q.keyEndAt(e.until, e.name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// freeKey gives up the key of a job that is being deleted, or leaves it to its period.
func (q *kvQueue) freeKey(b *kvBackend, now int64, home place) error {
	s, err := q.readSpecial(b, home)
	if err != nil || s.Key == "" {
		return err
	}
	u, err := q.readKey(b, s.Key)
	if err != nil || u.id != home.id { // it died, and another took the key
		return err
	}
	if u.until <= now {
		return b.del(q, q.named(q.key, s.Key))
	}
	if err := b.put(q, q.keyEndAt(u.until, s.Key), nil); err != nil {
		return err
	}
	return q.writeKey(b, s.Key, uniqueKey{until: u.until})
}

// tick does a Tick.
func (q *kvQueue) tick(b *kvBackend, op *Op) error {
	key := q.named(q.schedule, op.Schedule)
	var err error
	b.value, err = b.tx.Append(b.value[:0], key)
	switch {
	case errors.Is(err, kv.NotFound):
	case err != nil:
		return err
	case len(b.value) != 8:
		return corrupt("key %q: %d bytes instead of a tick", key, len(b.value))
	default:
		op.Last = int64(be64(b.value))
	}
	if op.Last != op.From {
		return nil
	}
	b.value = put64(b.value[:0], uint64(op.At))
	if err := b.put(q, key, b.value); err != nil {
		return err
	}
	op.Last = op.At
	return q.publish(b, op)
}
