package drivertest

import (
	"fmt"
	"slices"

	"github.com/assaydb/assay/kv"
)

var rangeCases = []tcase{
	{"a scan gives exactly the keys from Start up to but not including End", scansIntervals},
	{"a scan of an empty store gives nothing", scansEmptyStore},
	{"keys of arbitrary bytes come in the order of their bytes", scansArbitraryKeys},
	{"a scan that is broken off early leaks nothing", breaksOffScans},
	{"two scans may run inside each other", nestsScans},
}

// edges are bounds worth trying: absent, empty, keys that exist, keys between, below and above
// them.
var edges = [][]byte{nil, {}, []byte("\x00"), []byte("a"), []byte("ab"), []byte("aba"), []byte("abb"), []byte("b"),
	[]byte("b\x00"), []byte("c"), []byte("\xfe"), []byte("\xff"), []byte("\xff\xff"), []byte("\xff\xff\xff")}

func scansIntervals(e *env) {
	db := e.open()
	keys := []string{"\x00", "\x00\x00", "a", "ab", "aba", "abc", "b", "b\x00", "\xfe\xff", "\xff", "\xff\xff"}
	for _, k := range keys {
		e.fill(db, k+"=of "+k)
	}
	check := func(what string, s *kv.Snapshot) {
		for _, start := range edges {
			for _, end := range edges {
				var want []string
				for _, k := range keys {
					if k >= string(start) && (end == nil || k < string(end)) {
						want = append(want, k+"=of "+k)
					}
				}
				e.wantScan(what, s, kv.Range{Start: start, End: end}, want...)
				slices.Reverse(want)
				e.wantScan(what, s, kv.Range{Start: start, End: end, Reverse: true}, want...)
			}
		}
	}
	e.view(db, func(s *kv.Snapshot) { check("in View", s) })
	e.update(db, func(tx *kv.Tx) { check("in Update", tx.Snapshot) })
}

func scansEmptyStore(e *env) {
	db := e.open()
	check := func(s *kv.Snapshot) {
		e.wantScan("empty store", s, kv.Range{})
		e.wantScan("empty store", s, kv.Range{Reverse: true})
		e.wantScan("empty store", s, kv.Prefix([]byte("a")))
		e.wantAbsent("empty store", s, "a")
	}
	e.view(db, check)
	e.update(db, func(tx *kv.Tx) { check(tx.Snapshot) })
}

func scansArbitraryKeys(e *env) {
	db := e.open()
	var keys []string
	for i := range 256 {
		keys = append(keys, string([]byte{byte(i)}), string([]byte{byte(i), 0}), string([]byte{'m', byte(i)}))
	}
	keys = append(keys, "new\nline", "new\r\nline", "\xc3\x28", "\xed\xa0\x80", "key=", "тест", "'quote\"", "%00",
		"\xff\xff\xff\xff")
	slices.Sort(keys)
	keys = slices.Compact(keys)
	var b kv.Batch
	for _, i := range randomOrder(len(keys)) {
		b.Put([]byte(keys[i]), fmt.Appendf(nil, "value %d", i))
	}
	e.must(db.Write(ctx, e.class, &b))
	e.view(db, func(s *kv.Snapshot) {
		for _, reverse := range []bool{false, true} {
			i := 0
			for k, v := range s.Scan(kv.Range{Reverse: reverse}) {
				n := i
				if reverse {
					n = len(keys) - 1 - i
				}
				if n < 0 || n >= len(keys) || string(k) != keys[n] || string(v) != fmt.Sprintf("value %d", n) {
					e.Fatalf("reverse=%v, pair %d: got %q=%q, want key %q", reverse, i, k, v,
						keys[max(0, min(n, len(keys)-1))])
				}
				i++
			}
			if i != len(keys) {
				e.Errorf("reverse=%v: got %d pairs, want %d", reverse, i, len(keys))
			}
		}
	})
}

func breaksOffScans(e *env) {
	db := e.open()
	e.fill(db, records(50, 0)...)
	for i := range 200 {
		scan := func(s *kv.Snapshot) {
			n := 0
			for range s.Scan(kv.Range{Reverse: i%2 == 1}) {
				if n++; n > i%7 {
					break
				}
			}
			e.must(s.Err())
		}
		e.view(db, scan)
		if i%10 == 0 {
			e.update(db, func(tx *kv.Tx) {
				scan(tx.Snapshot)
				e.must(tx.Put(numbered(i%50, i)))
			})
		}
	}
	e.must(db.Close())
}

func nestsScans(e *env) {
	db := e.open()
	e.fill(db, "a=1", "b=2", "c=3")
	want := []string{"a:c", "a:b", "a:a", "b:c", "b:b", "b:a", "c:c", "c:b", "c:a"}
	check := func(what string, s *kv.Snapshot) {
		var got []string
		for k := range s.Scan(kv.Range{}) {
			outer := string(k)
			for k := range s.Scan(kv.Range{Reverse: true}) {
				got = append(got, outer+":"+string(k))
			}
			if string(k) != outer {
				e.Errorf("%s: the inner scan changed the outer scan's key from %q to %q", what, outer, k)
			}
		}
		if !slices.Equal(got, want) {
			e.Errorf("%s:\n got %q\nwant %q", what, got, want)
		}
		e.must(s.Err())
	}
	e.view(db, func(s *kv.Snapshot) { check("in View", s) })
	e.update(db, func(tx *kv.Tx) { check("in Update", tx.Snapshot) })
	e.update(db, func(tx *kv.Tx) {
		e.set(tx, "b=4")
		check("in Update after a write", tx.Snapshot)
	})
}
