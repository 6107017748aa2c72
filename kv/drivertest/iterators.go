package drivertest

import (
	"bytes"
	"math/rand/v2"
	"slices"

	"github.com/assaydb/assay/kv"
)

var iteratorCases = []tcase{
	{"an iterator moves to any key of its range, forth and back", seeks},
	{"iterators of one snapshot do not disturb one another", interleavesIterators},
	{"a scan may reuse the bytes of its bounds", copiesBounds},
	{"keys without values, and lengths without values", readsKeysOnly},
	{"DeleteRange removes the keys of the range and no others", deletesRanges},
	{"a batch deletes ranges in the order of its writes", batchesRanges},
}

func seeks(e *env) {
	db := e.open()
	var keys [][]byte
	var b kv.Batch
	for i := range 60 {
		k, v := numbered(2*i, 0)
		keys = append(keys, k)
		b.Put(append([]byte("n/"), k...), v)
		b.Put(k, v)
	}
	e.must(db.Write(ctx, e.class, &b))
	low, _ := numbered(20, 0)
	high, _ := numbered(100, 0)
	seed := rand.Uint64()
	e.Logf("seed %d", seed)
	check := func(what string, s *kv.Snapshot) {
		for _, r := range []kv.Range{{}, {Reverse: true}, {Start: low, End: high},
			{Start: low, End: high, Reverse: true},
			{Start: high}, {End: low, Reverse: true}, {Start: high, End: low}} {
			r.End = orPrefix(r.End)
			walk(e, what, s, r, keys, rand.New(rand.NewPCG(seed, 0)))
		}
	}
	e.view(db, func(s *kv.Snapshot) { check("the store", s) })
	e.view(db.Namespace([]byte("n/")), func(s *kv.Snapshot) { check("a namespace", s) })
	e.update(db, func(tx *kv.Tx) { check("a transaction", tx.Snapshot) })
}

// orPrefix keeps a range of the store out of the namespace.
func orPrefix(end []byte) []byte {
	if end == nil {
		return []byte("l")
	}
	return end
}

// walk seeks at random, some steps after each, and compares with the sorted keys.
func walk(e *env, what string, s *kv.Snapshot, r kv.Range, keys [][]byte, rnd *rand.Rand) {
	e.Helper()
	var in [][]byte // the keys of r in the order of the walk
	for _, k := range keys {
		if bytes.Compare(k, r.Start) >= 0 && (r.End == nil || bytes.Compare(k, r.End) < 0) {
			in = append(in, k)
		}
	}
	if r.Reverse {
		slices.Reverse(in)
	}
	it := s.Iter(r)
	at := 0
	for range 40 {
		target, _ := numbered(rnd.IntN(130)-3, 0)
		if rnd.IntN(10) == 0 {
			target = nil
		}
		it.Seek(target)
		at = slices.IndexFunc(in, func(k []byte) bool {
			c := bytes.Compare(k, target)
			return c == 0 || (c > 0) != r.Reverse
		})
		if at < 0 {
			at = len(in)
		}
		for range rnd.IntN(5) {
			more := it.Next()
			if more != (at < len(in)) || more && !bytes.Equal(it.Key(), in[at]) {
				e.Fatalf("%s, %s, after seek %q: got %q, %v, want the pair %d of %d", what, show(r), target, it.Key(),
					more, at, len(in))
			}
			at = min(at+1, len(in))
		}
	}
	e.must(it.Err())
	e.must(it.Close())
}

func interleavesIterators(e *env) {
	db := e.open()
	e.fill(db, "a=1", "b=2", "c=3", "d=4")
	s := e.snapshot(db)
	first, second := s.Iter(kv.Range{}), s.Iter(kv.Range{Reverse: true})
	step := func(what string, it *kv.Iterator, want string) {
		e.Helper()
		if !it.Next() || string(it.Key()) != want {
			e.Errorf("%s: got %q, %v, want %q", what, it.Key(), it.Err(), want)
		}
	}
	step("first", first, "a")
	step("second", second, "d")
	key := first.Key()
	e.wantGet("between", s, "c", "3")
	step("second", second, "c")
	if string(key) != "a" || string(first.Value()) != "1" {
		e.Errorf("a step of one iterator changed what another had lent: %q=%q", key, first.Value())
	}
	step("first", first, "b")
	third := s.Iter(kv.Range{Start: []byte("b")})
	step("third", third, "b")
	e.must(first.Close())
	step("third", third, "c")
	step("second", second, "b")
	e.must(second.Close())
	step("third", third, "d")
	e.must(third.Close())
	e.must(s.Close())
}

func copiesBounds(e *env) {
	db := e.open()
	e.fill(db, records(100, 0)...)
	for _, reverse := range []bool{false, true} {
		e.view(db, func(s *kv.Snapshot) {
			start, _ := numbered(10, 0)
			end, _ := numbered(90, 0)
			n := 0
			for range s.Scan(kv.Range{Start: start, End: end, Reverse: reverse}) {
				overwrite(start, end)
				n++
			}
			if n != 80 {
				e.Errorf("reverse=%v: got %d pairs, want 80", reverse, n)
			}
		})
	}
}

func readsKeysOnly(e *env) {
	db := e.open()
	big := noise(100_000, 1)
	e.fill(db, "a=1", "b=", "c="+string(big))
	check := func(what string, s *kv.Snapshot) {
		var got []string
		for k := range s.Keys(kv.Range{}) {
			got = append(got, string(k))
		}
		for k := range s.Keys(kv.Range{Start: []byte("b"), Reverse: true}) {
			got = append(got, string(k))
		}
		if !slices.Equal(got, []string{"a", "b", "c", "c", "b"}) {
			e.Errorf("%s: keys are %q", what, got)
		}
		for k, want := range map[string]int{"a": 1, "b": 0, "c": len(big)} {
			if n, err := s.Len([]byte(k)); n != want || err != nil {
				e.Errorf("%s: the length of %s is %d, %v, want %d", what, k, n, err, want)
			}
		}
		_, err := s.Len([]byte("d"))
		e.wantKind(what+": the length of an absent key", err, kv.NotFound)
		if has, err := s.Has([]byte("b")); !has || err != nil {
			e.Errorf("%s: an empty value: has gives %v, %v", what, has, err)
		}
	}
	e.view(db, func(s *kv.Snapshot) { check("a view", s) })
	e.update(db, func(tx *kv.Tx) { check("a transaction", tx.Snapshot) })
}

func deletesRanges(e *env) {
	for name, c := range map[string]struct {
		r    kv.Range
		want []string
	}{
		"all":       {kv.Range{}, nil},
		"from":      {kv.Range{Start: []byte("b")}, []string{"a=1"}},
		"until":     {kv.Range{End: []byte("c")}, []string{"c=3", "d=4", "e=5"}},
		"between":   {kv.Range{Start: []byte("b"), End: []byte("d")}, []string{"a=1", "d=4", "e=5"}},
		"one":       {kv.Range{Start: []byte("c"), End: kv.After([]byte("c"))}, []string{"a=1", "b=2", "d=4", "e=5"}},
		"none":      {kv.Range{Start: []byte("f")}, []string{"a=1", "b=2", "c=3", "d=4", "e=5"}},
		"backwards": {kv.Range{Start: []byte("d"), End: []byte("b")}, []string{"a=1", "b=2", "c=3", "d=4", "e=5"}},
	} {
		db := e.openAs(name)
		e.fill(db, "a=1", "b=2", "c=3", "d=4", "n=prefix", "na=x", "nb=y")
		e.update(db, func(tx *kv.Tx) {
			e.must(tx.Put([]byte("e"), []byte("5")))
			r := c.r
			if r.End == nil {
				r.End = []byte("n")
			}
			e.must(tx.DeleteRange(r))
			e.must(tx.Namespace([]byte("n")).DeleteRange(kv.Range{}))
			e.wantScan(name+" within the transaction", tx.Snapshot, kv.Range{},
				append(slices.Clip(c.want), "n=prefix")...)
		})
		e.want(db, append(slices.Clip(c.want), "n=prefix")...)
		e.must(db.Close())
	}
	db := e.open()
	var b kv.Batch
	for i := range 3000 {
		b.Put(numbered(i, 0))
	}
	err := db.Write(ctx, e.class, &b)
	if e.caps.TxnLimit && kv.KindOf(err) == kv.TooLarge {
		return
	}
	e.must(err)
	start, _ := numbered(1, 0)
	end, _ := numbered(2999, 0)
	e.update(db, func(tx *kv.Tx) { e.must(tx.DeleteRange(kv.Range{Start: start, End: end})) })
	e.want(db, "key000000=value 0 of version 0", "key002999=value 2999 of version 0")
}

func batchesRanges(e *env) {
	db := e.open()
	e.fill(db, "a=1", "b=2", "z=9")
	var b kv.Batch
	b.Put([]byte("c"), []byte("3"))
	b.DeleteRange(kv.Range{Start: []byte("b"), End: []byte("y")})
	b.Put([]byte("b"), []byte("again"))
	b.Put([]byte("d"), []byte("4"))
	b.DeleteRange(kv.Range{Start: []byte("z")})
	if b.Len() != 5 {
		e.Errorf("the batch has %d writes, want 5", b.Len())
	}
	e.must(db.Write(ctx, e.class, &b))
	e.want(db, "a=1", "b=again", "d=4")
	e.must(db.Namespace([]byte("d")).Write(ctx, e.class, &b))
	e.want(db, "a=1", "b=again", "d=4", "db=again", "dd=4")
}
