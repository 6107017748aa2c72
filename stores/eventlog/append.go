package eventlog

import (
	"context"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/groupcommit"
)

// A group is at most so many appends and, roughly, so many bytes of data; one append may be larger.
const (
	groupAppends = 256
	groupBytes   = 1 << 20
)

// request is one Append that waits for its turn.
type request struct {
	Pending
	call groupcommit.Call[Pending]
}

var requests = sync.Pool{New: func() any {
	r := &request{}
	r.call.Work = &r.Pending
	return r
}}

// newAppends returns what commits appends that meet together.
func (l *Log) newAppends() *groupcommit.Committer[Pending] {
	return groupcommit.New(groupcommit.Rules[Pending]{
		Name:     "the log",
		Commit:   l.backend.Commit,
		Fail:     func(p *Pending, err error) { p.Appended, p.Err = Appended{}, err },
		Op:       func(*Pending) string { return "append" },
		Done:     func([]*Pending) { l.bell.ring() },
		MaxCalls: groupAppends,
		MaxSize:  groupBytes,
	})
}

// Append appends events to a stream (or to none, if stream is empty) as one transaction with at least the durability d,
// if the log is as expected; otherwise it is a Conflict with a [*ConflictError]. Without events it only checks the
// expectation. It returns when the events can be read. It keeps nothing of what it is given.
//
// If ctx ends before the commit began, nothing was appended and the error is Canceled.
func (l *Log) Append(ctx context.Context, d kv.Durability, stream string, expected Expected, events ...Draft) (Appended, error) {
	if err := l.check(stream, expected); err != nil {
		return Appended{}, err
	}
	if l.direct != nil {
		var done Appended
		var err error
		if l.appends.Alone(func() { done, err = l.direct.append(ctx, d, stream, expected, events) }) {
			if err == nil {
				l.bell.ring()
			}
			return done, err
		}
	}
	r := requests.Get().(*request)
	defer requests.Put(r)
	defer r.clear()
	if err := r.set(stream, expected, events); err != nil {
		return Appended{}, err
	}
	l.appends.Do(ctx, d, &r.call)
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
func (r *request) set(stream string, expected Expected, events []Draft) error {
	r.Stream, r.Expected = stream, expected
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
		r.call.Size += len(draft.Data) + len(draft.Type)
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
	r.call.Size = 0
}

func canceled(ctx context.Context) error {
	return &kv.Error{Op: "append", Kind: kv.Canceled, Err: ctx.Err()}
}
