package eventlog

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assaydb/assay/kv"
)

// commits counts the commits of a store.
type commits struct{ n atomic.Int64 }

func (c *commits) Start(ctx context.Context, _ string) context.Context { return ctx }

func (c *commits) End(_ context.Context, e kv.Event) {
	if e.Op == "commit" || e.Op == "write" {
		c.n.Add(1)
	}
}

// updates counts the transactions of a store.
type updates struct{ commits }

func (u *updates) End(_ context.Context, e kv.Event) {
	if e.Op == "update" {
		u.n.Add(1)
	}
}

// An acknowledgement costs what an append does: where nobody else writes, it is a write and no
// transaction that reads.
func TestAnAcknowledgementIsAWrite(t *testing.T) {
	var count updates
	ctx := t.Context()
	db, err := kv.Open(ctx, "mem:ackwrite", kv.WithTracer(&count))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log, err := Open(ctx, db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Append(ctx, kv.Buffered, "", Any, make10()...); err != nil {
		t.Fatal(err)
	}
	sub, err := log.Subscribe(ctx, "reader")
	if err != nil {
		t.Fatal(err)
	}
	count.n.Store(0)
	for p := range uint64(10) {
		if err := sub.Ack(ctx, kv.Buffered, p+1); err != nil {
			t.Fatal(err)
		}
	}
	if n := count.n.Load(); n != 0 {
		t.Errorf("10 acknowledgements took %d transactions", n)
	}
}

// views counts the views of a store.
type views struct{ commits }

func (v *views) End(_ context.Context, e kv.Event) {
	if e.Op == "view" {
		v.n.Add(1)
	}
}

// Acknowledgements of events that Next has not returned ask where the log ends, but not each of
// them: where other processes append that is a view of the store.
func TestAcknowledgementsAskOnceWhereTheLogEnds(t *testing.T) {
	var count views
	ctx := t.Context()
	db, err := kv.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "log"), kv.WithTracer(&count))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log, err := Open(ctx, db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	sub, err := log.Subscribe(ctx, "reader")
	if err == nil {
		_, err = log.Append(ctx, kv.Flushed, "", Any, make10()...)
	}
	if err != nil {
		t.Fatal(err)
	}
	count.n.Store(0)
	for p := range uint64(10) {
		if err := sub.Ack(ctx, kv.Flushed, p+1); err != nil {
			t.Fatal(err)
		}
	}
	if n := count.n.Load(); n != 1 {
		t.Errorf("10 acknowledgements took %d views", n)
	}
	if err := sub.Ack(ctx, kv.Flushed, 11); kv.KindOf(err) != kv.Invalid {
		t.Errorf("ack of what is not there: %v", err)
	}
}

func make10() []Draft {
	drafts := make([]Draft, 10)
	for i := range drafts {
		drafts[i].Type = "T"
	}
	return drafts
}

// While the store is taken, one acknowledgement waits for it and the others for that one. Then it
// takes two commits for all, but for those whose context ended meanwhile.
func TestAcknowledgementsThatWaitShareACommit(t *testing.T) {
	const subs, ended = 16, 3
	var count commits
	ctx := t.Context()
	db, err := kv.Open(ctx, "mem:acks", kv.WithTracer(&count))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log, err := Open(ctx, db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Append(ctx, kv.Buffered, "", Any, Draft{Type: "T"}); err != nil {
		t.Fatal(err)
	}
	var all [subs]*Subscription
	for i := range all {
		if all[i], err = log.Subscribe(ctx, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := db.Begin(ctx, kv.Buffered)
	if err != nil {
		t.Fatal(err)
	}
	count.n.Store(0)
	short, cancel := context.WithCancel(ctx)
	var acks sync.WaitGroup
	var errs [subs]error
	for i, sub := range all {
		ctx := ctx
		if i < ended {
			ctx = short
		}
		acks.Go(func() { errs[i] = sub.Ack(ctx, kv.Buffered, 1) })
	}
	for log.acks.Waiting() < subs-1 {
		runtime.Gosched()
	}
	cancel()
	for log.acks.Waiting() >= subs-ended { // the leader may be among those that ended
		runtime.Gosched()
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	acks.Wait()
	for i, err := range errs {
		if canceled := kv.KindOf(err) == kv.Canceled; canceled != (i < ended) || !canceled && err != nil {
			t.Errorf("acknowledgement %d: %v", i, err)
		}
	}
	if n := count.n.Load(); n < 1 || n > 2 {
		t.Errorf("%d commits for %d acknowledgements, want 1 or 2", n, subs)
	}
	marks, err := log.Subscriptions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	for _, m := range marks {
		acknowledged += int(m.Position)
	}
	if acknowledged != subs-ended {
		t.Errorf("%d subscriptions were acknowledged, want %d", acknowledged, subs-ended)
	}
}
