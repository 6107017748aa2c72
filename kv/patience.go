package kv

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/assaydb/assay/kv/driver"
)

// patience is how a call waits while a driver says Busy: it tries again, with pauses that grow,
// until the context ends or the time is up, counted from the first Busy. The pauses stay short: the
// locks are not queues, so that one who looks seldom may find them taken every time, by others who
// came later.
type patience struct {
	limit    time.Duration
	what     string        // what stands in the way
	longest  time.Duration // a pause; 0 is longestPause
	least    int           // how many pauses are made even if the time is up
	tracer   Timer         // is told of waits
	deadline time.Time
	pause    time.Duration
}

const (
	firstPause    = 100 * time.Microsecond
	longestPause  = 4 * time.Millisecond
	longestCommit = 500 * time.Microsecond // others wait for a commit that waits for readers
	longestAbort  = 50 * time.Millisecond  // a transaction that met another one does all its work again
)

// again goes on with a call that returned err, while that is Busy and time is left.
func (p patience) again(ctx context.Context, err error, call func() error) error {
	if err == nil || driver.KindOf(err) != Busy {
		return err
	}
	return traced(ctx, p.tracer, Event{Op: "lock"}, func(ctx context.Context) error {
		for err != nil && driver.KindOf(err) == Busy {
			if !p.rest(ctx) {
				return p.gaveUp(ctx, err)
			}
			err = call()
		}
		return err
	})
}

// rest pauses, and reports whether time is left.
func (p *patience) rest(ctx context.Context) bool {
	if p.deadline.IsZero() {
		p.deadline, p.pause = time.Now().Add(p.limit), firstPause
	}
	pause := p.pause/2 + rand.N(p.pause)
	if p.least--; p.least < 0 {
		pause = min(pause, time.Until(p.deadline))
	}
	p.pause = min(2*p.pause, cmp.Or(p.longest, longestPause))
	return pause > 0 && sleep(ctx, pause)
}

// gaveUp explains a Busy that lasted too long: for p, or for ctx, which makes it Canceled, too.
func (p *patience) gaveUp(ctx context.Context, err error) error {
	e := &Error{Kind: Busy, Err: fmt.Errorf("%s (%w)", p.what, err), Hint: cmp.Or(driver.HintOf(err),
		fmt.Sprintf("end the other program or its transaction, or wait longer than %v: ?wait=1m", p.limit))}
	if ctx.Err() != nil {
		e.Kind, e.Err = Canceled, fmt.Errorf("%w: %w", e.Err, ctx.Err())
	}
	return e
}

// sleep reports whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// bounded runs call and returns what it returns, or, if ctx ends first, the error of ctx; late then
// gets what call returned, in a goroutine of its own. It is for calls into an engine that do not
// look at their context.
func bounded[T any](ctx context.Context, call func() (T, error), late func(T, error)) (T, error) {
	if ctx.Done() == nil {
		return call()
	}
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := call()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		go func() {
			r := <-done
			late(r.value, r.err)
		}()
		var none T
		return none, ctx.Err()
	}
}
