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
	a, err := l.check(stream, expected, events)
	if err != nil {
		return Appended{}, err
	}
	if l.direct != nil && l.turn.tryAlone() {
		done, err := l.direct.append(ctx, d, &a, events)
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
	r.set(ctx, d, &a, events)
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

// arguments are those of an append that need no copy, checked.
type arguments struct {
	stream   string
	expected Expected
	now      time.Time // of drafts without a time
	size     int       // of the drafts
}

// check refuses wrong arguments.
func (l *Log) check(stream string, expected Expected, events []Draft) (a arguments, err error) {
	a.stream, a.expected = stream, expected
	if stream != "" {
		if err := checkName("append", "stream", stream); err != nil {
			return a, err
		}
	}
	if expected.OfStream() {
		if err := l.streams("append", stream); err != nil {
			return a, err
		}
	}
	for i := range events {
		draft := &events[i]
		if i == 0 || draft.Type != events[i-1].Type {
			if err := draft.checkType(); err != nil {
				return a, err
			}
		}
		if s := draft.Time.Unix(); s < firstSecond || s > lastSecond { // the zero Time is, too
			if !draft.Time.IsZero() {
				if err := draft.checkTime(); err != nil {
					return a, err
				}
			} else if a.now.IsZero() {
				a.now = time.Now()
			}
		}
		a.size += len(draft.Data) + len(draft.Type)
	}
	return a, nil
}

func (r *request) set(ctx context.Context, d kv.Durability, a *arguments, events []Draft) {
	r.ctx, r.durability, r.size, r.Stream, r.Expected = ctx, d, a.size, a.stream, a.expected
	r.Drafts = append(r.Drafts[:0], events...)
	for i := range r.Drafts {
		if draft := &r.Drafts[i]; draft.Time.IsZero() {
			draft.Time = a.now
		}
	}
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
	if len(l.members) == 1 {
		return l.backend.Commit(l.members[0].ctx, d, l.group)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.members[0].ctx))
	defer cancel()
	for _, m := range l.members {
		if m.ctx.Done() != nil {
			defer context.AfterFunc(m.ctx, cancel)()
		}
	}
	return l.backend.Commit(ctx, d, l.group)
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
