package queue

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
)

// updates counts the transactions that ended.
type updates struct{ atomic.Int64 }

func (u *updates) Start(ctx context.Context, _ string) context.Context { return ctx }

func (u *updates) End(_ context.Context, e kv.Event) {
	if e.Op == "update" {
		u.Add(1)
	}
}

// guestQueue returns an empty queue of a new store, and what counts its transactions.
func guestQueue(t *testing.T, url string) (*Queue, *kv.DB, *updates) {
	count := new(updates)
	db, err := kv.Open(t.Context(), url, kv.WithTracer(count), kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store, err := New(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	q, err := store.Queue("work", nil)
	if err != nil {
		t.Fatal(err)
	}
	return q, db, count
}

// waiting starts a call of Next, and returns its outcome when it waits.
func waiting(ctx context.Context, q *Queue, d kv.Durability) <-chan error {
	got := make(chan error, 1)
	go func() {
		jobs, err := q.Next(ctx, d, 1)
		if err == nil && len(jobs) != 1 {
			err = errors.New("no job")
		}
		got <- err
	}()
	for !waits(q.line) {
		runtime.Gosched()
	}
	return got
}

func publishOne(t *testing.T, q *Queue, d kv.Durability) {
	t.Helper()
	if _, err := q.Publish(t.Context(), d, Draft{Payload: []byte("a job")}); err != nil {
		t.Error(err)
	}
}

func wantCounts(t *testing.T, q *Queue, want Counts) {
	t.Helper()
	if got, err := q.Counts(t.Context()); err != nil || got != want {
		t.Errorf("counts: %+v, %v, want %+v", got, err, want)
	}
}

// A job that is published to one who waits is claimed by the commit that publishes it, unless who
// waits asks for more than that promises.
func TestAPublishServesWhoWaits(t *testing.T) {
	q, _, count := guestQueue(t, "bbolt:"+filepath.Join(t.TempDir(), "queue"))
	for i, c := range []struct {
		waits, publishes kv.Durability
		commits          int64
	}{{kv.Flushed, kv.Flushed, 1}, {kv.Flushed, kv.Synced, 1}, {kv.Synced, kv.Flushed, 2}} {
		got := waiting(t.Context(), q, c.waits)
		count.Store(0)
		publishOne(t, q, c.publishes)
		if err := <-got; err != nil || count.Load() != c.commits {
			t.Errorf("published as %v, claimed as %v: %d transactions, %v, want %d", c.publishes, c.waits, count.Load(),
				err, c.commits)
		}
		wantCounts(t, q, Counts{Claimed: i + 1})
	}
}

// Of many jobs each that waits gets one, and the rest are left.
func TestAPublishServesAllWhoWait(t *testing.T) {
	q, _, count := guestQueue(t, "mem:many-guests")
	var all []<-chan error
	for n := range 3 {
		all = append(all, waiting(t.Context(), q, kv.Buffered))
		for waitsFor(q.line) != n+1 {
			runtime.Gosched()
		}
	}
	count.Store(0)
	drafts := make([]Draft, 5)
	drafts[0].Delay = time.Hour
	if _, err := q.Publish(t.Context(), kv.Buffered, drafts...); err != nil {
		t.Fatal(err)
	}
	for _, got := range all {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	if n := count.Load(); n != 1 {
		t.Errorf("%d transactions, want 1", n)
	}
	wantCounts(t, q, Counts{Ready: 1, Delayed: 1, Claimed: 3})
}

func waitsFor(l *line) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// A worker that has acknowledged a job and found no other has looked: it does not look again before
// it waits.
func TestAJobThatIsPublishedToAWorkerIsTwoTransactions(t *testing.T) {
	q, _, count := guestQueue(t, "mem:worker")
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Work(ctx, kv.Buffered, func(context.Context, Job) error { return nil })
	}()
	for range 3 {
		for !waits(q.line) {
			runtime.Gosched()
		}
		count.Store(0)
		publishOne(t, q, kv.Buffered)
		for count.Load() < 2 || !waits(q.line) {
			runtime.Gosched()
		}
		if n := count.Load(); n != 2 {
			t.Errorf("%d transactions for a job, want the publish and the acknowledgement", n)
		}
	}
	end()
	if err := <-ended; !errors.Is(err, kv.Canceled) {
		t.Error(err)
	}
	wantCounts(t, q, Counts{})
}

// One who waits and is to be served by a commit that waits for its turn does not wait for that.
func TestAGuestLeavesWithItsContext(t *testing.T) {
	q, db, _ := guestQueue(t, "mem:leaving")
	ctx, cancel := context.WithCancel(t.Context())
	got := waiting(ctx, q, kv.Buffered)
	other, err := db.Begin(t.Context(), kv.Buffered)
	if err != nil {
		t.Fatal(err)
	}
	published := make(chan struct{})
	go func() {
		defer close(published)
		publishOne(t, q, kv.Buffered)
	}()
	for waits(q.line) { // it is a guest
		runtime.Gosched()
	}
	cancel()
	if err := <-got; !errors.Is(err, kv.Canceled) {
		t.Errorf("next: %v, want Canceled", err)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	<-published
	wantCounts(t, q, Counts{Ready: 1})
}

// guestless is a backend whose groups with a claim fail as if too large, or panic.
type guestless struct {
	Backend
	err   error
	fails atomic.Int64
}

func (g *guestless) Commit(ctx context.Context, d kv.Durability, group []*Op) error {
	if len(group) < 2 {
		return g.Backend.Commit(ctx, d, group)
	}
	g.fails.Add(1)
	if g.err == nil {
		panic("a commit with a guest")
	}
	return g.err
}

// A publish does not fail for the sake of who waits.
func TestAPublishDoesNotFailForItsGuests(t *testing.T) {
	for _, kind := range []kv.Kind{kv.TooLarge, kv.Corrupt, kv.InDoubt, kv.Busy} {
		db, err := kv.Open(t.Context(), "mem:guestless")
		if err != nil {
			t.Fatal(err)
		}
		backend := &guestless{Backend: newKVBackend(db), err: &kv.Error{Op: "publish", Kind: kind, Err: errors.New("a test")}}
		backend.Backend.(*kvBackend).leave = func() {}
		store, err := NewStore(backend, nil)
		if err != nil {
			t.Fatal(err)
		}
		q, err := store.Queue("work", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := waiting(t.Context(), q, kv.Buffered)
		_, err = q.Publish(t.Context(), kv.Buffered, Draft{})
		if kind == kv.InDoubt || kind == kv.Busy { // it may be done, or who waited long enough would wait again
			if !errors.Is(err, kind) {
				t.Errorf("publish: %v, want %v", err, kind)
			}
			backend.err = errors.New("a test")
			_, err = q.Publish(t.Context(), kv.Buffered, Draft{})
		}
		if err != nil {
			t.Errorf("publish, after %v: %v", kind, err)
		}
		if err := <-got; err != nil || backend.fails.Load() == 0 {
			t.Errorf("next, after %v: %v; %d groups failed", kind, err, backend.fails.Load())
		}
		if err := errors.Join(store.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// Where a commit panics nobody waits for ever.
func TestAGuestOfACommitThatPanicsIsWoken(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:panics")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	backend := &guestless{Backend: newKVBackend(db)}
	store, err := NewStore(backend, nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := store.Queue("work", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := waiting(t.Context(), q, kv.Buffered)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		publishOne(t, q, kv.Buffered)
	}()
	if err := <-got; !errors.Is(err, kv.Closed) {
		t.Errorf("next: %v, want Closed", err)
	}
}
