package drivertest

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
)

var closeCases = []tcase{
	{"every method of a closed store fails with Closed", refusesAfterClose},
	{"a snapshot and a transaction are Closed once their function has returned", refusesAfterEnd},
	{"Close waits for what is running", closesLast},
	{"closing twice is the same as closing once", closesTwice},
	{"no goroutine outlives Close by more than a moment", endsGoroutines},
}

func refusesAfterClose(e *env) {
	db := e.open()
	e.fill(db, "a=1")
	derived := map[string]*kv.DB{"the store": db, "a namespace": db.Namespace([]byte("n"))}
	e.must(db.Close())
	var b kv.Batch
	b.Put([]byte("a"), []byte("2"))
	for name, db := range derived {
		_, sizeErr := db.Size()
		_, getErr := db.Get(ctx, []byte("a"))
		_, snapshotErr := db.Snapshot(ctx)
		_, beginErr := db.Begin(ctx, e.class)
		for what, err := range map[string]error{
			"view":         db.View(ctx, func(*kv.Snapshot) error { return nil }),
			"update":       db.Update(ctx, e.class, func(*kv.Tx) error { return nil }),
			"write":        db.Write(ctx, e.class, &b),
			"get":          getErr,
			"put":          db.Put(ctx, e.class, []byte("a"), []byte("2")),
			"delete":       db.Delete(ctx, e.class, []byte("a")),
			"snapshot":     snapshotErr,
			"begin":        beginErr,
			"iterator":     db.Iter(ctx, kv.Range{}).Err(),
			"empty write":  db.Write(ctx, e.class, new(kv.Batch)),
			"compact":      db.Compact(ctx),
			"check":        db.Check(ctx),
			"size":         sizeErr,
			"backup":       db.Backup(ctx, e.path("backup")),
			"nested write": db.Namespace([]byte("x")).Write(ctx, e.class, &b),
		} {
			e.wantKind(what+" of "+name, err, kv.Closed)
		}
		if s := db.Settings(); s != nil {
			e.Errorf("the settings of %s: got %v, want none", name, s)
		}
	}
}

func refusesAfterEnd(e *env) {
	db := e.open()
	e.fill(db, "a=1")
	var s *kv.Snapshot
	var tx *kv.Tx
	e.view(db, func(got *kv.Snapshot) { s = got })
	e.update(db, func(got *kv.Tx) { tx = got })
	for what, s := range map[string]*kv.Snapshot{"snapshot": s, "transaction": tx.Snapshot} {
		_, err := s.Get([]byte("a"))
		e.wantKind("get of an ended "+what, err, kv.Closed)
		_, err = s.Has([]byte("a"))
		e.wantKind("has of an ended "+what, err, kv.Closed)
		for k := range s.Scan(kv.Range{}) {
			e.Errorf("scan of an ended %s gave %q", what, k)
		}
		e.wantKind("scan of an ended "+what, s.Err(), kv.Closed)
	}
	e.wantKind("put of an ended transaction", tx.Put([]byte("a"), nil), kv.Closed)
	e.wantKind("delete of an ended transaction", tx.Delete([]byte("a")), kv.Closed)
	e.want(db, "a=1")
}

func closesLast(e *env) {
	for what, run := range map[string]func(db *kv.DB, fn func(*kv.Snapshot) error) error{
		"view": func(db *kv.DB, fn func(*kv.Snapshot) error) error { return db.View(ctx, fn) },
		"update": func(db *kv.DB, fn func(*kv.Snapshot) error) error {
			return db.Update(ctx, e.class, func(tx *kv.Tx) error { return fn(tx.Snapshot) })
		},
	} {
		db := e.openAs(what)
		e.fill(db, "a=1", "b=2")
		closed := make(chan error, 1)
		err := run(db, func(s *kv.Snapshot) error {
			go func() { closed <- db.Close() }()
			for began := false; !began; time.Sleep(time.Millisecond) {
				_, err := db.Size()
				began = kv.KindOf(err) == kv.Closed
			}
			e.wantScan("while Close waits", s, kv.Range{}, "a=1", "b=2")
			select {
			case err := <-closed:
				return errors.Join(errors.New("Close returned before the "+what+" did"), err)
			default:
				return nil
			}
		})
		e.must(err)
		e.must(<-closed)
	}
}

func closesTwice(e *env) {
	db := e.open()
	e.fill(db, "a=1")
	e.must(db.Close())
	e.must(db.Close())
	e.must(db.Namespace([]byte("n")).Close())
	if e.caps.Persistent {
		db = e.open()
		e.must(db.Namespace([]byte("n")).Close())
		e.must(db.Close())
		e.want(e.open(), "a=1")
	}
}

// grace is how long an engine's goroutines may outlive Close.
var grace = patience

func endsGoroutines(e *env) {
	work := func() {
		db := e.open()
		e.fill(db, "a=1")
		e.view(db, func(s *kv.Snapshot) { e.wantGet("", s, "a", "1") })
		e.must(db.Close())
	}
	work() // libraries start goroutines of their own the first time, for the whole program
	before := goroutines()
	for range 3 {
		work()
	}
	var left []string
	for deadline := time.Now().Add(grace); ; time.Sleep(10 * time.Millisecond) {
		left = left[:0]
		for id, stack := range goroutines() {
			if _, old := before[id]; !old {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			e.Fatalf("%d goroutines are left %v after Close, among them:\n%s", len(left), grace, left[0])
		}
	}
}

// goroutines returns the stacks of all goroutines by "goroutine 12".
func goroutines() map[string]string {
	buf := make([]byte, 1<<22)
	all := map[string]string{}
	for stack := range bytes.SplitSeq(buf[:runtime.Stack(buf, true)], []byte("\n\n")) {
		id, _, _ := strings.Cut(string(stack), " [")
		all[id] = string(stack)
	}
	return all
}
