package kv_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

func openMem(t testing.TB) *kv.DB { return mustOpen(t, "mem:", kv.WithWeakest(kv.Buffered)) }

// put commits pairs, written "key=value".
func put(t testing.TB, db *kv.DB, pairs ...string) {
	t.Helper()
	var b kv.Batch
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		b.Put([]byte(k), []byte(v))
	}
	if err := db.Write(ctx, kv.Buffered, &b); err != nil {
		t.Fatal(err)
	}
}

// all returns the pairs of db, written "key=value" and separated by spaces.
func all(t testing.TB, db *kv.DB, r kv.Range) string {
	t.Helper()
	var pairs []string
	err := db.View(ctx, func(s *kv.Snapshot) error {
		for k, v := range s.Scan(r) {
			pairs = append(pairs, string(k)+"="+string(v))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(pairs, " ")
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestUpdateReturnsTheErrorOfItsFunctionAsItIs(t *testing.T) {
	db := openMem(t)
	mine := errors.New("mine")
	if err := db.Update(ctx, kv.Buffered, func(*kv.Tx) error { return mine }); err != mine {
		t.Errorf("update: got %v", err)
	}
	if err := db.View(ctx, func(*kv.Snapshot) error { return mine }); err != mine {
		t.Errorf("view: got %v", err)
	}
}

func TestPanicsPassThroughAndRollBack(t *testing.T) {
	db := openMem(t)
	put(t, db, "a=1")
	for what, run := range map[string]func(){
		"update": func() {
			_ = db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
				_ = tx.Put([]byte("a"), []byte("2"))
				panic("mine")
			})
		},
		"view": func() { _ = db.View(ctx, func(*kv.Snapshot) error { panic("mine") }) },
		"scan in view": func() {
			_ = db.View(ctx, func(s *kv.Snapshot) error {
				for range s.Scan(kv.Range{}) {
					panic("mine")
				}
				return nil
			})
		},
	} {
		func() {
			defer func() {
				if r := recover(); r != "mine" {
					t.Errorf("%s: recovered %v", what, r)
				}
			}()
			run()
		}()
		put(t, db, "b="+what)
		want(t, "after a panic in "+what, all(t, db, kv.Range{}), "a=1 b="+what)
	}
}

func TestWritesAreRefusedWhileAScanRuns(t *testing.T) {
	db := openMem(t)
	put(t, db, "a=1", "b=2")
	err := db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		for range tx.Scan(kv.Range{}) {
			for range tx.Scan(kv.Range{}) {
				break
			}
			wantKind(t, "put in a scan", tx.Put([]byte("c"), nil), kv.Invalid)
			wantKind(t, "delete in a scan", tx.Delete([]byte("a")), kv.Invalid)
			break
		}
		return tx.Put([]byte("c"), []byte("3"))
	})
	if err != nil {
		t.Error(err)
	}
	want(t, "after the scan", all(t, db, kv.Range{}), "a=1 b=2 c=3")
}

func TestReadOnlyStoresRefuseWrites(t *testing.T) {
	db := mustOpen(t, "spy:p?mode=ro")
	var b kv.Batch
	b.Put([]byte("a"), nil)
	wantKind(t, "write", db.Write(ctx, kv.Synced, &b), kv.NotWritable)
	wantKind(t, "update", db.Update(ctx, kv.Synced, func(*kv.Tx) error { t.Error("the function ran"); return nil }),
		kv.NotWritable)
	wantKind(t, "compact", db.Compact(ctx), kv.NotWritable)
	wantKind(t, "write to a namespace", db.Namespace([]byte("n")).Write(ctx, kv.Synced, &b), kv.NotWritable)
}

func TestClassesThatAreNotDeliveredAreRefused(t *testing.T) {
	db := openMem(t)
	for _, d := range []kv.Durability{kv.Synced, kv.Flushed, 3, 255} {
		err := db.Update(ctx, d, func(*kv.Tx) error { t.Error("the function ran"); return nil })
		wantKind(t, "update", err, kv.Unsupported)
		if kv.HintOf(err) == "" {
			t.Errorf("%v: no hint", err)
		}
	}
}

func TestUpdatesTakeTurns(t *testing.T) {
	db := openMem(t)
	inside := 0
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				err := db.Update(ctx, kv.Buffered, func(*kv.Tx) error {
					if inside++; inside != 1 {
						t.Error("two transactions at once")
					}
					inside--
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	db := openMem(t)
	ended, end := context.WithCancel(ctx)
	err := db.Update(ctx, kv.Buffered, func(*kv.Tx) error {
		waiting := make(chan error, 1)
		go func() {
			waiting <- db.Update(ended, kv.Buffered, func(*kv.Tx) error { t.Error("the function ran"); return nil })
		}()
		end()
		wantKind(t, "update", <-waiting, kv.Canceled)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBatchesCopyWhatTheyAreGiven(t *testing.T) {
	db := openMem(t)
	var b kv.Batch
	k, v := []byte("k0"), []byte("v0")
	for i := range 9 {
		k[1], v[1] = byte('0'+i), byte('0'+i)
		b.Put(k, v)
	}
	k[1] = '4'
	b.Delete(k)
	if b.Len() != 10 {
		t.Errorf("len: got %d", b.Len())
	}
	for range 2 {
		if err := db.Write(ctx, kv.Buffered, &b); err != nil {
			t.Fatal(err)
		}
		want(t, "batch", all(t, db, kv.Range{}), "k0=v0 k1=v1 k2=v2 k3=v3 k5=v5 k6=v6 k7=v7 k8=v8")
	}
	if b.Reset(); b.Len() != 0 {
		t.Errorf("len after Reset: got %d", b.Len())
	}
}

func TestBatchesTakeValuesFromTheirAvailableBuffer(t *testing.T) {
	db := mustOpen(t, "mem:available-buffer")
	var b kv.Batch
	for round := range 2 { // the second has the memory of the first
		b.Reset()
		want := map[string]string{}
		for i := range 200 {
			key, text := fmt.Sprintf("key %d", i), strings.Repeat(fmt.Sprint(round, i, ";"), i%7)
			value := append(b.AvailableBuffer(), text...)
			if i%5 == 0 { // not the next thing that is put
				b.Put([]byte("other "+key), []byte("other"))
				want["other "+key] = "other"
				value = append(b.AvailableBuffer(), text...)
			}
			b.Put([]byte(key), value)
			want[key] = text
		}
		if err := db.Write(ctx, kv.Buffered, &b); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		err := db.View(ctx, func(s *kv.Snapshot) error {
			for k, v := range s.Scan(kv.Range{}) {
				got[string(k)] = string(v)
			}
			return nil
		})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("round %d: %v, got %q, want %q", round, err, got, want)
		}
	}
}

func TestErrorsAreOneKindWithHints(t *testing.T) {
	inner := &kv.Error{Op: "read", Kind: kv.Corrupt, Err: errors.New("bad page"), Hint: "restore it"}
	for _, c := range []struct {
		err  error
		text string
		kind kv.Kind
		hint string
	}{
		{inner, "read: corrupt: bad page", kv.Corrupt, "restore it"},
		{errors.Join(inner, errors.New("and more")), "read: corrupt: bad page\nand more", kv.Corrupt, "restore it"},
		{&kv.Error{Op: "get", Engine: "e", Path: "p", Kind: kv.NotFound}, "get e p: not found", kv.NotFound, ""},
		{&kv.Error{Kind: kv.Busy, Err: errors.New("busy already")}, "busy already", kv.Busy, ""},
		{kv.TooLarge, "too large", kv.TooLarge, ""},
		{context.Canceled, "context canceled", kv.Canceled, ""},
		{errors.New("else"), "else", driver.Other, ""},
	} {
		if got := c.err.Error(); got != c.text || kv.KindOf(c.err) != c.kind || kv.HintOf(c.err) != c.hint {
			t.Errorf("got %q, %v, %q, want %q, %v, %q", got, kv.KindOf(c.err), kv.HintOf(c.err), c.text, c.kind, c.hint)
		}
	}
}

func TestStoresAreReadWithoutAView(t *testing.T) {
	db, err := kv.Open(ctx, "mem:", kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, "a=1", "b=22", "nx=333")
	n := db.Namespace([]byte("n"))
	has, err := n.Has(ctx, []byte("x"))
	if !has || err != nil {
		t.Errorf("has: got %v, %v", has, err)
	}
	if has, err := n.Has(ctx, []byte("a")); has || err != nil {
		t.Errorf("has of an absent key: got %v, %v", has, err)
	}
	if got, err := db.Len(ctx, []byte("b")); got != 2 || err != nil {
		t.Errorf("len: got %d, %v", got, err)
	}
	_, err = db.Len(ctx, []byte("c"))
	wantKind(t, "len of an absent key", err, kv.NotFound)

	it := db.Iter(ctx, kv.Range{})
	put(t, db, "c=later")
	got := ""
	for it.Next() {
		got += string(it.Key()) + "=" + string(it.Value()) + " "
	}
	want(t, "iterator", got, "a=1 b=22 nx=333 ")
	if err := errors.Join(it.Err(), it.Close(), it.Close()); err != nil {
		t.Error(err)
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := db.Iter(limited, kv.Range{})
	if !ended.Next() {
		t.Errorf("an iterator before its context has ended: %v", ended.Err())
	}
	cancel()
	if ended.Next() || !errors.Is(ended.Err(), context.Canceled) || ended.Close() != nil {
		t.Errorf("an iterator whose context has ended: got %v", ended.Err())
	}
	open := db.Iter(ctx, kv.Range{})
	wantKind(t, "close with an iterator that is open", db.Close(), kv.Invalid)
	if open.Next() || kv.KindOf(open.Err()) != kv.Closed {
		t.Errorf("the iterator: got %v", open.Err())
	}
	late := db.Iter(ctx, kv.Range{})
	if late.Next() || kv.KindOf(late.Err()) != kv.Closed || late.Close() != nil {
		t.Errorf("an iterator of a closed store: got %v", late.Err())
	}
}

// lines is a Writer.
type lines []string

func (l *lines) Put(k, v []byte) error { *l = append(*l, string(k)+"="+string(v)); return nil }
func (l *lines) Delete(k []byte) error { *l = append(*l, "-"+string(k)); return nil }
func (l *lines) DeleteRange(r kv.Range) error {
	*l = append(*l, fmt.Sprintf("-[%s,%s)", r.Start, r.End))
	return nil
}

func TestBatchesAreReplayed(t *testing.T) {
	var b kv.Batch
	b.DeleteRange(kv.Range{})
	b.Put([]byte("a"), []byte("1"))
	b.DeleteRange(kv.Prefix([]byte("b")))
	b.Delete([]byte("c"))
	b.DeleteRange(kv.Range{Start: []byte("d")})
	var got lines
	if err := b.Replay(&got); err != nil {
		t.Error(err)
	}
	want(t, "replay", strings.Join(got, " "), "-[,) a=1 -[b,c) -c -[d,)")
}

// A turn within the process comes for certain, in order: only the context bounds the wait for it.
func TestWaitIsForLocksOfOthersAlone(t *testing.T) {
	db := mustOpen(t, "mem:", kv.WithWeakest(kv.Buffered), kv.WithWait(0))
	tx, err := db.Begin(ctx, kv.Buffered)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for range 2 {
		go func() { done <- db.Put(ctx, kv.Buffered, []byte("a"), []byte("1")) }()
	}
	select {
	case err := <-done:
		t.Errorf("a write beside a transaction: got %v", err)
	case <-time.After(10 * time.Millisecond): // longer than any limit
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Errorf("a write that waited for its turn: got %v", err)
		}
	}
}

// A scan ends with its loop. One that a panic left has no end but that of the transaction.
func TestAScanThatAPanicLeftIsOpen(t *testing.T) {
	db := openMem(t)
	put(t, db, "a=1")
	err := db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		func() {
			defer func() { _ = recover() }()
			for range tx.Scan(kv.Range{}) {
				panic("mine")
			}
		}()
		if err := tx.Put([]byte("a"), nil); !errors.Is(err, kv.Invalid) {
			t.Errorf("a write beside it: got %v, want Invalid", err)
		}
		return nil
	})
	if !errors.Is(err, kv.Invalid) {
		t.Errorf("got %v, want Invalid", err)
	}
	put(t, db, "b=2")
	want(t, "after it", all(t, db, kv.Range{}), "a=1 b=2")
}

// The cursor of a scan serves the next one, but none from before a write.
func TestAScanSeesWhatWasWrittenSinceTheLast(t *testing.T) {
	db := openMem(t)
	put(t, db, "a=1")
	err := db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		for _, k := range []string{"b", "c", "d"} {
			n := 0
			for range tx.Scan(kv.Range{}) {
				n++
			}
			if err := tx.Put([]byte(k), nil); err != nil {
				return err
			}
			for range tx.Scan(kv.Range{Reverse: true}) {
				n--
			}
			if n != -1 {
				t.Errorf("after one more pair a scan returned %d more", -n)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestANamespaceDoesNotHoldItsPrefix(t *testing.T) {
	parent := openMem(t)
	db := parent.Namespace([]byte("p"))
	put(t, parent, "p=0")
	put(t, db, "a=1")
	for _, reverse := range []bool{false, true} {
		want(t, "a scan", all(t, db, kv.Range{Reverse: reverse}), "a=1")
		want(t, "of nothing", all(t, db, kv.Range{End: []byte{0}, Reverse: reverse}), "")
	}
	err := db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error { return tx.DeleteRange(kv.Range{}) })
	if err != nil {
		t.Error(err)
	}
	want(t, "what is left", all(t, parent, kv.Range{}), "p=0")
}
