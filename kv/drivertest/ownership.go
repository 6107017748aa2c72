package drivertest

import (
	"bytes"

	"github.com/assaydb/assay/kv"
)

var ownershipCases = []tcase{
	{"arguments may be overwritten once a call has returned", keepsNoArguments},
	{"the result of Get survives later writes and Close", ownsResults},
	{"Append appends to dst and leaves what stands before", appends},
	{"Append of an absent key returns dst unchanged", appendsNothing},
	{"borrowed pairs hold until the next step", lendsPairs},
}

func keepsNoArguments(e *env) {
	db := e.open()
	k, v := []byte("key"), []byte("value")
	set := func(key, value string) { k, v = append(k[:0], key...), append(v[:0], value...) }
	e.update(db, func(tx *kv.Tx) {
		for _, s := range []string{"a", "b", "c"} {
			set(s, "of "+s)
			e.must(tx.Put(k, v))
			overwrite(k, v)
		}
		set("b", "")
		e.must(tx.Delete(k))
		overwrite(k)
		e.wantScan("before the commit", tx.Snapshot, kv.Range{}, "a=of a", "c=of c")
	})
	e.want(db, "a=of a", "c=of c")

	var b kv.Batch
	for _, s := range []string{"d", "e"} {
		set(s, "of "+s)
		b.Put(k, v)
		overwrite(k, v)
	}
	set("a", "")
	b.Delete(k)
	overwrite(k)
	e.must(db.Write(ctx, e.class, &b))
	b.Reset()
	b.Put([]byte("x"), []byte("overwrites the batch's memory"))
	e.want(db, "c=of c", "d=of d", "e=of e")

	e.view(db, func(s *kv.Snapshot) {
		set("c", "")
		got, err := s.Get(k)
		overwrite(k)
		if string(got) != "of c" || err != nil {
			e.Errorf("get: got %q, %v", got, err)
		}
	})
	e.want(db, "c=of c", "d=of d", "e=of e")
}

func ownsResults(e *env) {
	db := e.open()
	long := bytes.Repeat([]byte("long"), 5000)
	e.fill(db, "long="+string(long), "short=s")
	var got [4][]byte
	read := func(s *kv.Snapshot, into [][]byte) (err error) {
		if into[0], err = s.Get([]byte("long")); err == nil {
			into[1], err = s.Get([]byte("short"))
		}
		return err
	}
	e.view(db, func(s *kv.Snapshot) { e.must(read(s, got[:2])) })
	e.update(db, func(tx *kv.Tx) { e.must(read(tx.Snapshot, got[2:])) })
	check := func(when string) {
		e.Helper()
		for i, want := range [][]byte{long, []byte("s"), long, []byte("s")} {
			if !bytes.Equal(got[i], want) {
				e.Errorf("%s, result %d changed to %q", when, i, clipString(string(got[i])))
			}
		}
	}
	check("at first")
	for i := range 20 {
		e.fill(db, "long="+string(bytes.Repeat([]byte{byte('a' + i)}, 20000)), "short=t")
	}
	check("after later writes")
	overwrite(got[0], got[1])
	e.view(db, func(s *kv.Snapshot) {
		e.wantGet("after a result was overwritten", s, "short", "t")
		e.wantGet("after a result was overwritten", s, "long", string(bytes.Repeat([]byte{'a' + 19}, 20000)))
		e.must(read(s, got[:2]))
	})
	copy(got[0], long)
	got[1] = []byte("s")
	e.must(db.Close())
	check("after Close")
}

func appends(e *env) {
	db := e.open()
	long := bytes.Repeat([]byte("long"), 5000)
	e.fill(db, "k=value", "empty=", "long="+string(long))
	check := func(s *kv.Snapshot) {
		for _, c := range []struct{ key, want string }{{"k", "value"}, {"empty", ""}, {"long", string(long)}} {
			for _, room := range []int{0, 2, 100, 40000} {
				buf := bytes.Repeat([]byte{'.'}, 7+room)
				dst := append(buf[:3], "pre"...)
				got, err := s.Append(dst, []byte(c.key))
				e.must(err)
				if string(got) != "...pre"+c.want {
					e.Errorf("append %q with room for %d: got %q", c.key, room+1, clipString(string(got)))
				}
				if string(buf[:6]) != "...pre" {
					e.Errorf("append %q changed the bytes before dst's end to %q", c.key, buf[:6])
				}
				if fits := room+1 >= len(c.want); fits && len(got) > 0 && &got[0] != &buf[0] {
					e.Errorf("append %q of %d bytes moved a dst with room for %d", c.key, len(c.want), room+1)
				}
			}
		}
		got, err := s.Append(nil, []byte("k"))
		if string(got) != "value" || err != nil {
			e.Errorf("append to nil: got %q, %v", got, err)
		}
	}
	e.view(db, check)
	e.update(db, func(tx *kv.Tx) { check(tx.Snapshot) })
}

func appendsNothing(e *env) {
	db := e.open()
	e.fill(db, "a=1")
	check := func(s *kv.Snapshot) {
		dst := []byte("dst")
		got, err := s.Append(dst, []byte("absent"))
		if err != error(kv.NotFound) || string(got) != "dst" || &got[0] != &dst[0] {
			e.Errorf("append of an absent key: got %q, %v, want dst itself and the bare not found", got, err)
		}
		if got, err := s.Append(nil, []byte("absent")); got != nil || err != error(kv.NotFound) {
			e.Errorf("append of an absent key to nil: got %q, %v", got, err)
		}
	}
	e.view(db, check)
	e.update(db, func(tx *kv.Tx) {
		e.must(tx.Delete([]byte("a")))
		if _, err := tx.Append(nil, []byte("a")); err != error(kv.NotFound) {
			e.Errorf("append of a key deleted in the transaction: %v", err)
		}
		check(tx.Snapshot)
	})
}

func lendsPairs(e *env) {
	db := e.open()
	for i := range 300 {
		k, v := numbered(i, 0)
		e.fill(db, string(k)+"="+string(bytes.Repeat(v, 1+i%9)))
	}
	check := func(s *kv.Snapshot) {
		i := 0
		for k, v := range s.Scan(kv.Range{}) {
			wantKey, want := numbered(i, 0)
			other, _ := numbered(299-i, 0)
			_, err := s.Get(other) // a read between two steps must not disturb them
			e.must(err)
			if !bytes.Equal(k, wantKey) || !bytes.Equal(v, bytes.Repeat(want, 1+i%9)) {
				e.Fatalf("pair %d changed before the next step: %q=%q", i, k, clipString(string(v)))
			}
			i++
		}
	}
	e.view(db, check)
	e.update(db, func(tx *kv.Tx) { check(tx.Snapshot) })
}
