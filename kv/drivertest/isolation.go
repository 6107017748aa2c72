package drivertest

import (
	"context"
	"errors"
	"runtime"

	"github.com/assaydb/assay/kv"
)

var isolationCases = []tcase{
	{"a transaction sees its own writes", seesOwnWrites},
	{"an Update that returns an error leaves nothing and returns that error", rollsBackOnError},
	{"an Update that panics leaves nothing, passes the panic on and leaves the store usable", rollsBackOnPanic},
	{"a snapshot does not see later commits", pinsSnapshots},
	{"a snapshot stays as it is through many commits and a compaction", keepsOldSnapshots},
	{"nobody sees what is not committed", hidesUncommitted},
	{"a function that leaves its goroutine is rolled back", rollsBackOnGoexit},
	{"what waits for its turn gives up when its context ends, and did nothing", givesUp},
}

func seesOwnWrites(e *env) {
	db := e.open()
	e.fill(db, "a=1", "c=3", "e=5", "g=7")
	e.update(db, func(tx *kv.Tx) {
		e.set(tx, "b=new", "c=changed", "-e", "h=", "a=1st", "a=2nd", "f=gone again", "-f", "-g", "g=back")
		s := tx.Snapshot
		e.wantScan("in the transaction", s, kv.Range{}, "a=2nd", "b=new", "c=changed", "g=back", "h=")
		e.wantScan("in the transaction", s, kv.Range{Reverse: true}, "h=", "g=back", "c=changed", "b=new", "a=2nd")
		e.wantScan("in the transaction", s, kv.Range{Start: []byte("b"), End: []byte("g")}, "b=new", "c=changed")
		e.wantScan("in the transaction", s, kv.Range{Start: []byte("b"), End: []byte("h"), Reverse: true}, "g=back",
			"c=changed", "b=new")
		e.wantAbsent("in the transaction", s, "e")
		e.wantAbsent("in the transaction", s, "f")
		e.must(tx.Delete([]byte("a")))
		e.wantScan("in the transaction", s, kv.Range{End: []byte("c")}, "b=new")
	})
	e.want(db, "b=new", "c=changed", "g=back", "h=")
}

func rollsBackOnError(e *env) {
	db := e.open()
	e.fill(db, "a=1", "b=2")
	mine := errors.New("mine")
	err := db.Update(ctx, e.class, func(tx *kv.Tx) error {
		e.set(tx, "a=changed", "-b", "c=new")
		return mine
	})
	if !errors.Is(err, mine) {
		e.Errorf("update: got %v, want the function's error", err)
	}
	e.want(db, "a=1", "b=2")
	e.fill(db, "c=3")
	e.want(db, "a=1", "b=2", "c=3")
}

func rollsBackOnPanic(e *env) {
	db := e.open()
	e.fill(db, "a=1")
	func() {
		defer func() {
			if r := recover(); r != "mine" {
				e.Errorf("update: recovered %v, want the function's panic", r)
			}
		}()
		_ = db.Update(ctx, e.class, func(tx *kv.Tx) error {
			e.set(tx, "a=changed", "b=new")
			for range tx.Scan(kv.Range{}) {
				panic("mine")
			}
			return nil
		})
	}()
	e.want(db, "a=1")
	e.fill(db, "c=3")
	e.want(db, "a=1", "c=3")
}

// pinsSnapshots commits while a snapshot is open, or, where writers wait for readers, shows that
// the commit waits and the snapshot is whole.
func pinsSnapshots(e *env) {
	db := e.open()
	e.fill(db, "a=1", "b=2", "c=3")
	committed := make(chan error, 1)
	e.view(db, func(s *kv.Snapshot) {
		write := func() error {
			return db.Update(ctx, e.class, func(tx *kv.Tx) error { return set(tx, "a=changed", "-b", "d=new") })
		}
		if e.caps.ReadersBlockWriters == kv.Always {
			go func() { committed <- write() }()
		} else {
			committed <- write()
		}
		e.wantScan("the snapshot", s, kv.Range{}, "a=1", "b=2", "c=3")
		e.wantScan("the snapshot", s, kv.Range{Reverse: true}, "c=3", "b=2", "a=1")
		e.wantAbsent("the snapshot", s, "d")
	})
	e.must(<-committed)
	e.want(db, "a=changed", "c=3", "d=new")
}

func keepsOldSnapshots(e *env) {
	e.needs(e.caps.ReadersBlockWriters != kv.Always, "writers wait for readers")
	db := e.open()
	rewrite := func(version int) {
		var b kv.Batch
		for i := range 50 {
			k, v := numbered(i, version)
			if version > 0 && (i+version)%3 == 0 {
				b.Delete(k)
			} else {
				b.Put(k, v)
			}
		}
		b.Put([]byte("new"), noise(5000, uint64(version)))
		e.must(db.Write(ctx, e.class, &b))
	}
	rewrite(0)
	e.update(db, func(tx *kv.Tx) { e.must(tx.Delete([]byte("new"))) })
	e.view(db, func(s *kv.Snapshot) {
		for version := range 30 {
			rewrite(version + 1)
		}
		e.must(db.Compact(ctx))
		e.wantScan("the old snapshot", s, kv.Range{}, records(50, 0)...)
		e.wantAbsent("the old snapshot", s, "new")
	})
}

func hidesUncommitted(e *env) {
	db := e.open()
	e.fill(db, "a=1", "b=2")
	seen := make(chan error, 1)
	look := func() error {
		return db.View(ctx, func(s *kv.Snapshot) error {
			// Where writers may block readers, this one may have waited for the commit.
			if v, err := s.Get([]byte("a")); err == nil && string(v) == "changed" &&
				e.caps.WritersBlockReaders != kv.Never {
				e.wantScan("after waiting for a transaction", s, kv.Range{}, "a=changed", "c=new")
				return nil
			}
			e.wantScan("beside a transaction", s, kv.Range{}, "a=1", "b=2")
			return nil
		})
	}
	e.update(db, func(tx *kv.Tx) {
		e.set(tx, "a=changed", "-b", "c=new")
		if e.caps.WritersBlockReaders != kv.Never {
			go func() { seen <- look() }()
		} else {
			seen <- look()
		}
	})
	e.must(<-seen)
	e.want(db, "a=changed", "c=new")
}

func rollsBackOnGoexit(e *env) {
	db := e.open()
	e.fill(db, "a=1")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = db.Update(ctx, e.class, func(tx *kv.Tx) error {
			_ = tx.Put([]byte("a"), []byte("changed"))
			for range tx.Scan(kv.Range{}) {
				runtime.Goexit()
			}
			return nil
		})
	}()
	<-done
	e.want(db, "a=1")
	e.fill(db, "b=2")
	e.want(db, "a=1", "b=2")
}

func givesUp(e *env) {
	db := e.open()
	e.fill(db, "a=1")
	ended, end := context.WithCancel(ctx)
	var b kv.Batch
	b.Put([]byte("a"), []byte("changed"))
	write := func() error { return db.Write(ended, e.class, &b) }
	update := func() error {
		return db.Update(ended, e.class, func(tx *kv.Tx) error { return tx.Put([]byte("a"), []byte("changed")) })
	}
	e.update(db, func(*kv.Tx) {
		waiting := make(chan error, 2)
		go func() { waiting <- write() }()
		go func() { waiting <- update() }()
		end()
		e.wantKind("what waited", <-waiting, kv.Canceled)
		e.wantKind("what waited", <-waiting, kv.Canceled)
	})
	e.wantKind("write", write(), kv.Canceled)
	e.wantKind("update", update(), kv.Canceled)
	e.wantKind("view", db.View(ended, func(*kv.Snapshot) error { return nil }), kv.Canceled)
	if e.caps.Persistent {
		_, err := kv.Open(ended, e.url("other"))
		e.wantKind("open", err, kv.Canceled)
	}
	e.want(db, "a=1")
}
