package kv

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Several share, one is alone, some give up, and everybody gets in.
func TestTurns(t *testing.T) {
	turns := newTurns(nil)
	var shared, lonely atomic.Int64
	var data [2]int // written by those alone, read by those who share: the race detector looks on
	look := func() {
		if lonely.Load() != 0 || data[0] != data[1] {
			t.Error("one who shares met one who is alone")
		}
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 3000 {
				ctx, cancel := context.Background(), context.CancelFunc(func() {})
				if rand.N(8) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.N(int64(20*time.Microsecond))))
				}
				switch {
				case rand.N(4) == 0:
					as := [...]int64{alone, updating}[rand.N(2)]
					if err := turns.enterAlone(ctx, as); err == nil {
						if n := lonely.Add(1); n != 1 || shared.Load() != 0 {
							t.Errorf("%d alone, %d others", n, shared.Load())
						}
						data[0]++
						data[1]++
						lonely.Add(-1)
						turns.leave(as)
					} else if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				default:
					if _, err := turns.enterShared(ctx); err == nil {
						shared.Add(1)
						look()
						shared.Add(-1)
						turns.leave(1)
					}
				}
				cancel()
			}
		})
	}
	group.Wait()
	if n := turns.in.Load(); n != 0 || len(turns.queue) != 0 {
		t.Errorf("%d are counted in and %d in the queue, nobody is", n, len(turns.queue))
	}
}

// One who wants to be alone waits for those who are in, keeps later ones out, and may give up.
func TestTurnsAloneWaits(t *testing.T) {
	turns, free := newTurns(nil), context.Background()
	enter := func(want error) {
		t.Helper()
		over, end := context.WithCancel(free)
		end()
		if _, err := turns.enterShared(over); !errors.Is(err, want) {
			t.Errorf("one who shares: got %v, want %v", err, want)
		} else if err == nil {
			turns.leave(1)
		}
	}
	_, _ = turns.enterShared(free)
	ctx, cancel := context.WithCancel(free)
	done := make(chan error)
	go func() { done <- turns.enterAlone(ctx, alone) }()
	for turns.in.Load() > 0 { // until the gate is closed
		time.Sleep(time.Microsecond)
	}
	enter(context.Canceled)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	enter(nil)
	go func() { done <- turns.enterAlone(free, updating) }()
	for turns.in.Load() > 0 {
		time.Sleep(time.Microsecond)
	}
	turns.leave(1)
	if err := <-done; err != nil {
		t.Error(err)
	}
	enter(context.Canceled)
	turns.leave(updating)
	enter(nil)
}
