package drivertest

import (
	"context"
	"sync"

	"github.com/assaydb/assay/kv"
)

var wrapperCases = []tcase{
	{"a namespace holds the keys of its prefix alone", separatesNamespaces},
	{"a tracer is told of every operation", traces},
}

func separatesNamespaces(e *env) {
	db := e.open()
	a, b, top := db.Namespace([]byte("a")), db.Namespace([]byte("b")), db.Namespace([]byte("\xff"))
	e.fill(db, "a=the prefix itself", "aa=0", "c=0")
	e.fill(a, "1=a1", "2=a2", "\xff=end")
	e.fill(b, "1=b1")
	e.fill(top, "1=t1", "\xff=t2")
	e.want(a, "1=a1", "2=a2", "a=0", "\xff=end")
	e.want(b, "1=b1")
	e.want(top, "1=t1", "\xff=t2")
	e.view(a, func(s *kv.Snapshot) {
		e.wantScan("namespace", s, kv.Range{Reverse: true}, "\xff=end", "a=0", "2=a2", "1=a1")
		e.wantScan("namespace", s, kv.Range{Start: []byte("2"), End: []byte("b"), Reverse: true}, "a=0", "2=a2")
	})
	e.update(a, func(tx *kv.Tx) { e.must(tx.Delete([]byte("2"))) })
	e.want(db, "a=the prefix itself", "a1=a1", "aa=0", "a\xff=end", "b1=b1", "c=0", "\xff1=t1", "\xff\xff=t2")
}

// sums is a Tracer that adds up the events of each operation.
type sums struct {
	mu   sync.Mutex
	seen map[string]kv.Event
}

type parentKey struct{}

func (s *sums) Start(ctx context.Context, op string) context.Context {
	return context.WithValue(ctx, parentKey{}, op)
}

func (s *sums) End(ctx context.Context, ev kv.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.seen[ev.Op]
	sum.Pairs, sum.Bytes, sum.Durability = sum.Pairs+ev.Pairs, sum.Bytes+ev.Bytes, ev.Durability
	s.seen[ev.Op] = sum
}

func traces(e *env) {
	t := &sums{seen: map[string]kv.Event{}}
	db := e.open(kv.WithTracer(t))
	e.fill(db, "a=1", "b=22", "c=333")
	e.view(db, func(s *kv.Snapshot) {
		for range s.Scan(kv.Range{}) {
		}
		e.wantGet("traced", s, "b", "22")
		e.wantAbsent("traced", s, "d")
	})
	e.update(db, func(tx *kv.Tx) { e.must(tx.Put([]byte("d"), []byte("4444"))) })
	e.must(db.Check(ctx))
	e.must(db.Close())
	for op, want := range map[string]kv.Event{"open": {}, "view": {}, "scan": {Pairs: 3, Bytes: 9},
		"get":    {Pairs: 1, Bytes: 3},
		"update": {}, "put": {Pairs: 1, Bytes: 5}, "commit": {Pairs: 1, Bytes: 5}, "write": {Pairs: 3, Bytes: 9},
		"check": {}, "close": {}} {
		if got, ok := t.seen[op]; !ok || got.Pairs != want.Pairs || got.Bytes != want.Bytes {
			e.Errorf("%s: traced=%v with %d pairs of %d bytes, want %d of %d", op, ok, got.Pairs, got.Bytes, want.Pairs,
				want.Bytes)
		}
	}
	if d := t.seen["commit"].Durability; d != e.class {
		e.Errorf("commit: traced as %v, want %v", d, e.class)
	}
}
