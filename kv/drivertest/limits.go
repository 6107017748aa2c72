package drivertest

import (
	"bytes"

	"github.com/assaydb/assay/kv"
)

var limitCases = []tcase{
	{"an empty key is invalid", refusesEmptyKey},
	{"an empty value is there, and differs from an absent key", keepsEmptyValue},
	{"values of a mebibyte are kept", keepsLargeValues},
	{"a key and a value of the declared limit are kept, one byte more is too large", keepsLimits},
}

func refusesEmptyKey(e *env) {
	db := e.open()
	e.update(db, func(tx *kv.Tx) {
		e.wantKind("put", tx.Put(nil, []byte("v")), kv.Invalid)
		e.wantKind("put", tx.Put([]byte{}, []byte("v")), kv.Invalid)
		e.wantKind("delete", tx.Delete(nil), kv.Invalid)
		_, err := tx.Get(nil)
		e.wantKind("get", err, kv.Invalid)
	})
	var b kv.Batch
	b.Put([]byte("a"), []byte("1"))
	b.Put(nil, []byte("2"))
	e.wantKind("write", db.Write(ctx, e.class, &b), kv.Invalid)
	e.want(db)
}

func keepsEmptyValue(e *env) {
	db := e.open()
	check := func(s *kv.Snapshot) {
		if v, err := s.Get([]byte("empty")); v == nil || len(v) != 0 || err != nil {
			e.Errorf("get: got %v, %v, want an empty value", v, err)
		}
		if has, err := s.Has([]byte("empty")); !has || err != nil {
			e.Errorf("has: got %v, %v", has, err)
		}
		e.wantAbsent("beside an empty value", s, "absent")
		e.wantScan("empty value", s, kv.Range{}, "empty=", "full=1")
	}
	e.update(db, func(tx *kv.Tx) {
		e.set(tx, "full=1", "empty=")
		check(tx.Snapshot)
	})
	e.view(db, check)
	e.fill(db, "empty=")
	e.view(db, check)
	if e.caps.Persistent {
		e.view(e.reopen(db), check)
	}
}

func keepsLargeValues(e *env) {
	const size = 1 << 20
	e.needs(e.caps.MaxValue == 0 || e.caps.MaxValue >= size, "values below one mebibyte only")
	db := e.open()
	big := func(b byte) []byte {
		v := bytes.Repeat([]byte{b}, size)
		v[0], v[size-1] = 'x', 'y'
		return v
	}
	e.fill(db, "small=1")
	e.update(db, func(tx *kv.Tx) { e.must(tx.Put([]byte("big"), big('1'))) })
	var b kv.Batch
	b.Put([]byte("bigger"), big('2'))
	e.must(db.Write(ctx, e.class, &b))
	e.want(db, "big="+string(big('1')), "bigger="+string(big('2')), "small=1")
	e.update(db, func(tx *kv.Tx) { e.must(tx.Delete([]byte("big"))) })
	e.want(db, "bigger="+string(big('2')), "small=1")
}

func keepsLimits(e *env) {
	const most = 1 << 20 // larger limits are too slow to try
	maxKey, maxValue := e.caps.MaxKey, e.caps.MaxValue
	e.needs(maxKey > 0 && maxKey <= most || maxValue > 0 && maxValue <= most, "no limit up to one mebibyte")
	db := e.open()
	try := func(what string, limit int, pair func(n int) (k, v []byte)) {
		if limit == 0 || limit > most {
			return
		}
		k, v := pair(limit)
		e.update(db, func(tx *kv.Tx) { e.must(tx.Put(k, v)) })
		e.view(db, func(s *kv.Snapshot) {
			e.wantScan(what, s, kv.Range{}, string(k)+"="+string(v))
		})
		large, v2 := pair(limit + 1)
		e.update(db, func(tx *kv.Tx) {
			e.wantKind("put of a "+what+" over the limit", tx.Put(large, v2), kv.TooLarge)
			e.must(tx.Delete(k))
		})
		var b kv.Batch
		b.Put([]byte("a"), nil)
		b.Put(large, v2)
		e.wantKind("write of a "+what+" over the limit", db.Write(ctx, e.class, &b), kv.TooLarge)
		e.want(db)
	}
	try("key", maxKey, func(n int) (k, v []byte) { return bytes.Repeat([]byte("k"), n), []byte("v") })
	try("value", maxValue, func(n int) (k, v []byte) { return []byte("k"), bytes.Repeat([]byte("v"), n) })
}
