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
// guest is never the reason why a publish fails, or waits: then it is published alone, and the guest
// looks by itself.

// invite sets guests to those who wait for the jobs that a group publishes, and takes them out of
// their lines.
func (s *Store) invite(d kv.Durability, group []*request) {
	s.guests = s.guests[:0]
	if s.traits.Alike {
		return
	}
	for _, r := range group {
		switch r.Verb {
		case Publish:
			for i := range r.Drafts {
				if r.Drafts[i].Delay < time.Millisecond {
					r.line.offered++
				}
			}
		case Claim:
			r.line.offered -= r.Limit
		}
	}
	for _, r := range group {
		if r.line.offered > 0 {
			s.guests = r.line.invite(s.guests, d, r.line.offered)
		}
		r.line.offered = 0
	}
}

// invite appends the first n who wait to guests, up to one who asks for more than the durability d.
func (l *line) invite(guests []*waiter, d kv.Durability, n int) []*waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := 0
	for i < min(n, len(l.waiting)) && d <= l.waiting[i].class {
		i++
	}
	guests = append(guests, l.waiting[:i]...)
	l.waiting = slices.Delete(l.waiting, 0, i)
	return guests
}

// commitWithGuests commits a group, whose operations are in s.group, and the claims of guests after
// it. It gives up waiting for the store as soon as the context of one of them ends.
func (s *Store) commitWithGuests(ctx context.Context, d kv.Durability, group []*request) error {
	done := false
	defer func() {
		for _, w := range s.guests {
			w.serve(done)
		}
		clear(s.guests)
	}()
	all := s.group
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, w := range s.guests {
		all = append(all, &w.op)
		if w.ctx.Done() != nil {
			defer context.AfterFunc(w.ctx, cancel)()
		}
	}
	err := s.backend.Commit(ctx, d, all)
	s.group = all[:len(group)]
	if err != nil {
		return err
	}
	done = true
	for _, w := range s.guests {
		w.line.left = &w.op
	}
	for _, r := range group { // what those who still wait are told of
		if left := r.line.left; left != nil {
			r.Ready, r.Due = left.Ready, left.Due
		}
	}
	for _, w := range s.guests {
		w.line.left = nil
	}
	return nil
}

// serve wakes a guest, whose claim was done or not.
func (w *waiter) serve(done bool) {
	w.line.mu.Lock()
	defer w.line.mu.Unlock()
	if !done {
		w.op.clear()
	}
	if len(w.op.Jobs) > 0 {
		w.line.pause = firstPoll
	} else {
		w.line.coming++
	}
	w.wake <- struct{}{}
}
