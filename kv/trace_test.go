package kv_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
)

// recorder writes down every operation, with the operation that it runs in.
type recorder struct {
	t    *testing.T
	seen []string
	key  *int // of what it puts into contexts; nil for one that is alone
}

func (r *recorder) Start(ctx context.Context, op string) context.Context {
	within, _ := ctx.Value(r.key).(string)
	return context.WithValue(ctx, r.key, within+op+">")
}

func (r *recorder) End(ctx context.Context, e kv.Event) {
	within := ctx.Value(r.key).(string)
	if e.Took < 0 || !strings.HasSuffix(within, e.Op+">") {
		r.t.Errorf("%s took %v in the context of %s", e.Op, e.Took, within)
	}
	s := fmt.Sprintf("%s/%d/%d", strings.TrimSuffix(within, ">"), e.Pairs, e.Bytes)
	if e.Err != nil {
		s += "/" + kv.KindOf(e.Err).Error()
	}
	r.seen = append(r.seen, s)
}

func TestTracersAreToldExactly(t *testing.T) {
	r := &recorder{t: t}
	check := func(what, events string) {
		t.Helper()
		want(t, what, strings.Join(r.seen, " "), events)
		r.seen = nil
	}
	db := mustOpen(t, "mem:", kv.WithWeakest(kv.Buffered), kv.WithTracer(r))
	check("open", "open/0/0")
	put(t, db, "a=1", "b=22")
	check("write", "write/2/5")
	view := func(fn func(s *kv.Snapshot)) {
		if err := db.View(ctx, func(s *kv.Snapshot) error { fn(s); return nil }); err != nil {
			t.Error(err)
		}
	}
	view(func(s *kv.Snapshot) { _, _ = s.Append([]byte("prefix"), []byte("b")) })
	check("append", "view>get/1/3 view/0/0")
	view(func(s *kv.Snapshot) { _, _ = s.Get([]byte("c")) })
	check("get of an absent key", "view>get/0/0/not found view/0/0")
	view(func(s *kv.Snapshot) {
		for range s.Scan(kv.Range{}) {
		}
	})
	check("scan", "view>scan/2/5 view/0/0")
	view(func(s *kv.Snapshot) {
		for range s.Scan(kv.Range{}) {
			break
		}
	})
	check("scan broken off", "view>scan/1/2 view/0/0")
	_ = db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		_ = tx.Put([]byte("f"),
			[]byte("6"))
		return tx.Delete([]byte("e"))
	})
	check("update", "update>put/1/2 update>delete/1/1 update>commit/2/3 update/0/0")
	_ = db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error { return errors.New("no") })
	check("an update that is rolled back", "update/0/0/error")
	put(t, db.Namespace([]byte("n")), "k=v")
	check("write to a namespace", "write/1/2")
	_ = db.Check(ctx)
	check("check", "check/0/0")
	_ = db.Backup(ctx, t.TempDir())
	check("backup", "backup/0/0/unsupported")
	s, _ := db.Snapshot(ctx)
	_, _ = s.Get([]byte("a"))
	check("a snapshot that is held", "snapshot/0/0 snapshot>held snapshot>get/1/2")
	_ = s.Close()
	check("its end", "snapshot>held snapshot/0/0")
	tx, _ := db.Begin(ctx, kv.Buffered)
	_ = tx.Put([]byte("g"), nil)
	_ = tx.Commit()
	check("a transaction that is held",
		"begin/0/0 begin>held transaction>put/1/1 begin>held transaction>commit/1/1 begin>held transaction/0/0")
	waits, stop := context.WithCancel(ctx)
	tx, _ = db.Begin(ctx, kv.Buffered)
	stop()
	_ = db.Put(waits, kv.Buffered, []byte("h"), nil)
	_ = tx.Rollback()
	check("a wait for the turn that is given up",
		"begin/0/0 write>turn/0/0/canceled write/1/1/canceled begin>held transaction/0/0")
	_, _ = kv.Open(ctx, "mem:?mode=ro", kv.WithTracer(r))
	check("an opening that fails", "open/0/0/unsupported")
}

// second is a tracer that asks, too.
type second struct {
	*recorder
	watched *kv.DB
}

func (s *second) Watch(db *kv.DB) { s.watched = db }

func TestSeveralTracersAreToldAndThoseThatAskAreGivenTheStore(t *testing.T) {
	a, b, c := &recorder{t: t}, &second{recorder: &recorder{t: t}}, &recorder{t: t}
	for _, r := range []*recorder{a, b.recorder, c} {
		r.key = new(int)
	}
	db := mustOpen(t, "mem:", kv.WithWeakest(kv.Buffered), kv.WithTracer(a), kv.WithTracer(b), kv.WithTracer(c))
	put(t, db, "a=1")
	for _, r := range []*recorder{a, b.recorder, c} {
		want(t, "what was told", strings.Join(r.seen, " "), "open/0/0 write/1/2")
	}
	if b.watched != db {
		t.Errorf("got the store %p, want %p", b.watched, db)
	}
}
