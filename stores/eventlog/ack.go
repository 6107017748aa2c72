package eventlog

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/assaydb/assay/kv"
)

// acks has acknowledgements that wait for each other committed together, as appends are.
type acks struct {
	mu    sync.Mutex
	led   bool // one commits, or was told to
	queue []*ack
	crowd int // how many the last group had

	group []*ack // memory for his group who leads
	marks []*Mark
}

// ack is one acknowledgement.
type ack struct {
	Mark
	ctx        context.Context
	durability kv.Durability
	wake       chan bool // true: lead the next group; false: the outcome is in Mark
}

// acknowledge raises the bookmark of a subscription.
func (l *Log) acknowledge(ctx context.Context, d kv.Durability, name string, position uint64) error {
	a := &ack{Mark: Mark{Name: name, Position: position}, ctx: ctx, durability: d}
	if l.acks.enter(a) {
		l.commitAcks(l.acks.gather(a))
		l.acks.next()
	}
	return a.Err
}

// enter returns true if a must lead, and false once its outcome is there.
func (q *acks) enter(a *ack) (lead bool) {
	q.mu.Lock()
	if !q.led {
		q.led = true
		q.mu.Unlock()
		return true
	}
	a.wake = make(chan bool, 1)
	q.queue = append(q.queue, a)
	q.mu.Unlock()
	select {
	case lead = <-a.wake:
	case <-a.ctx.Done():
		if q.withdraw(a) {
			a.Err = ackCanceled(a.ctx)
			return false
		}
		lead = <-a.wake
	}
	return lead
}

// withdraw takes a out of the queue, unless its turn has come.
func (q *acks) withdraw(a *ack) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.queue, a)
	if i >= 0 {
		q.queue = slices.Delete(q.queue, i, i+1)
	}
	return i >= 0
}

// gather returns a with those in the queue that ask for the same durability. As with appends, those whose commit just
// ended may come back for it first.
func (q *acks) gather(a *ack) []*ack {
	group := append(q.group[:0], a)
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := 0; i < 4 && len(q.queue)+1 < q.crowd; i++ {
		q.mu.Unlock()
		runtime.Gosched()
		q.mu.Lock()
	}
	q.queue = slices.DeleteFunc(q.queue, func(m *ack) bool {
		if m.durability != a.durability || len(group) == groupAppends {
			return false
		}
		group = append(group, m)
		return true
	})
	q.crowd, q.group = len(group), group
	return group
}

// next tells the first in the queue to lead.
func (q *acks) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.led = len(q.queue) > 0; q.led {
		q.queue[0].wake <- true
		q.queue = slices.Delete(q.queue, 0, 1)
	}
}

// putBack returns acknowledgements to the head of the queue.
func (q *acks) putBack(group []*ack) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = slices.Insert(q.queue, 0, group...)
}

// commitAcks commits a group, which its first member leads, and tells the others. It gives up waiting for the store as
// soon as the context of a member ends: that one is Canceled, and the others begin anew.
func (l *Log) commitAcks(group []*ack) {
	leader := group[0]
	for leader.Err == nil && len(group) > 0 {
		err := l.setBookmarks(group)
		again := kv.KindOf(err) == kv.Canceled && slices.ContainsFunc(group, (*ack).ended)
		var rest []*ack
		for _, m := range group {
			switch {
			case !again:
				m.Err = cmp.Or(err, m.Err)
			case !m.ended():
				rest = append(rest, m)
				continue
			default:
				m.Err = ackCanceled(m.ctx)
			}
			if m != leader {
				m.wake <- false
			}
		}
		group = rest
	}
	l.acks.putBack(group)
}

func (a *ack) ended() bool { return a.ctx.Err() != nil }

func (l *Log) setBookmarks(group []*ack) error {
	marks := l.acks.marks[:0]
	for _, m := range group {
		marks = append(marks, &m.Mark)
	}
	l.acks.marks = marks
	ctx, stop := untilAny(len(group), func(i int) context.Context { return group[i].ctx })
	defer stop()
	return l.backend.SetBookmarks(ctx, group[0].durability, marks)
}

func ackCanceled(ctx context.Context) error {
	return &kv.Error{Op: "ack", Kind: kv.Canceled, Err: ctx.Err()}
}
