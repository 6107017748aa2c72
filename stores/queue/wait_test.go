package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/stores/internal/doubts"
)

// While the machine sleeps timers stand still and the clock goes on. A job whose time has come
// meanwhile does not wait for the rest of its timer.
func TestAJobDoesNotWaitForATimerThatStoodStill(t *testing.T) {
	usual := longestSleep
	longestSleep = time.Millisecond
	defer func() { longestSleep = usual }()
	db, err := kv.Open(t.Context(), "mem:asleep")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var slept atomic.Int64
	store, err := New(db, &Options{Clock: func() time.Time { return time.Unix(1e9, slept.Load()) }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	q, err := store.Queue("work", nil)
	if err == nil {
		_, err = q.Publish(t.Context(), kv.Buffered, Draft{Delay: time.Hour})
	}
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := q.Next(t.Context(), kv.Buffered, 1)
		got <- err
	}()
	for !waits(q.line) {
		runtime.Gosched()
	}
	slept.Store(int64(2 * time.Hour))
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// waits reports whether somebody waits in a line.
func waits(l *line) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) > 0
}

// A worker that waits is woken by what its store, or another one over the same keys, publishes in
// whatever way, where no other process can.
func TestAWorkerIsWokenWhoeverPublishes(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:peers")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var queues [2]*Queue
	for i := range queues {
		store, err := New(db, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if queues[i], err = store.Queue("work", nil); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, delay := range []time.Duration{0, 20 * time.Millisecond} {
		for i, q := range queues {
			for _, within := range []bool{false, true} {
				draft := Draft{Payload: fmt.Appendf(nil, "by %d after %v, in a transaction: %v", i, delay, within), Delay: delay}
				got := make(chan error, 1)
				go func() {
					jobs, err := queues[0].Next(ctx, kv.Buffered, 1)
					if err == nil && !bytes.Equal(jobs[0].Payload, draft.Payload) {
						err = fmt.Errorf("got job %q", jobs[0].Payload)
					}
					got <- err
				}()
				for !waits(queues[0].line) {
					runtime.Gosched()
				}
				if err = errors.Join(publish(ctx, db, q, draft, within), <-got); err != nil {
					t.Errorf("%s: %v", draft.Payload, err)
				}
			}
		}
	}
}

// A group of calls may tell those who wait of what it left after a transaction that came later has
// told of a delay: that is not forgotten.
func TestADelayIsNotForgottenForWhatWasBefore(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:order")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store, err := New(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	q, err := store.Queue("work", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan error, 1)
	go func() {
		_, err := q.Next(ctx, kv.Buffered, 1)
		got <- err
	}()
	for !waits(q.line) {
		runtime.Gosched()
	}
	r := q.request(Claim)
	defer r.release()
	r.Limit = 1
	err = store.commit(ctx, kv.Buffered, []*request{r})
	if err == nil {
		err = publish(ctx, db, q, Draft{Delay: 100 * time.Millisecond}, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	for !waits(q.line) { // it was woken, and knows the delay
		runtime.Gosched()
	}
	store.settle([]*request{r})
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// Of a transaction in doubt nobody is told, and a store of a server goes on. Who waits looks
// whether it was done.
func TestAWorkerFindsWhatATransactionInDoubtPublished(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem-doubts:queue")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store, err := New(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	q, err := store.Queue("work", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan error, 1)
	go func() {
		_, err := q.Next(ctx, kv.Buffered, 1)
		got <- err
	}()
	for !waits(q.line) {
		runtime.Gosched()
	}
	doubts.Next()
	if err := publish(ctx, db, q, Draft{}, true); !errors.Is(err, kv.InDoubt) {
		t.Fatalf("the transaction: %v, want in doubt", err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// publish publishes a job, within a transaction of the program's or by a call.
func publish(ctx context.Context, db *kv.DB, q *Queue, draft Draft, within bool) error {
	if !within {
		_, err := q.Publish(ctx, kv.Buffered, draft)
		return err
	}
	return db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		jobs, err := q.In(tx)
		if err == nil {
			_, err = jobs.Publish(draft)
		}
		return err
	})
}
