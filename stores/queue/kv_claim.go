package queue

import (
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/assaydb/assay/kv"
)

// claimed is a claim that is live. kvQueue.slots has the first of them, kvQueue.claims some of the
// others.
type claimed struct {
	place    // of 'j'
	tried    // this attempt included
	kind     byte
	until    int64
	token    uint64
	extended bool // of one in a slot: its receipt tells an earlier end
}

// inSlot is the kind of a claim that stands in 'q'. Others have that of their timer.
const inSlot = 0

// addClaim makes a claim of a job that is in no state.
func (q *kvQueue) addClaim(b *kvBackend, until int64, e entry) (claimed, error) {
	if len(q.slots) == mostSlots {
		if err := q.moveSlots(b); err != nil {
			return claimed{}, err
		}
	}
	q.counts.Claimed++
	c := claimed{place: e.homePlace(), until: until, token: rand.Uint64() | 1, tried: tried{e.attempts + 1, e.special}}
	q.slots, q.changed = append(q.slots, c), true
	q.due = min(q.due, until)
	return c, nil
}

// moveSlots makes all slots free.
func (q *kvQueue) moveSlots(b *kvBackend) error {
	for _, c := range q.slots {
		if c.kind = timerClaim; c.extended {
			c.kind = timerExtended
			if err := q.setExtended(b, c); err != nil {
				return err
			}
		}
		if err := q.setClaim(b, c); err != nil {
			return err
		}
	}
	q.slots = q.slots[:0]
	return nil
}

// setClaim writes a claim that has no slot.
func (q *kvQueue) setClaim(b *kvBackend, c claimed) error {
	if len(q.claims) < mostClaims {
		q.claims[c.id] = c
	}
	return q.setTimer(b, c.until, c.id, timer{kind: c.kind, tried: c.tried, priority: c.priority, at: c.at,
		token: c.token})
}

// setExtended writes where a claim is found whose receipt tells an earlier end.
func (q *kvQueue) setExtended(b *kvBackend, c claimed) error {
	b.value = put64(b.value[:0], uint64(c.until))
	return b.put(q, q.with(q.extended, c.id), b.value)
}

// endClaim makes a claimed job be in no state.
func (q *kvQueue) endClaim(b *kvBackend, c claimed) error {
	q.counts.Claimed--
	if c.kind == inSlot {
		q.slots = slices.DeleteFunc(q.slots, func(s claimed) bool { return s.id == c.id })
		q.changed = true
		return nil
	}
	delete(q.claims, c.id)
	return q.endTimer(b, c.until, c.id, c.kind)
}

// withClaims calls fn for every receipt's claim, if all are live.
func (q *kvQueue) withClaims(b *kvBackend, op *Op, fn func(*kvQueue, *kvBackend, *Op, claimed) error) error {
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
		if err := fn(q, b, op, c); err != nil {
			return err
		}
	}
	return nil
}

// readClaim returns the live claim that a receipt is of, if there is one.
func (q *kvQueue) readClaim(b *kvBackend, r Receipt) (c claimed, ok bool, err error) {
	for i := range q.slots {
		if q.slots[i].id == r.ID {
			return q.slots[i], q.slots[i].token == r.Token, nil
		}
	}
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
	return t.claimed(until, r.ID), t.kind != timerDelay && t.token == r.Token, err
}

// claimed returns the claim that a timer is of.
func (t timer) claimed(until int64, id uint64) claimed {
	return claimed{place: place{t.priority, t.at, id}, kind: t.kind, until: until, token: t.token, tried: t.tried}
}

// extend moves the end of a claim. Where it has a slot its receipt finds it whatever that is.
func (q *kvQueue) extend(b *kvBackend, op *Op, c claimed) error {
	if c.kind == inSlot {
		i := slices.IndexFunc(q.slots, func(s claimed) bool { return s.id == c.id })
		q.slots[i].until, q.slots[i].extended, q.changed = op.Until, true, true
		q.due = min(q.due, op.Until)
		return nil
	}
	if err := q.endTimer(b, c.until, c.id, c.kind); err != nil {
		return err
	}
	delete(q.claims, c.id)
	c.kind, c.until = timerExtended, op.Until
	if err := q.setClaim(b, c); err != nil {
		return err
	}
	return q.setExtended(b, c)
}
