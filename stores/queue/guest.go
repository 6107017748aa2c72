package queue

import (
	"context"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
)

// A guest is one who waits in Next and whose claim is done by the transaction that publishes a job:
// in a key-value store a claim changes nothing but the queue's own value, which that transaction
// writes anyway. So what is published to those who wait costs one commit, and not two. A claim of a
// guest is never the reason why a publish fails, or waits: then it is published alone, and the
// guest looks by itself.

// invite sets s.guests to those who wait for the jobs that a group publishes, of which so many are
// free for them, and takes them out of their lines. The first who asks for more than the durability
// d, and those behind, stay.
func (s *Store) invite(d kv.Durability, group []*request, free int) {
	s.guests = s.guests[:0]
	for _, r := range group {
		if r.Verb != Publish || free <= 0 || s.traits.Alike {
			continue
		}
		l, n := r.line, 0
		l.mu.Lock()
		for i := range r.Drafts {
			if n < min(free, len(l.waiting)) && r.Drafts[i].Delay < time.Millisecond && d <= l.waiting[n].class {
				n++
			}
		}
		s.guests = append(s.guests, l.waiting[:n]...)
		l.waiting = slices.Delete(l.waiting, 0, n)
		l.mu.Unlock()
		free -= n
	}
}

// commitWithGuests commits a group, whose operations are in s.group, and behind it the claims of
// s.guests. It gives up waiting for the store as soon as the context of one of them ends.
func (s *Store) commitWithGuests(ctx context.Context, d kv.Durability, group []*request) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := s.group
	for _, w := range s.guests {
		all = append(all, &w.op)
		defer context.AfterFunc(w.ctx, cancel)()
	}
	done := false
	defer func() {
		for _, w := range s.guests {
			w.serve(done)
		}
		clear(s.guests)
	}()
	if err := s.backend.Commit(ctx, d, all); err != nil {
		return err
	}
	done = true
	for _, w := range s.guests {
		for _, r := range group {
			if r.line == w.line { // those who still wait are told of what the guests left
				r.Ready, r.Due = w.op.Ready, w.op.Due
			}
		}
	}
	return nil
}

// serve wakes a guest, whose claim was done or not.
func (w *waiter) serve(done bool) {
	w.line.mu.Lock()
	defer w.line.mu.Unlock()
	if w.line.pause = firstPoll; !done {
		w.op.clear()
	}
	if len(w.op.Jobs) == 0 {
		w.line.coming++
	}
	w.wake <- struct{}{}
}
