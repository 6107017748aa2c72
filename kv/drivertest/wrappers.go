package drivertest

import (
	"sync"

	"github.com/assaydb/assay/kv"
)

var wrapperCases = []tcase{
	{"a namespace holds the keys of its prefix alone", separatesNamespaces},
	{"an observer is told of every operation", observes},
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
	e.view(a, func(s *kv.Snapshot) error {
		e.wantScan("namespace", s, kv.Range{Reverse: true}, "\xff=end", "a=0", "2=a2", "1=a1")
		e.wantScan("namespace", s, kv.Range{Start: []byte("2"), End: []byte("b"), Reverse: true}, "a=0", "2=a2")
		return nil
	})
	e.update(a, func(tx *kv.Tx) error { return tx.Delete([]byte("2")) })
	e.want(db, "a=the prefix itself", "a1=a1", "aa=0", "a\xff=end", "b1=b1", "c=0", "\xff1=t1", "\xff\xff=t2")
}

func observes(e *env) {
	db := e.open()
	e.fill(db, "a=1", "b=22", "c=333")
	var mu sync.Mutex
	seen := map[string]kv.Event{}
	o := db.Observe(func(ev kv.Event) {
		mu.Lock()
		defer mu.Unlock()
		sum := seen[ev.Op]
		sum.Pairs, sum.Bytes = sum.Pairs+ev.Pairs, sum.Bytes+ev.Bytes
		seen[ev.Op] = sum
	})
	e.view(o, func(s *kv.Snapshot) error {
		for range s.Scan(kv.Range{}) {
		}
		e.wantGet("observed", s, "b", "22")
		e.wantAbsent("observed", s, "d")
		return nil
	})
	e.update(o, func(tx *kv.Tx) error { return tx.Put([]byte("d"), []byte("4444")) })
	e.fill(o, "e=55555", "f=")
	for op, want := range map[string]kv.Event{"view": {}, "scan": {Pairs: 3, Bytes: 9}, "get": {Pairs: 1, Bytes: 3},
		"begin": {}, "put": {Pairs: 1, Bytes: 5}, "commit": {}, "write": {Pairs: 2, Bytes: 7}} {
		if got, ok := seen[op]; !ok || got.Pairs != want.Pairs || got.Bytes != want.Bytes {
			e.Errorf("%s: observed=%v with %d pairs of %d bytes, want %d of %d", op, ok, got.Pairs, got.Bytes, want.Pairs, want.Bytes)
		}
	}
}
