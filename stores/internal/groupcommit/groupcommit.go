// Package groupcommit has calls that meet share a commit. One commits alone; those that come
// meanwhile wait for it and go together next. So many goroutines pay for few commits, and one
// goroutine pays nothing for the others.
package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/assaydb/assay/kv"
)

// Rules say what a [Committer] commits, and how.
type Rules[T any] struct {
	// Name is what is closed by Close, in error messages: "the log".
	Name string

	// Commit does the work of a group in order and as one transaction, and sets the outcome of
	// each. If it returns an error nothing was done: Canceled means that ctx ended before the
	// commit began. It keeps nothing of group, and is called by one goroutine at a time.
	Commit func(ctx context.Context, d kv.Durability, group []*T) error

	// Fail makes err the outcome of work that was not done.
	Fail func(work *T, err error)

	// MayWait returns an error if the caller must not wait for others, as for [kv.DB.MayWait]: its
	// work then fails. It may be nil.
	MayWait func(ctx context.Context) error

	// Op names work in error messages.
	Op func(work *T) string

	// Done is told of each group that Commit was called for, whatever its outcome, before the calls
	// return. It may be nil.
	Done func(group []*T)

	// MaxCalls and MaxSize are the most calls of a group, and the most that their Size adds up to.
	// A call that is larger goes alone.
	MaxCalls, MaxSize int
}

// Committer commits the work of calls. Its methods may be called concurrently.
type Committer[T any] struct {
	rules Rules[T]
	turn  turn

	mu      sync.Mutex
	idle    sync.Cond  // signalled when the turn has stopped
	waiting []*Call[T] // in the order of their coming
	crowd   int        // how many calls the last group had that was taken from waiting
	stopped error      // why no call is taken any more: Close, or a panic

	members []*Call[T] // the group that is committed; this and group are his who has the turn
	group   []*T
}

// New returns a Committer that follows rules.
func New[T any](rules Rules[T]) *Committer[T] {
	c := &Committer[T]{rules: rules}
	c.idle.L = &c.mu
	return c
}

// Call is a call of [Committer.Do]. Its memory can be used again for another.
type Call[T any] struct {
	Work *T
	Size int // counts towards Rules.MaxSize

	ctx        context.Context
	durability kv.Durability
	chosen     bool      // told to lead, guarded by Committer.mu
	wake       chan bool // true: lead the next group; false: the outcome is in Work
}

// Do commits the work of call with at least the durability d, together with others that wait at the
// same time. It returns when the outcome is set. If ctx ends before the commit began, that is
// Canceled.
//
// If the commit panics, so does the call that led it; the others of its group are InDoubt. What the
// store keeps in memory may then be wrong, so every later call is Closed.
func (c *Committer[T]) Do(ctx context.Context, d kv.Durability, call *Call[T]) {
	call.ctx, call.durability, call.chosen = ctx, d, false
	if c.turn.tryAlone() {
		c.members = append(c.members, call)
		c.lead(call)
		return
	}
	if c.rules.MayWait != nil {
		if err := c.rules.MayWait(ctx); err != nil {
			c.rules.Fail(call.Work, err)
			return
		}
	}
	if call.wake == nil {
		call.wake = make(chan bool, 1)
	}
	c.mu.Lock()
	if err := c.stopped; err != nil {
		c.mu.Unlock()
		c.refuse(call, err)
		return
	}
	c.waiting = append(c.waiting, call)
	lead := c.turn.take()
	c.mu.Unlock()
	if lead || c.await(call) {
		c.gather()
		c.lead(call)
	}
}

// Alone runs commit if nobody commits or waits, and reports whether it did. It is the way past the
// group: commit needs no Call. Rules.Done is not told of it.
func (c *Committer[T]) Alone(commit func()) bool {
	if !c.turn.tryAlone() {
		return false
	}
	ended := false
	defer func() { c.end(nil, ended) }()
	commit()
	ended = true
	return true
}

// Waiting returns how many calls wait for a turn.
func (c *Committer[T]) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// Close waits for the calls that came before it; later ones are Closed. It may be called more than
// once.
func (c *Committer[T]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped == nil {
		c.stopped = fmt.Errorf("%s is closed", c.rules.Name)
	}
	for !c.turn.stop() {
		c.idle.Wait()
	}
}

// refuse refuses call because the committer has stopped.
func (c *Committer[T]) refuse(call *Call[T], err error) {
	hint := ""
	if errors.Is(err, errPanicked) {
		hint = "close the store and open it again"
	}
	c.fail(call, kv.Closed, err, hint)
}

func (c *Committer[T]) fail(call *Call[T], kind kv.Kind, err error, hint string) {
	c.rules.Fail(call.Work, &kv.Error{Op: c.rules.Op(call.Work), Kind: kind, Err: err, Hint: hint})
}

// await waits for the outcome of call, and reports whether it must lead instead.
func (c *Committer[T]) await(call *Call[T]) (lead bool) {
	select {
	case lead = <-call.wake:
	case <-call.ctx.Done():
		if c.withdraw(call) {
			c.fail(call, kv.Canceled, call.ctx.Err(), "")
			return false
		}
		lead = <-call.wake
	}
	return lead
}

// withdraw takes call out of those that wait, unless its turn has come.
func (c *Committer[T]) withdraw(call *Call[T]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting, call)
	if i < 0 || call.chosen {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	return true
}

// gather takes the next group, but first lets those whose commit just ended come back for it.
// Otherwise the first of them would lead alone, and the rest would wait for two commits each time.
func (c *Committer[T]) gather() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < 4 && len(c.waiting) < c.crowd; i++ {
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	c.take()
}

// take moves a group from the head of those that wait to members: those that ask for the same
// durability.
func (c *Committer[T]) take() {
	n, size := 0, 0
	for n < len(c.waiting) && n < c.rules.MaxCalls && c.waiting[n].durability == c.waiting[0].durability {
		if size += c.waiting[n].Size; n > 0 && size > c.rules.MaxSize {
			break
		}
		n++
	}
	c.members = append(c.members, c.waiting[:n]...)
	c.waiting = slices.Delete(c.waiting, 0, n)
	c.crowd = n
}

// lead commits the group that was taken, of which call is the first.
func (c *Committer[T]) lead(call *Call[T]) {
	ended := false
	defer func() { c.end(call, ended) }()
	c.commit(call)
	if c.rules.Done != nil && len(c.group) > 0 {
		c.rules.Done(c.group)
	}
	ended = true
}

// end tells the members of a group, which leader led, and lets the next one lead. Unless the commit
// ended, it panicked.
func (c *Committer[T]) end(leader *Call[T], ended bool) {
	if !ended {
		c.stop()
	}
	for _, m := range c.members {
		if m == leader {
			continue
		}
		if !ended {
			c.fail(m, kv.InDoubt, errPanicked, "it may be there or not: open the store again, and look")
		}
		m.wake <- false
	}
	clear(c.members)
	c.members = c.members[:0]
	if !ended || !c.turn.leaveAlone() {
		c.next()
	}
}

var errPanicked = errors.New("a commit panicked")

// stop refuses those that wait, and those to come.
func (c *Committer[T]) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped == nil {
		c.stopped = fmt.Errorf("%s has stopped: %w", c.rules.Name, errPanicked)
	}
	c.turn.take() // it stays his who has it
	for _, call := range c.waiting {
		c.refuse(call, c.stopped)
		call.wake <- false
	}
	c.waiting = nil
}

// next tells the first of those that wait to lead, and those in Close if there is none.
func (c *Committer[T]) next() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.waiting) > 0:
		c.waiting[0].chosen = true
		c.waiting[0].wake <- true
	case c.stopped != nil:
		c.turn.end()
		c.idle.Broadcast()
	default:
		c.turn.leave(c.crowd)
	}
}

// commit commits the members, which leader leads. One that is too large, or whose context ends
// while the store is locked, fails alone.
func (c *Committer[T]) commit(leader *Call[T]) {
	for {
		if !c.dropEnded(leader) {
			c.putBack(leader)
			return
		}
		err := c.commitGroup(leader.durability)
		switch {
		case err == nil:
			return
		case errors.Is(err, kv.Canceled) && slices.ContainsFunc(c.members, (*Call[T]).hasEnded):
			continue
		case len(c.group) > 1 && kv.KindOf(err) == kv.TooLarge:
			c.commitEach()
		default:
			for _, work := range c.group {
				c.rules.Fail(work, err)
			}
		}
		return
	}
}

func (call *Call[T]) hasEnded() bool { return call.ctx.Err() != nil }

// dropEnded tells the members whose context has ended so, and makes the group of the rest. Only the
// leader stays; it reports whether that one goes on.
func (c *Committer[T]) dropEnded(leader *Call[T]) (leads bool) {
	c.group = c.group[:0]
	leads = true
	c.members = slices.DeleteFunc(c.members, func(m *Call[T]) bool {
		err := m.ctx.Err()
		if err == nil {
			c.group = append(c.group, m.Work)
			return false
		}
		c.fail(m, kv.Canceled, err, "")
		if m == leader {
			leads = false
			return false
		}
		m.wake <- false
		return true
	})
	return leads
}

// putBack returns the group to the head of those that wait, without its leader, whose context has
// ended.
func (c *Committer[T]) putBack(leader *Call[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.members, leader)
	c.waiting = slices.Insert(c.waiting, 0, slices.Delete(c.members, i, i+1)...)
	c.members, c.group = c.members[:0], c.group[:0]
}

// commitGroup gives up waiting for the store as soon as the context of any member ends.
func (c *Committer[T]) commitGroup(d kv.Durability) error {
	ctx, several := c.members[0].ctx, false
	for _, m := range c.members[1:] {
		switch {
		case m.ctx.Done() == nil || m.ctx.Done() == ctx.Done():
		case ctx.Done() == nil:
			ctx = m.ctx
		default:
			several = true
		}
	}
	if !several {
		return c.rules.Commit(ctx, d, c.group)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	for _, m := range c.members {
		if m.ctx.Done() != nil {
			defer context.AfterFunc(m.ctx, cancel)()
		}
	}
	return c.rules.Commit(ctx, d, c.group)
}

func (c *Committer[T]) commitEach() {
	for _, m := range c.members {
		if err := c.rules.Commit(m.ctx, m.durability, []*T{m.Work}); err != nil {
			c.rules.Fail(m.Work, err)
		}
	}
}
