package queue

import (
	"context"
	"errors"

	"github.com/assaydb/assay/kv"
)

// located is a job that findIDs found.
type located struct {
	state State
	found
}

// findIDs returns those of ids that are there, whatever their state.
func findIDs(s *kv.Snapshot, k *keys, q *stats, ids []uint64) (map[uint64]located, error) {
	all := make(map[uint64]located, len(ids))
	missing := make(map[uint64]bool, len(ids))
	for _, id := range ids {
		key := k.with(k.dead, id)
		v, err := s.Get(key)
		if errors.Is(err, kv.NotFound) {
			missing[id] = true
			continue
		}
		var f found
		if err == nil {
			f.at, f.claim.tried, f.claim.place, err = parseDead(key, v, id)
		}
		if err != nil {
			return nil, err
		}
		all[id] = located{Dead, f}
	}
	add := func(id uint64, l located) (goOn bool) {
		if missing[id] {
			delete(missing, id)
			all[id] = l
		}
		return len(missing) > 0
	}
	for _, state := range []State{Delayed, Claimed} {
		if len(missing) == 0 {
			return all, nil
		}
		err := scanTimers(s, k, q, state, func(c claimed) bool {
			return add(c.id, located{state, found{at: c.until, claim: c}})
		})
		if err != nil {
			return nil, err
		}
	}
	if len(missing) == 0 {
		return all, nil
	}
	err := scanReady(s, k, nil, func(e entry) bool { return add(e.id, located{Ready, foundReady(e)}) })
	if err != nil || len(missing) == 0 {
		return all, err
	}
	err = scanFresh(s, k, q, nil, func(p place, value []byte) bool {
		if !missing[p.id] {
			return true
		}
		return add(p.id, located{Ready, foundReady(freshEntry(p, value))})
	})
	return all, err
}

// deleteJobs does a Delete.
func (q *kvQueue) deleteJobs(b *kvBackend, op *Op) error {
	all, err := findIDs(b.tx.Snapshot, &q.keys, &q.stats, op.IDs)
	if err != nil {
		return err
	}
	for _, id := range op.IDs {
		if _, ok := all[id]; !ok {
			op.Err = NoJob(op.Verb.String(), op.Queue, id)
			return nil
		}
	}
	for _, id := range op.IDs {
		if err := q.deleteLocated(b, op, all[id]); err != nil {
			return err
		}
	}
	return nil
}

func (q *kvQueue) deleteLocated(b *kvBackend, op *Op, l located) error {
	if l.state == Ready {
		q.head.reset()
	}
	if l.state != Ready || !l.ready.fresh {
		return q.delete(b, op, l.state, l.found)
	}
	q.counts.Ready-- // it need not be the first: the mark stays
	return q.forget(b, op.Now, l.claim.place, l.claim.tried)
}

// Find implements Backend.
func (b *kvBackend) Find(ctx context.Context, queue string, id uint64) (job Job, err error) {
	k := newKeys(queue)
	there := false
	err = b.viewQueue(ctx, &k, func(s *kv.Snapshot, stored *stats) error {
		all, err := findIDs(s, &k, stored, []uint64{id})
		if err != nil {
			return err
		}
		if l, ok := all[id]; ok {
			there = true
			job, err = readFound(s, &k, l.state, l.found)
		}
		return err
	})
	if err == nil && !there {
		err = NoJob("find", queue, id)
	}
	return job, err
}

// readFound returns a job with all that is kept of it.
func readFound(s *kv.Snapshot, k *keys, state State, f found) (Job, error) {
	job, err := readJob(s, k, f.claim.place)
	if err != nil {
		return job, err
	}
	job.State, job.Attempts, job.VisibleAt = state, f.claim.attempts, Millis(f.at)
	if state == Claimed {
		job.Receipt = Receipt{ID: job.ID, Until: f.at, Token: f.claim.token}
	}
	if job.Attempts > 0 {
		text, err := readFailures(s, k, job.ID)
		if err == nil {
			err = job.SetFailures(text)
		}
		return job, err
	}
	return job, nil
}
