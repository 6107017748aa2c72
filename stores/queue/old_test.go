package queue_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// largest is the largest number of pairs that a transaction wrote.
type largest struct{ writes, most atomic.Int64 }

func (l *largest) Start(ctx context.Context, _ string) context.Context { return ctx }

func (l *largest) End(_ context.Context, e kv.Event) {
	switch e.Op {
	case "put", "delete":
		l.writes.Add(1)
	case "update":
		l.most.Store(max(l.most.Load(), l.writes.Swap(0)))
	}
}

// Others wait while a transaction puts jobs aside, so that none deals with all of many that are too
// old.
func TestAClaimPutsManyOldJobsAsideInParts(t *testing.T) {
	var count largest
	db, err := kv.Open(t.Context(), "mem:old", kv.WithTracer(&count))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Unix(1e9, 0)
	store, err := queue.New(db, &queue.Options{Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	q, err := store.Queue("work", &queue.Settings{Retention: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	const n = 3 * queue.MostDue
	if _, err := q.Publish(t.Context(), kv.Buffered, make([]queue.Draft, n)...); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Hour)
	if _, err := q.Publish(t.Context(), kv.Buffered, queue.Draft{Payload: []byte("young")}); err != nil {
		t.Fatal(err)
	}
	count.most.Store(0)
	jobs, err := q.Claim(t.Context(), kv.Buffered, 1)
	if err != nil || len(jobs) != 1 || string(jobs[0].Payload) != "young" {
		t.Fatalf("claim: %+v, %v", jobs, err)
	}
	if c, err := q.Counts(t.Context()); err != nil || c != (queue.Counts{Claimed: 1, Dead: n}) {
		t.Errorf("counts: %+v, %v", c, err)
	}
	// A dead job is one pair; the rest is of the queue itself.
	if most := count.most.Load(); most == 0 || most > queue.MostDue+10 {
		t.Errorf("a transaction wrote %d pairs, at most %d are too old in one", most, queue.MostDue)
	}
}

// ender ends a context when a transaction has committed, the so many-th.
type ender struct {
	left atomic.Int64
	end  context.CancelFunc
}

func (e *ender) Start(ctx context.Context, _ string) context.Context { return ctx }

func (e *ender) End(_ context.Context, event kv.Event) {
	if event.Op == "update" && e.left.Add(-1) == 0 {
		e.end()
	}
}

// A Swap whose context ends after its first transaction says that its acknowledgement is committed,
// and that there is no job.
func TestASwapThatEndsAfterItsAcknowledgementSaysSo(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	e := &ender{end: end}
	db, err := kv.Open(t.Context(), "mem:swap", kv.WithTracer(e))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Unix(1e9, 0)
	store, err := queue.New(db, &queue.Options{Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	q, err := store.Queue("work", &queue.Settings{Retention: time.Hour, Lease: 24 * time.Hour})
	if err == nil {
		_, err = q.Publish(ctx, kv.Buffered, queue.Draft{})
	}
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := q.Claim(ctx, kv.Buffered, 1)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("claim: %v, %v", jobs, err)
	}
	const old = 5 * queue.MostDue // a sweep and a claim leave some
	if _, err := q.Publish(ctx, kv.Buffered, make([]queue.Draft, old)...); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Hour)
	e.left.Store(2) // the sweep that a Swap begins with, and the first of its own
	none, err := q.Swap(ctx, kv.Buffered, 1, jobs[0].Receipt)
	if len(none) != 0 || err != nil || ctx.Err() == nil {
		t.Fatalf("swap: %v, %v; context %v", none, err, ctx.Err())
	}
	c, err := q.Counts(t.Context())
	if err != nil || c.Claimed != 0 || c.Ready == 0 || c.Total() != old {
		t.Errorf("counts %+v, %v", c, err)
	}
}
