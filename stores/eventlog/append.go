package eventlog

import (
	"context"
	"fmt"
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
		Fail:     func(p *Pending, err error) { p.fail(err) },
		Op:       func(*Pending) string { return "append" },
		Done:     func([]*Pending) { l.bell.Ring() },
		MayWait:  l.mayWait(),
		MaxCalls: groupAppends,
		MaxSize:  groupBytes,
	})
}

// Append appends events to a stream (or to none, if stream is empty) as one transaction with at
// least the durability d, if the log is as expected; otherwise it is a Conflict with a
// [*ConflictError]. Without events it only checks the expectation. It returns when the events can
// be read. It keeps nothing of what it is given.
//
// If ctx ends before the commit began, nothing was appended and the error is Canceled.
func (l *Log) Append(ctx context.Context, d kv.Durability, stream string, expected Expected, events ...Draft) (Appended,
	error) {
	if err := l.check(stream, expected); err != nil {
		return Appended{}, err
	}
	if l.direct != nil {
		var done Appended
		var err error
		if l.appends.Alone(func() { done, err = l.direct.append(ctx, d, stream, expected, events) }) {
			if err == nil {
				l.bell.Ring()
			}
			return done, err
		}
	}
	r := requests.Get().(*request)
	defer requests.Put(r)
	defer r.clear()
	r.Stream, r.Expected = stream, expected
	var err error
	if r.Drafts, r.call.Size, err = checked(r.Drafts, events); err != nil {
		return Appended{}, err
	}
	if err := r.checkIDs(); err != nil {
		return Appended{}, err
	}
	l.appends.Do(ctx, d, &r.call)
	return r.Appended, r.Err
}

// Part is what an append of several parts appends to one stream.
type Part struct {
	Stream   string // "" is none
	Expected Expected
	Events   []Draft
}

// AppendParts appends to several streams as one transaction, if all is as expected before it;
// otherwise nothing is appended. It returns where the events of each part are. A stream that has a
// name may be in one part only. See Append.
func (l *Log) AppendParts(ctx context.Context, d kv.Durability, parts ...Part) ([]Appended, error) {
	if len(parts) == 0 {
		return nil, l.open("append")
	}
	r := requests.Get().(*request)
	defer requests.Put(r)
	defer r.clear()
	seen := map[string]bool{}
	for i, part := range parts {
		if err := l.check(part.Stream, part.Expected); err != nil {
			return nil, err
		}
		if seen[part.Stream] {
			return nil, invalid("append", fmt.Errorf("stream %q in two parts", part.Stream),
				"give its events as one part")
		}
		seen[part.Stream] = part.Stream != ""
		drafts, size, err := checked(nil, part.Events)
		if err != nil {
			return nil, err
		}
		r.call.Size += size
		p := Pending{Stream: part.Stream, Expected: part.Expected, Drafts: drafts}
		if i == 0 {
			r.Pending = p
		} else {
			r.More = append(r.More, &p)
		}
	}
	if err := r.checkIDs(); err != nil {
		return nil, err
	}
	l.appends.Do(ctx, d, &r.call)
	if r.Err != nil {
		return nil, r.Err
	}
	all := []Appended{r.Appended}
	for _, p := range r.More {
		all = append(all, p.Appended)
	}
	return all, nil
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

// checked returns copies of the drafts, in the memory of to, checked and each with a time, and
// their size in bytes.
func checked(to, events []Draft) (drafts []Draft, size int, err error) {
	to = append(to[:0], events...)
	var now time.Time
	for i := range to {
		d := &to[i]
		if d.Time.IsZero() {
			d.Time = at(&now)
		}
		if err := checkDraft(d, d.Time, ""); err != nil {
			return to, 0, err
		}
		size += len(d.Data) + len(d.Type)
	}
	return to, size, nil
}

// at returns now, which is the same for all events of an append and is looked up for the first that
// needs it.
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
