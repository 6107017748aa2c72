package queue

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
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
