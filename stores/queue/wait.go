package queue

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydb/assay/kv"
)

// Next is Claim that waits until there is at least one job, or ctx ends. Those that wait longest
// are served first. Who waits when the Store publishes a job, with a class as good as d, is given
// it by the commit that publishes: that is a claim as any other, and no commit of its own.
func (q *Queue) Next(ctx context.Context, d kv.Durability, limit int) ([]Job, error) {
	return q.await(ctx, d, limit, nil)
}

// await is Next, for one who has looked since the news were as seen, if that is not nil, and found
// nothing.
func (q *Queue) await(ctx context.Context, d kv.Durability, limit int, seen *uint64) ([]Job, error) {
	w := &waiter{line: q.line, wake: make(chan struct{}, 1), ctx: ctx, class: d, op: Op{Verb: Claim, Queue: q.name,
		Settings: &q.settings, Clock: q.store.options.Clock, Limit: limit, After: q.settings.Lease}}
	for woken := false; ; seen = nil {
		if seen == nil {
			news := q.line.arrive(woken)
			jobs, err := q.Claim(ctx, d, limit)
			if err != nil && woken {
				q.line.passOn() // what this one was woken for is still there
			}
			if err != nil || len(jobs) > 0 {
				return jobs, err
			}
			seen = &news
		}
		if woken = q.line.join(w, *seen); woken {
			if err := w.wait(q.store.done); err != nil || len(w.op.Jobs) > 0 {
				return w.op.Jobs, err
			}
		}
	}
}

// wait waits until w is woken. It returns an error if it has left the line instead.
func (w *waiter) wait(closed <-chan struct{}) error {
	err := errClosed("claim")
	select {
	case <-w.wake:
		return nil
	case <-w.ctx.Done():
		err = canceled("claim", w.ctx)
	case <-closed:
	}
	if w.line.leave(w); len(w.op.Jobs) > 0 {
		return nil
	}
	return err
}

// line is those who wait for jobs of one queue. A commit that publishes serves them; any other
// wakes as many of them as there are jobs ready, and a timer one when the next job may become ready
// by the clock; where others may change the queue, one now and then.
type line struct {
	store   *Store
	swept   atomic.Int64 // when the queue was swept last
	sweptTo atomic.Int64 // where that sweep goes on: see Sweep, the Verb
	tally

	mu      sync.Mutex
	waiting []*waiter     // the one that waits longest first
	coming  int           // were woken, and did not look yet
	news    uint64        // grows when jobs are ready
	due     int64         // when a job may become ready by the clock, 0 for never
	order   uint64        // of the operation that told of due
	pause   time.Duration // after what time to look for what others did
	timer   *time.Timer
}

// firstPoll is how soon a waiter looks for what others did when there was a job just now. As long
// as there is none, it looks half as often each time, down to Options.Poll.
const firstPoll = time.Millisecond

// longestSleep is after what time the clock is looked at again. Timers stand still while the
// machine sleeps, the clock does not, and it may be set.
var longestSleep = 30 * time.Second

// waiter is a call of Next. It is in line.waiting from join until it is woken, leaves, or is the
// guest of a commit, which wakes it when it has ended.
type waiter struct {
	line  *line
	wake  chan struct{}
	ctx   context.Context
	class kv.Durability
	op    Op // its claim: without jobs it is to look by itself
}

// settle tells the line what a committed operation left.
func (l *line) settle(op *Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op.order >= l.order { // an earlier one does not know of what a later one has delayed
		l.due, l.order = op.Due, op.order
	}
	ready := op.Ready
	if op.Verb == Claim {
		if l.pause *= 2; len(op.Jobs) > 0 {
			l.pause = firstPoll
		} else {
			ready = 0 // whatever a damaged counter says
		}
	}
	if ready > 0 {
		l.news++
	}
	if len(l.waiting) > 0 {
		l.wake(ready - l.coming)
		l.arm()
	}
}

// wake wakes up to n waiters.
func (l *line) wake(n int) {
	n = min(n, len(l.waiting))
	if n <= 0 {
		return
	}
	for _, w := range l.waiting[:n] {
		w.wake <- struct{}{}
	}
	l.waiting = slices.Delete(l.waiting, 0, n)
	l.coming += n
}

// Wake wakes one who waits for jobs of a queue, because another process, or another Store, has
// published some. It is for backends.
func (s *Store) Wake(queue string) {
	s.mu.Lock()
	l := s.lines[queue]
	s.mu.Unlock()
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.news++
	l.wake(1 - l.coming)
}

// peers are the Stores over the same keys of one opening of a store: what one of them commits,
// those who wait at the others are told of.
type peers struct {
	several atomic.Bool
	mu      sync.Mutex
	all     []*Store
}

func (p *peers) join(s *Store) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, s)
	p.several.Store(len(p.all) > 1)
}

func (p *peers) leave(s *Store) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(other *Store) bool { return other == s })
	p.several.Store(len(p.all) > 1)
}

// settled tells the line, and those of the same queue at other Stores, what a committed operation
// left. That a claim found nothing is no news: those who wait would wake each other for ever.
func (s *Store) settled(l *line, op *Op) {
	l.settle(op)
	some := op.Ready > 0 || op.Due > 0
	if op.Verb == Claim {
		some = len(op.Jobs) > 0
	}
	if !some || s.peers == nil || !s.peers.several.Load() {
		return
	}
	s.peers.mu.Lock()
	defer s.peers.mu.Unlock()
	for _, other := range s.peers.all {
		if other != s {
			other.Wake(op.Queue)
		}
	}
}

// arrive tells that a waiter is about to look, and whether because it was woken. It returns the
// news so far.
func (l *line) arrive(woken bool) (news uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if woken {
		l.coming--
	}
	return l.news
}

// join adds a waiter, unless there was news since it looked.
func (l *line) join(w *waiter, seen uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.news != seen {
		return false
	}
	l.waiting = append(l.waiting, w)
	l.arm()
	return true
}

// leave takes back a waiter. If it was woken meanwhile, another is instead; a commit whose guest it
// is gives up waiting for the store, or ends.
func (l *line) leave(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, w); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		return
	}
	l.mu.Unlock()
	<-w.wake
	l.mu.Lock()
	if len(w.op.Jobs) == 0 {
		l.coming--
		l.wake(1)
	}
}

// passOn wakes another waiter instead of one that could not look.
func (l *line) passOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake(1)
}

// arm sets the timer for those who wait.
func (l *line) arm() {
	after := time.Duration(math.MaxInt64)
	if l.due > 0 {
		after = min(max(0, time.Duration(l.due-l.store.now())*time.Millisecond), longestSleep)
	}
	if l.store.traits.Shared {
		l.pause = min(max(l.pause, firstPoll), l.store.options.Poll)
		after = min(after, l.pause)
	}
	switch {
	case len(l.waiting) == 0 || after == math.MaxInt64:
		if l.timer != nil {
			l.timer.Stop()
		}
	case l.timer == nil:
		l.timer = time.AfterFunc(after, l.ring)
	default:
		l.timer.Reset(after)
	}
}

// ring is the timer's. The waiter that it wakes sets the timer again when it has looked.
func (l *line) ring() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.store.traits.Shared && l.due > l.store.now() {
		l.arm()
		return
	}
	l.wake(1)
}

func (l *line) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
}
