package eventlog

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
)

// A group is at most so many appends and, roughly, so many bytes of data; one append may be larger.
const (
	groupAppends = 256
	groupBytes   = 1 << 20
)

// request is one Append that waits for its turn.
type request struct {
	Pending
	ctx        context.Context
	durability kv.Durability
	size       int
	chosen     bool      // told to lead, guarded by Log.mu
	wake       chan bool // true: lead the next group; false: the outcome is in Pending
}

var requests = sync.Pool{New: func() any { return &request{wake: make(chan bool, 1)} }}

// Append appends events to a stream (or to none, if stream is empty) as one transaction with at least the durability d,
// if the log is as expected; otherwise it is a Conflict with a [*ConflictError]. Without events it only checks the
// expectation. It returns when the events can be read. It keeps nothing of what it is given.
//
// If ctx ends before the commit began, nothing was appended and the error is Canceled.
func (l *Log) Append(ctx context.Context, d kv.Durability, stream string, expected Expected, events ...Draft) (Appended, error) {
	if err := l.check(stream, expected); err != nil {
		return Appended{}, err
	}
	if l.direct != nil && l.turn.tryAlone() {
		done, err := l.direct.append(ctx, d, stream, expected, events)
		if err == nil {
			l.bell.ring()
		}
		if !l.turn.leaveAlone() {
			l.next()
		}
		return done, err
	}
	r := requests.Get().(*request)
	defer requests.Put(r)
	defer r.clear()
	if err := r.set(ctx, d, stream, expected, events); err != nil {
		return Appended{}, err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return Appended{}, l.open("append")
	}
	l.queue = append(l.queue, r)
	lead := l.turn.take()
	l.mu.Unlock()
	if lead || l.await(r) {
		l.gather()
		l.lead(r)
	}
	return r.Appended, r.Err
}

// check refuses a stream or an expectation that is wrong.
func (l *Log) check(stream string, expected Expected) error {
	if stream != "" {
		if err := checkName("append", "stream", stream); err != nil {
			return err
		}
	}
	if expected.OfStream() {
		return l.streams("append", stream)
	}
	return nil
}

// set fills r with copies of the drafts, checked and each with a time.
func (r *request) set(ctx context.Context, d kv.Durability, stream string, expected Expected, events []Draft) error {
	r.ctx, r.durability, r.Stream, r.Expected = ctx, d, stream, expected
	r.Drafts = append(r.Drafts[:0], events...)
	var now time.Time
	for i := range r.Drafts {
		draft := &r.Drafts[i]
		if draft.Time.IsZero() {
			draft.Time = at(&now)
		}
		if err := checkEvent(draft.Type, draft.Time); err != nil {
			return err
		}
		r.size += len(draft.Data) + len(draft.Type)
	}
	return nil
}

// at returns now, which is the same for all events of an append and is looked up for the first that needs it.
func at(now *time.Time) time.Time {
	if now.IsZero() {
		*now = time.Now()
	}
	return *now
}

// clear lets r go of what it was given, to be used again.
func (r *request) clear() {
	clear(r.Drafts)
	r.Pending = Pending{Drafts: r.Drafts[:0]}
	r.ctx, r.size, r.chosen = nil, 0, false
}

// await waits for the outcome of a queued request, and reports whether it must lead instead.
func (l *Log) await(r *request) (lead bool) {
	select {
	case lead = <-r.wake:
	case <-r.ctx.Done():
		if l.withdraw(r) {
			r.Err = canceled(r.ctx)
			return false
		}
		lead = <-r.wake
	}
	return lead
}

// gather takes the next group, but first lets those whose commit just ended come back for it. Otherwise the first of
// them would lead alone, and the rest would wait for two commits each time.
func (l *Log) gather() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := 0; i < 4 && len(l.queue) < l.crowd; i++ {
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	}
	l.take()
}

// withdraw takes r out of the queue, unless its turn has come.
func (l *Log) withdraw(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.queue, r)
	if i < 0 || r.chosen {
		return false
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	return true
}

// lead commits the group that was taken, of which r is the first, and tells its members, then the next leader.
func (l *Log) lead(r *request) {
	l.commit(r)
	l.bell.ring()
	for _, m := range l.members {
		if m != r {
			m.wake <- false
		}
	}
	l.next()
}

// next tells the first in the queue to lead, and those that wait in Close if there is none.
func (l *Log) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > 0 {
		l.queue[0].chosen = true
		l.queue[0].wake <- true
		return
	}
	if l.closed {
		l.turn.end()
		l.idle.Broadcast()
		return
	}
	l.turn.leave(l.crowd)
}

// take moves a group from the queue to l.members: those at its head that ask for the same durability.
func (l *Log) take() {
	n, size := 0, 0
	for n < len(l.queue) && n < groupAppends && l.queue[n].durability == l.queue[0].durability {
		if size += l.queue[n].size; n > 0 && size > groupBytes {
			break
		}
		n++
	}
	l.members = append(l.members[:0], l.queue[:n]...)
	l.queue = slices.Delete(l.queue, 0, n)
	l.crowd = n
}

// commit commits l.members, which r leads. One that is too large, or whose ctx ends while the store is locked, fails alone.
func (l *Log) commit(r *request) {
	for {
		l.dropEnded(r)
		if r.Err != nil {
			l.putBack(r)
			return
		}
		err := l.commitGroup(r.durability)
		switch {
		case err == nil:
			return
		case errors.Is(err, kv.Canceled) && l.someEnded():
			continue
		case errors.Is(err, kv.TooLarge) && len(l.group) > 1:
			l.commitEach(r.durability)
		default:
			for _, p := range l.group {
				p.Appended, p.Err = Appended{}, err
			}
		}
		return
	}
}

// dropEnded tells the members whose context has ended so, and makes l.group of the rest. Only the leader r stays.
func (l *Log) dropEnded(r *request) {
	l.group = l.group[:0]
	l.members = slices.DeleteFunc(l.members, func(m *request) bool {
		if m.Err = nil; m.ctx.Err() == nil {
			l.group = append(l.group, &m.Pending)
			return false
		}
		m.Err = canceled(m.ctx)
		if m != r {
			m.wake <- false
		}
		return m != r
	})
}

// putBack returns the group to the head of the queue, without its leader r, whose context has ended.
func (l *Log) putBack(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.members, r)
	l.queue = slices.Insert(l.queue, 0, slices.Delete(l.members, i, i+1)...)
	l.members = l.members[:0]
}

// commitGroup gives up waiting for the store as soon as the context of any member ends.
func (l *Log) commitGroup(d kv.Durability) error {
	ctx, stop := untilAny(len(l.members), func(i int) context.Context { return l.members[i].ctx })
	defer stop()
	return l.backend.Commit(ctx, d, l.group)
}

// untilAny returns a context that ends as soon as one of n does, until stop.
func untilAny(n int, of func(i int) context.Context) (ctx context.Context, stop func()) {
	if n == 1 {
		return of(0), func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(of(0)))
	var stops []func() bool
	for i := range n {
		if c := of(i); c.Done() != nil {
			stops = append(stops, context.AfterFunc(c, cancel))
		}
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

func (l *Log) someEnded() bool {
	return slices.ContainsFunc(l.members, func(m *request) bool { return m.ctx.Err() != nil })
}

func (l *Log) commitEach(d kv.Durability) {
	for _, m := range l.members {
		if err := l.backend.Commit(m.ctx, d, []*Pending{&m.Pending}); err != nil {
			m.Appended, m.Err = Appended{}, err
		}
	}
}

func canceled(ctx context.Context) error {
	return &kv.Error{Op: "append", Kind: kv.Canceled, Err: ctx.Err()}
}
