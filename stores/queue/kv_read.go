package queue

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
)

// Counts implements Backend. Jobs whose delay or lease has ended count as ready, unless they will
// be dead or are too old, which only a Claim or Sweep decides.
func (b *kvBackend) Counts(ctx context.Context, queue string, now int64) (c Counts, err error) {
	k := newKeys(queue)
	r := kv.Range{Start: k.timer, End: append([]byte(nil), k.timerAt(now+1, 0)...)}
	if low, ok := b.lows.Load(queue); ok {
		r.Start = append([]byte(nil), k.timerAt(low.(*atomic.Int64).Load(), 0)...)
	}
	err = b.viewQueue(ctx, &k, func(s *kv.Snapshot, stored *stats) error {
		c = stored.counts
		for _, claim := range stored.slots {
			if claim.until <= now {
				c.Ready++
				c.Claimed--
			}
		}
		for key, value := range s.Scan(r) {
			t, err := parseTimer(key, value)
			if err != nil {
				return err
			}
			if c.Ready++; t.kind == timerDelay {
				c.Delayed--
			} else {
				c.Claimed--
			}
		}
		return nil
	})
	return c, err
}

// viewQueue calls fn with a queue's stats, unless nothing was ever published to it.
func (b *kvBackend) viewQueue(ctx context.Context, k *keys, fn func(*kv.Snapshot, *stats) error) error {
	return b.db.View(ctx, func(s *kv.Snapshot) error {
		v, err := s.Get(k.queue)
		if errors.Is(err, kv.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		stored, err := parseStats(k.queue, v)
		if err != nil {
			return err
		}
		return fn(s, &stored)
	})
}

// List implements Backend.
func (b *kvBackend) List(ctx context.Context, queue string, state State, limit int) (jobs []Job, err error) {
	k := newKeys(queue)
	err = b.viewQueue(ctx, &k, func(s *kv.Snapshot, stored *stats) error {
		list, err := findState(s, &k, stored, state, limit)
		if err != nil {
			return err
		}
		for _, f := range list {
			job, err := readFound(s, &k, state, f)
			if err != nil {
				return err
			}
			jobs = append(jobs, job)
		}
		return nil
	})
	return jobs, err
}

// Queues implements Backend.
func (b *kvBackend) Queues(ctx context.Context) (names []string, err error) {
	err = b.db.View(ctx, func(s *kv.Snapshot) error {
		names, err = queuesIn(s)
		return err
	})
	return names, err
}

// queuesIn returns the names of all queues, sorted.
func queuesIn(s *kv.Snapshot) (names []string, err error) {
	for key := range s.Scan(kv.Prefix([]byte{queuePrefix})) {
		name, _, ok := kv.CutString(key[1:])
		if !ok {
			return nil, corrupt("key %q is not that of a queue", key)
		}
		names = append(names, name)
	}
	return names, s.Err()
}
