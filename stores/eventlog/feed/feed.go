package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/bell"
	"github.com/assaydb/assay/stores/internal/calls"
)

// MaxMessage is the length in bytes of the longest message, MaxAppend the largest number of
// messages in one append.
const (
	MaxMessage = 64 << 20
	MaxAppend  = 1 << 16
)

// Feed is an open feed. Its methods may be called concurrently.
type Feed struct {
	backend Backend
	turn    chan struct{} // of capacity 1: the one append that runs
	bell    bell.Bell     // rung by appends and by Close

	calls   calls.Counter
	closing sync.Once
	err     error // of Close
}

// NewFeed returns the feed that a backend keeps. Programs call Open, or margaret.Open.
func NewFeed(b Backend) *Feed {
	return &Feed{backend: b, turn: make(chan struct{}, 1)}
}

// Append appends messages as one transaction with at least the durability d and returns the
// sequence of the first. Without messages it does nothing and returns 0. It returns when the
// messages can be read, and keeps nothing of them.
//
// If ctx ends before the commit began, nothing was appended and the error is Canceled. After
// another error the messages may be there, all of them, or not.
func (f *Feed) Append(ctx context.Context, d kv.Durability, messages ...[]byte) (first uint64, err error) {
	if err := check(messages); err != nil {
		return 0, err
	}
	err = f.inTurn(ctx, "append", func() (err error) {
		if len(messages) > 0 {
			first, err = f.backend.Append(ctx, d, messages)
		}
		return err
	})
	if err == nil && len(messages) > 0 {
		f.bell.Ring()
	}
	return first, err
}

// inTurn runs fn, which changes the feed, when nobody else changes it through f.
func (f *Feed) inTurn(ctx context.Context, op string, fn func() error) error {
	if err := f.enter(op); err != nil {
		return err
	}
	defer f.calls.Leave()
	if err := f.take(ctx, op); err != nil {
		return err
	}
	defer func() { <-f.turn }()
	if err := ctx.Err(); err != nil {
		return &kv.Error{Op: op, Kind: kv.Canceled, Err: err}
	}
	return fn()
}

// take takes the turn. Who waits for it within the function of an Update of the same store would
// wait for ever, as the one who has it may wait for that Update: it is refused.
func (f *Feed) take(ctx context.Context, op string) error {
	select {
	case f.turn <- struct{}{}:
		return nil
	default:
	}
	if k, ok := f.backend.(*keeper); ok {
		if err := k.db.MayWait(ctx); err != nil {
			return err
		}
	}
	select {
	case f.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &kv.Error{Op: op, Kind: kv.Canceled, Err: ctx.Err()}
	}
}

func check(messages [][]byte) error {
	if len(messages) > MaxAppend {
		return &kv.Error{Op: "append", Kind: kv.TooLarge, Err: fmt.Errorf("%d messages, at most %d", len(messages),
			MaxAppend),
			Hint: "append them in several calls, each of which is atomic"}
	}
	for i, m := range messages {
		if len(m) > MaxMessage {
			return &kv.Error{Op: "append", Kind: kv.TooLarge,
				Err:  fmt.Errorf("message %d of %d bytes, at most %d", i, len(m), MaxMessage),
				Hint: "keep large data in a file and append its name"}
		}
	}
	return nil
}

// View runs fn on the feed as it was before fn began. It returns fn's error, or the error of a scan
// that ended early. fn must not append to the feed: some engines let no writer in while somebody
// reads.
func (f *Feed) View(ctx context.Context, fn func(*Snapshot) error) error {
	if err := f.enter("view"); err != nil {
		return err
	}
	defer f.calls.Leave()
	if err := ctx.Err(); err != nil {
		return &kv.Error{Op: "view", Kind: kv.Canceled, Err: err}
	}
	return f.backend.View(ctx, func(r Reader) error {
		s := &Snapshot{r: r}
		defer func() { s.r = nil }()
		if err := fn(s); err != nil {
			return err
		}
		return s.err
	})
}

// Len returns the number of messages, which is the sequence of the next one.
func (f *Feed) Len(ctx context.Context) (n uint64, err error) {
	err = f.View(ctx, func(s *Snapshot) error {
		n = s.Len()
		return nil
	})
	return n, err
}

// Get returns the message with a sequence, which belongs to the caller. One that is not there is
// NotFound.
func (f *Feed) Get(ctx context.Context, seq uint64) (message []byte, err error) {
	err = f.View(ctx, func(s *Snapshot) (err error) {
		message, err = s.Get(seq)
		return err
	})
	return message, err
}

// Close waits for running calls and ends the feed; later calls fail with Closed. It does not close
// the *kv.DB given to Open: close the feed first.
func (f *Feed) Close() error {
	f.closing.Do(func() {
		f.calls.Close()
		f.bell.Ring()
		f.err = f.backend.Close()
	})
	return f.err
}

// enter counts a running call, unless the feed is closed.
func (f *Feed) enter(op string) error {
	if !f.calls.Enter() {
		return &kv.Error{Op: op, Kind: kv.Closed, Err: errors.New("the feed is closed")}
	}
	return nil
}
