package queue

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/assaydb/assay/kv"
)

// A group is at most so many operations on so many jobs and, roughly, so many bytes of payload; one may be larger.
const (
	groupOps   = 256
	groupJobs  = 4096
	groupBytes = 1 << 20
)

// request is one call that waits for its turn.
type request struct {
	Op
	line       *line
	ctx        context.Context
	durability kv.Durability
	size       int       // bytes of payload
	chosen     bool      // told to lead, guarded by Store.mu
	wake       chan bool // true: lead the next group; false: the outcome is in Op
}

var requests = sync.Pool{New: func() any { return &request{wake: make(chan bool, 1)} }}

// request returns a request that the caller completes, gives to do, and releases.
func (q *Queue) request(verb Verb) *request {
	r := requests.Get().(*request)
	r.Verb, r.Queue, r.Settings, r.Clock, r.line = verb, q.name, &q.settings, q.store.options.Clock, q.line
	return r
}

func (r *request) release() {
	clear(r.Drafts)
	*r = request{Op: Op{Drafts: r.Drafts[:0], Receipts: r.Receipts[:0], IDs: r.IDs[:0]}, wake: r.wake}
	requests.Put(r)
}

// jobs is on how many jobs r works at most.
func (r *request) jobs() int { return r.Limit + len(r.Drafts) + len(r.Receipts) + len(r.IDs) }

// do commits r, together with others that wait at the same time, and returns its error.
func (s *Store) do(ctx context.Context, d kv.Durability, r *request) error {
	r.ctx, r.durability = ctx, d
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed(r.Verb.String())
	}
	alone := !s.leading && s.crowd <= 1
	lead := !s.leading
	s.leading = true
	if alone { // nobody waits
		s.members, s.crowd = append(s.members[:0], r), 1
	} else {
		s.pending = append(s.pending, r)
	}
	s.mu.Unlock()
	switch {
	case alone:
		s.lead(r)
	case lead || s.await(r):
		s.gather()
		s.lead(r)
	}
	return r.Err
}

// await waits for the outcome of a pending request, and reports whether it must lead instead.
func (s *Store) await(r *request) (lead bool) {
	select {
	case lead = <-r.wake:
	case <-r.ctx.Done():
		if s.withdraw(r) {
			r.Err = canceled(r.Verb.String(), r.ctx)
			return false
		}
		lead = <-r.wake
	}
	return lead
}

// withdraw takes r out of those that wait, unless its turn has come.
func (s *Store) withdraw(r *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.pending, r)
	if i < 0 || r.chosen {
		return false
	}
	s.pending = slices.Delete(s.pending, i, i+1)
	return true
}

// gather takes the next group, but first lets those whose commit just ended come back for it. Otherwise the first of
// them would lead alone, and the rest would wait for two commits each time.
func (s *Store) gather() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 0; i < 4 && len(s.pending) < s.crowd; i++ {
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
	}
	s.take()
}

// take moves a group from the head of those that wait to s.members: those that ask for the same durability.
func (s *Store) take() {
	n, jobs, size := 0, 0, 0
	for n < len(s.pending) && n < groupOps && s.pending[n].durability == s.pending[0].durability {
		jobs += s.pending[n].jobs()
		if size += s.pending[n].size; n > 0 && (size > groupBytes || jobs > groupJobs) {
			break
		}
		n++
	}
	s.members = append(s.members[:0], s.pending[:n]...)
	s.pending = slices.Delete(s.pending, 0, n)
	s.crowd = n
}

// lead commits the group that was taken, of which r is the first, and tells its members, then the next leader.
func (s *Store) lead(r *request) {
	s.commit(r)
	for _, m := range s.members {
		if m.Err == nil {
			m.line.settle(&m.Op)
		}
	}
	for _, m := range s.members {
		if m != r {
			m.wake <- false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		s.leading = false
		s.idle.Broadcast()
		return
	}
	s.pending[0].chosen = true
	s.pending[0].wake <- true
}

// commit commits s.members, which r leads. One that is too large, or whose ctx ends while the store is locked, fails alone.
func (s *Store) commit(r *request) {
	for {
		s.dropEnded(r)
		if r.Err != nil {
			s.putBack(r)
			return
		}
		err := s.commitGroup(r.durability)
		switch {
		case err == nil:
			return
		case errors.Is(err, kv.Canceled) && s.someEnded():
			continue
		case len(s.group) > 1 && kv.KindOf(err) == kv.TooLarge:
			s.commitEach(r.durability)
		default:
			for _, op := range s.group {
				op.clear()
				op.Err = err
			}
		}
		return
	}
}

// dropEnded tells the members whose context has ended so, and makes s.group of the rest. Only the leader r stays.
func (s *Store) dropEnded(r *request) {
	s.group = s.group[:0]
	s.members = slices.DeleteFunc(s.members, func(m *request) bool {
		if m.Err = nil; m.ctx.Err() == nil {
			s.group = append(s.group, &m.Op)
			return false
		}
		m.Err = canceled(m.Verb.String(), m.ctx)
		if m != r {
			m.wake <- false
		}
		return m != r
	})
}

// putBack returns the group to the head of those that wait, without its leader r, whose context has ended.
func (s *Store) putBack(r *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.members, r)
	s.pending = slices.Insert(s.pending, 0, slices.Delete(s.members, i, i+1)...)
	s.members = s.members[:0]
}

// commitGroup gives up waiting for the store as soon as the context of any member ends.
func (s *Store) commitGroup(d kv.Durability) error {
	ctx, several := s.members[0].ctx, false
	for _, m := range s.members[1:] {
		switch {
		case m.ctx.Done() == nil || m.ctx.Done() == ctx.Done():
		case ctx.Done() == nil:
			ctx = m.ctx
		default:
			several = true
		}
	}
	if !several {
		return s.backend.Commit(ctx, d, s.group)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	for _, m := range s.members {
		if m.ctx.Done() != nil {
			defer context.AfterFunc(m.ctx, cancel)()
		}
	}
	return s.backend.Commit(ctx, d, s.group)
}

func (s *Store) someEnded() bool {
	return slices.ContainsFunc(s.members, func(m *request) bool { return m.ctx.Err() != nil })
}

func (s *Store) commitEach(d kv.Durability) {
	for _, m := range s.members {
		if err := s.backend.Commit(m.ctx, d, []*Op{&m.Op}); err != nil {
			m.clear()
			m.Err = err
		}
	}
}
