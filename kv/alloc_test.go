//go:build !race && !kvdebug

package kv_test

import (
	"errors"
	"testing"

	"github.com/assaydb/assay/kv"
)

func TestNothingIsAllocatedOnTheFastPaths(t *testing.T) {
	db := openMem(t)
	for _, p := range []string{"a=1", "b=2", "c=3", "d=4"} {
		put(t, db, p)
	}
	key, dst := []byte("b"), make([]byte, 0, 64)
	var size int
	get := func(s *kv.Snapshot) error {
		v, err := s.Append(dst[:0], key)
		size += len(v)
		return err
	}
	absent := []byte("absent")
	miss := func(s *kv.Snapshot) error {
		if has, err := s.Has(absent); has || err != nil {
			t.Error(has, err)
		}
		return nil
	}
	forward := func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Range{}) {
			size += len(k) + len(v)
		}
		return nil
	}
	reverse := func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Range{Start: key, Reverse: true}) {
			size += len(k) + len(v)
		}
		return nil
	}
	update := func(tx *kv.Tx) error { return get(tx.Snapshot) }
	var empty kv.Batch
	for what, run := range map[string]func() error{
		"view and append":   func() error { return db.View(ctx, get) },
		"view and miss":     func() error { return db.View(ctx, miss) },
		"scan":              func() error { return db.View(ctx, forward) },
		"reverse scan":      func() error { return db.View(ctx, reverse) },
		"empty update":      func() error { return db.Update(ctx, kv.Buffered, update) },
		"write of no pairs": func() error { return db.Write(ctx, kv.Buffered, &empty) },
	} {
		if n := testing.AllocsPerRun(200, func() {
			if err := run(); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	if size == 0 {
		t.Error("nothing was read")
	}
}

func TestWriteOfAReusedBatchAllocatesOnlyInTheEngine(t *testing.T) {
	db := mustOpen(t, "faulty:p")
	var b kv.Batch
	key, value := []byte("key"), []byte("value")
	n := testing.AllocsPerRun(200, func() {
		b.Reset()
		for range 100 {
			b.Put(key, value)
			b.Delete(key)
		}
		if err := db.Write(ctx, kv.Synced, &b); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("got %v allocations", n)
	}
	n = testing.AllocsPerRun(200, func() {
		if err := errors.Join(db.Put(ctx, kv.Synced, key, value), db.Delete(ctx, kv.Synced, key)); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("a put and a delete: got %v allocations", n)
	}
}
