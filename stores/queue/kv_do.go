package queue

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/assaydb/assay/kv"
)

// publish does a Publish. An id is the time in microseconds, or one more than the last: so ids grow, and after a crash
// that lost jobs theirs are not used again unless the clock was set back.
func (q *kvQueue) publish(b *kvBackend, op *Op) error {
	for i := range op.Drafts {
		draft := &op.Drafts[i]
		id := NextID(q.last, op.Now)
		q.last = id
		op.IDs = append(op.IDs, id)
		priority := keyPriority(draft.Priority)
		b.value = append(put64(b.value[:0], uint64(op.Now)), priority)
		b.value = append(b.value, draft.Payload...)
		if err := b.put(q, q.with(q.job, id), b.value); err != nil {
			return err
		}
		e := entry{place: place{priority, op.Now + draft.Delay.Milliseconds(), id}}
		if len(b.value) <= mostShort && q.head.short() {
			e.value = slices.Clone(b.value)
		}
		if err := q.giveOut(b, op.Now, e); err != nil {
			return err
		}
	}
	return nil
}

// NextID returns the id of the next job of a queue. It is for backends.
func NextID(last uint64, now int64) uint64 { return max(last+1, uint64(now)*1000) }

// giveOut makes a job ready or delayed.
func (q *kvQueue) giveOut(b *kvBackend, now int64, e entry) error {
	if e.at <= now {
		q.counts.Ready++
		q.head.add(e)
		b.value = put32(b.value[:0], e.attempts)
		return b.put(q, q.readyAt(e.place), b.value)
	}
	q.counts.Delayed++
	return q.setTimer(b, e.at, e.id, timer{kind: timerDelay, attempts: e.attempts})
}

// claimJobs does a Claim. It stops early at many jobs that are too old.
func (q *kvQueue) claimJobs(b *kvBackend, op *Op) error {
	if len(op.Receipts) > 0 {
		if err := q.withClaims(b, op, q.ack); err != nil || op.Err != nil {
			return err
		}
	}
	if err := q.makeReady(b, op); err != nil {
		return err
	}
	for old := 0; len(op.Jobs) < op.Limit && old < MostDue; {
		e, ok, err := q.head.peek(b, q)
		if err != nil || !ok {
			return err
		}
		job, err := q.readEntry(b, e)
		if err != nil {
			return err
		}
		q.head.pop()
		q.counts.Ready--
		if err := b.del(q, q.readyAt(e.place)); err != nil {
			return err
		}
		if op.Settings.TooOld(job.CreatedAt.UnixMilli(), op.Now) {
			old++
			if err := q.outdate(b, op, e.id, e.attempts); err != nil {
				return err
			}
			continue
		}
		t := timer{kind: timerClaim, attempts: e.attempts + 1, token: rand.Uint64() | 1, priority: e.priority}
		q.counts.Claimed++
		if err := q.setTimer(b, op.Until, e.id, t); err != nil {
			return err
		}
		job.State, job.Attempts, job.VisibleAt = Claimed, t.attempts, Millis(op.Until)
		job.Receipt = Receipt{ID: e.id, Until: op.Until, Token: t.token}
		if op.Jobs == nil {
			op.Jobs = make([]Job, 0, min(op.Limit, q.counts.Ready+1))
		}
		op.Jobs = append(op.Jobs, job)
	}
	return nil
}

// read returns a job without its state.
func (q *kvQueue) read(b *kvBackend, id uint64) (Job, error) {
	return readJob(&b.tx.Snapshot, &q.keys, id)
}

// readEntry returns the job of an entry of the head, without its state.
func (q *kvQueue) readEntry(b *kvBackend, e entry) (Job, error) {
	if e.value == nil {
		return q.read(b, e.id)
	}
	return parseJob(e.id, e.value)
}

func readJob(s *kv.Snapshot, k *keys, id uint64) (Job, error) {
	v, err := s.Get(k.with(k.job, id))
	if err != nil {
		if errors.Is(err, kv.NotFound) {
			err = corrupt("there is no job %d, though the queue has it", id)
		}
		return Job{}, err
	}
	return parseJob(id, v)
}

// parseJob makes a job of its value, which becomes the job's.
func parseJob(id uint64, v []byte) (Job, error) {
	if len(v) < jobHeader {
		return Job{}, corrupt("job %d: %d bytes instead of a job", id, len(v))
	}
	job := Job{ID: id, CreatedAt: Millis(int64(be64(v))), Priority: jobPriority(v[8])}
	if payload := v[jobHeader:]; len(payload) > 0 {
		job.Payload = payload
	}
	return job, nil
}

// claimed is a claim that is live. kvQueue.claims has some of them.
type claimed struct {
	timer
	id    uint64
	until int64
}

// withClaims calls fn for every receipt, having ended its claim, if all are live.
func (q *kvQueue) withClaims(b *kvBackend, op *Op, fn func(*kvBackend, *Op, claimed) error) error {
	claims := make([]claimed, 0, 8)
	var stale []Receipt
	for _, r := range op.Receipts {
		c, ok, err := q.readClaim(b, r)
		if err != nil {
			return err
		}
		if !ok {
			stale = append(stale, r)
		}
		claims = append(claims, c)
	}
	if len(stale) > 0 {
		op.Err = Stale(op.Verb.String(), op.Queue, stale)
		return nil
	}
	for _, c := range claims {
		q.counts.Claimed--
		if err := q.endTimer(b, c.until, c.id, c.kind); err != nil {
			return err
		}
		if err := fn(b, op, c); err != nil {
			return err
		}
	}
	return nil
}

// readClaim returns the live claim that a receipt is of, if there is one.
func (q *kvQueue) readClaim(b *kvBackend, r Receipt) (c claimed, ok bool, err error) {
	if c, ok = q.claims[r.ID]; ok {
		return c, c.token == r.Token, nil
	}
	c, ok, err = q.readTimer(b, r.Until, r)
	if err != nil || ok {
		return c, ok, err
	}
	key := q.with(q.extended, r.ID)
	b.value, err = b.tx.Append(b.value[:0], key)
	switch {
	case errors.Is(err, kv.NotFound):
		return c, false, nil
	case err != nil:
		return c, false, err
	case len(b.value) != 8:
		return c, false, corrupt("key %q: %d bytes instead of a time", key, len(b.value))
	}
	return q.readTimer(b, int64(be64(b.value)), r)
}

func (q *kvQueue) readTimer(b *kvBackend, until int64, r Receipt) (c claimed, ok bool, err error) {
	key := q.timerAt(until, r.ID)
	b.value, err = b.tx.Append(b.value[:0], key)
	if errors.Is(err, kv.NotFound) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	t, err := parseTimer(key, b.value)
	return claimed{timer: t, id: r.ID, until: until}, t.kind != timerDelay && t.token == r.Token, err
}

func (q *kvQueue) ack(b *kvBackend, _ *Op, c claimed) error {
	return b.del(q, q.with(q.job, c.id))
}

func (q *kvQueue) nack(b *kvBackend, op *Op, c claimed) error {
	if op.Settings.Exhausted(c.attempts) {
		return q.bury(b, op.Now, c.id, c.attempts)
	}
	return q.giveOut(b, op.Now, entry{place: place{c.priority, op.Until, c.id}, attempts: c.attempts})
}

func (q *kvQueue) extend(b *kvBackend, op *Op, c claimed) error {
	q.counts.Claimed++
	c.kind = timerExtended
	if err := q.setTimer(b, op.Until, c.id, c.timer); err != nil {
		return err
	}
	b.value = put64(b.value[:0], uint64(op.Until))
	return b.put(q, q.with(q.extended, c.id), b.value)
}

// bury makes a job dead that is in no other state.
func (q *kvQueue) bury(b *kvBackend, now int64, id uint64, attempts int) error {
	q.counts.Dead++
	b.value = put32(put64(b.value[:0], uint64(now)), attempts)
	return b.put(q, q.with(q.dead, id), b.value)
}

// outdate does what the settings say to a job that is too old and in no other state.
func (q *kvQueue) outdate(b *kvBackend, op *Op, id uint64, attempts int) error {
	op.Done++
	if op.Settings.Outdated == Drop {
		return b.del(q, q.with(q.job, id))
	}
	return q.bury(b, op.Now, id, attempts)
}

// requeue does a Requeue.
func (q *kvQueue) requeue(b *kvBackend, op *Op) error {
	for _, id := range op.IDs {
		ok, err := b.tx.Has(q.with(q.dead, id))
		if err != nil {
			return err
		}
		if !ok {
			op.Err = NotDead(op.Queue, id)
			return nil
		}
	}
	for _, id := range op.IDs {
		job, err := q.read(b, id)
		if err != nil {
			return err
		}
		q.counts.Dead--
		if err := b.del(q, q.with(q.dead, id)); err != nil {
			return err
		}
		if err := q.giveOut(b, op.Now, entry{place: place{keyPriority(job.Priority), op.Now, id}}); err != nil {
			return err
		}
	}
	return nil
}

// parseDead returns when a job died and how often it was tried.
func parseDead(key, v []byte) (at int64, attempts int, err error) {
	if len(v) != 12 {
		return 0, 0, corrupt("key %q: %d bytes instead of a dead job", key, len(v))
	}
	return int64(be64(v)), int(binary.BigEndian.Uint32(v[8:])), nil
}

// idOf returns the id at the end of a key that has only that after its beginning.
func idOf(key, prefix []byte) (uint64, error) {
	if len(key) != len(prefix)+8 {
		return 0, corrupt("key %q is not that of a job", key)
	}
	return be64(key[len(prefix):]), nil
}
