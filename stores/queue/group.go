package queue

import (
	"context"
	"errors"
	"sync"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/groupcommit"
)

// A group is at most so many operations of, roughly, so many bytes; one may be larger. A job counts
// as jobBytes at least, so that a group is on few enough jobs, too.
const (
	groupOps   = 256
	groupBytes = 1 << 20
	jobBytes   = groupBytes / 4096
)

// request is one call that waits for its turn.
type request struct {
	Op
	line *line
	size int // bytes of payload
	call groupcommit.Call[request]
}

var requests = sync.Pool{New: func() any {
	r := &request{}
	r.call.Work = r
	return r
}}

// newGroup returns what commits requests that meet together.
func (s *Store) newGroup() *groupcommit.Committer[request] {
	rules := groupcommit.Rules[request]{
		Name:   "the store of queues",
		Commit: s.commit,
		Fail: func(r *request, err error) {
			r.clear()
			r.Err = err
		},
		Op:       func(r *request) string { return r.Verb.String() },
		Done:     s.settle,
		MaxCalls: groupOps,
		MaxSize:  groupBytes,
	}
	if b, ok := s.backend.(*kvBackend); ok {
		rules.MayWait = b.db.MayWait
	}
	return groupcommit.New(rules)
}

// request returns a request that the caller completes, gives to do, and releases.
func (q *Queue) request(verb Verb) *request {
	r := requests.Get().(*request)
	r.Verb, r.Queue, r.Settings, r.Clock, r.line = verb, q.name, &q.settings, q.store.options.Clock, q.line
	return r
}

func (r *request) release() {
	clear(r.Drafts)
	r.Op = Op{Drafts: r.Drafts[:0], Receipts: r.Receipts[:0], IDs: r.IDs[:0]}
	r.line, r.size = nil, 0
	requests.Put(r)
}

// jobs is on how many jobs r works at most.
func (r *request) jobs() int { return r.Limit + len(r.Drafts) + len(r.Receipts) + len(r.IDs) }

// do commits r, together with others that wait at the same time, and returns its error.
func (s *Store) do(ctx context.Context, d kv.Durability, r *request) error {
	r.call.Size = max(r.size, r.jobs()*jobBytes)
	s.requests.Do(ctx, d, &r.call)
	return r.Err
}

// commit is called by one goroutine at a time.
func (s *Store) commit(ctx context.Context, d kv.Durability, group []*request) error {
	s.group = s.group[:0]
	free := 0
	for _, r := range group {
		s.group = append(s.group, &r.Op)
		if free += len(r.Drafts); r.Verb == Claim {
			free -= r.Limit
		}
	}
	if s.invite(d, group, free); len(s.guests) > 0 {
		err := s.commitWithGuests(ctx, d, group)
		if err == nil || errors.Is(err, kv.InDoubt) || errors.Is(err, kv.Busy) && !errors.Is(err, kv.Canceled) {
			return err // which is not for the guests' sake, or not to be done again
		}
	}
	return s.backend.Commit(ctx, d, s.group)
}

// settle tells those who wait for jobs what a group left.
func (s *Store) settle(group []*request) {
	for _, r := range group {
		if r.Err == nil {
			s.settled(r.line, &r.Op)
		}
	}
}
