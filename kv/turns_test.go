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
	turns := newTurns()
	var shared, alone atomic.Int64
	var data [2]int // written by those alone, read by those who share: the race detector looks on
	look := func() {
		if alone.Load() != 0 || data[0] != data[1] {
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
					if err := turns.enterAlone(ctx); err == nil {
						if n := alone.Add(1); n != 1 || shared.Load() != 0 {
							t.Errorf("%d alone, %d others", n, shared.Load())
						}
						data[0]++
						data[1]++
						alone.Add(-1)
						turns.leaveAlone()
					} else if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				case turns.tryShared():
					shared.Add(1)
					look()
					shared.Add(-1)
					turns.leaveFast()
				default:
					if err := turns.enterShared(ctx); err == nil {
						shared.Add(1)
						look()
						shared.Add(-1)
						turns.leaveShared()
					}
				}
				cancel()
			}
		})
	}
	group.Wait()
	if !turns.tryShared() {
		t.Error("nobody is in, and one who shares must wait")
	}
	turns.leaveFast()
	if n := turns.fast.Load(); n != 0 {
		t.Errorf("%d are counted in, nobody is", n)
	}
}

// One who wants to be alone waits for those who are in, keeps later ones out, and may give up.
func TestTurnsAloneWaits(t *testing.T) {
	turns := newTurns()
	turns.tryShared()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- turns.enterAlone(ctx) }()
	for turns.fast.Load() > 0 { // until the gate is closed
		time.Sleep(time.Microsecond)
	}
	if turns.tryShared() {
		t.Error("the gate is open")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !turns.tryShared() {
		t.Error("the gate stayed closed")
	}
	turns.leaveFast()
	go func() { done <- turns.enterAlone(context.Background()) }()
	for turns.fast.Load() > 0 {
		time.Sleep(time.Microsecond)
	}
	turns.leaveFast()
	if err := <-done; err != nil {
		t.Error(err)
	}
	turns.leaveAlone()
}
