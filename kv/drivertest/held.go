package drivertest

import (
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/assaydb/assay/kv"
)

var heldCases = []tcase{
	{"a snapshot that is held shows its state until it is closed", holdsSnapshots},
	{"several goroutines may use one held snapshot", sharesSnapshots},
	{"a transaction that is held commits or rolls back when it is told to", holdsTransactions},
	{"Close ends what the program still holds, and says so", endsWhatIsHeld},
	{"a snapshot that is kept after its View is never another View's", neverRevives},
	{"a scan that outlives its View ends with it, is an error, and harms nobody", endsStrayScans},
	{"an iterator that outlives its transaction is an error, and nothing is committed", refusesStrayIterators},
	{"Get, Put and Delete of the store are transactions of their own", shortcuts},
	{"a namespace of a transaction is part of it", nestsNamespaces},
}

// beside commits while a snapshot is open, unless readers keep writers waiting.
func (e *env) beside(db *kv.DB, pairs ...string) {
	e.Helper()
	if e.caps.ReadersBlockWriters != kv.Always {
		e.fill(db, pairs...)
	}
}

func (e *env) snapshot(db *kv.DB) *kv.Snapshot {
	e.Helper()
	s, err := db.Snapshot(ctx)
	e.must(err)
	return s
}

func holdsSnapshots(e *env) {
	db := e.open()
	e.fill(db, "a=1", "b=2", "c=3")
	first := e.snapshot(db)
	e.beside(db, "b=changed", "d=new")
	second := e.snapshot(db)
	e.wantScan("the first", first, kv.Range{}, "a=1", "b=2", "c=3")
	if e.caps.ReadersBlockWriters != kv.Always {
		e.wantScan("the second", second, kv.Range{Reverse: true}, "d=new", "c=3", "b=changed", "a=1")
	}
	e.must(first.Close())
	e.must(first.Close())
	_, err := first.Get([]byte("a"))
	e.wantKind("get of a closed snapshot", err, kv.Closed)
	e.wantGet("the second", second, "a", "1")
	e.must(second.Close())
	e.fill(db, "e=5")
	e.must(db.Check(ctx))
}

func sharesSnapshots(e *env) {
	db := e.open()
	e.fill(db, records(200, 0)...)
	s := e.snapshot(db)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			r := kv.Range{Reverse: g%2 == 1}
			it := s.Iter(r)
			n := 0
			for ; it.Next(); n++ {
				i := n
				if r.Reverse {
					i = 199 - n
				}
				k, v := numbered(i, 0)
				if got, err := s.Get(k); string(it.Key()) != string(k) || string(it.Value()) != string(v) ||
					string(got) != string(v) || err != nil {
					e.Errorf("step %d: got %q=%q, get gives %q, %v", n, it.Key(), it.Value(), got, err)
				}
			}
			if err := errors.Join(it.Err(), it.Close()); err != nil || n != 200 {
				e.Errorf("an iterator gave %d pairs, %v", n, err)
			}
		})
	}
	all.Wait()
	e.must(s.Close())
}

func holdsTransactions(e *env) {
	db := e.open()
	e.fill(db, "a=1")
	begin := func() *kv.Tx {
		tx, err := db.Begin(ctx, e.class)
		e.must(err)
		return tx
	}
	tx := begin()
	e.must(tx.Put([]byte("b"), []byte("2")))
	e.wantScan("the transaction", tx.Snapshot, kv.Range{}, "a=1", "b=2")
	e.must(tx.Commit())
	e.wantKind("a second commit", tx.Commit(), kv.Closed)
	e.wantKind("put after the commit", tx.Put([]byte("c"), nil), kv.Closed)
	e.must(tx.Rollback())
	tx = begin()
	e.must(tx.Put([]byte("c"), []byte("3")))
	e.must(tx.Rollback())
	e.want(db, "a=1", "b=2")
	e.update(db, func(tx *kv.Tx) {
		e.wantKind("commit within Update", tx.Commit(), kv.Invalid)
		e.wantKind("rollback within Update", tx.Rollback(), kv.Invalid)
	})
	e.view(db, func(s *kv.Snapshot) {
		e.wantKind("close within View", s.Close(), kv.Invalid)
	})
}

func endsWhatIsHeld(e *env) {
	db := e.open()
	e.fill(db, "a=1")
	var s *kv.Snapshot
	if e.caps.ReadersBlockWriters != kv.Always {
		s = e.snapshot(db)
		s.Iter(kv.Range{}).Next()
	}
	tx, err := db.Begin(ctx, e.class)
	e.must(err)
	e.must(tx.Put([]byte("b"), []byte("2")))
	err = db.Close()
	e.wantKind("close", err, kv.Invalid)
	if kv.HintOf(err) == "" {
		e.Errorf("%v has no hint", err)
	}
	if s != nil {
		_, err = s.Get([]byte("a"))
		e.wantKind("get after Close", err, kv.Closed)
	}
	e.wantKind("put after Close", tx.Put([]byte("c"), nil), kv.Closed)
	e.wantKind("commit after Close", tx.Commit(), kv.Closed)
	if e.caps.Persistent {
		e.want(e.open(), "a=1")
	}
}

func neverRevives(e *env) {
	db := e.open()
	e.fill(db, "a=1")
	var kept []*kv.Snapshot
	var keptTx []*kv.Tx
	for range 5 {
		e.view(db, func(s *kv.Snapshot) { kept = append(kept, s) })
		e.update(db, func(tx *kv.Tx) { keptTx = append(keptTx, tx) })
	}
	e.view(db, func(*kv.Snapshot) {
		for _, s := range kept {
			_, err := s.Get([]byte("a"))
			e.wantKind("a snapshot of an earlier View", err, kv.Closed)
		}
	})
	e.update(db, func(*kv.Tx) {
		for _, tx := range keptTx {
			e.wantKind("a transaction of an earlier Update", tx.Put([]byte("a"), []byte("2")), kv.Closed)
		}
	})
	e.want(db, "a=1")
}

func endsStrayScans(e *env) {
	db := e.open()
	e.fill(db, "a=1", "b=2", "c=3")
	var next func() ([]byte, []byte, bool)
	var stop func()
	err := db.View(ctx, func(s *kv.Snapshot) error {
		next, stop = iter.Pull2(s.Scan(kv.Range{}))
		if k, v, ok := next(); string(k) != "a" || string(v) != "1" || !ok {
			e.Errorf("the first pair: got %q=%q, %v", k, v, ok)
		}
		return nil
	})
	e.wantKind("the View", err, kv.Invalid)
	e.want(db, "a=1", "b=2", "c=3")
	e.view(db, func(s *kv.Snapshot) {
		if k, _, ok := next(); ok {
			e.Errorf("the scan of the View before went on to %q", k)
		}
		stop()
		e.wantScan("the next View", s, kv.Range{}, "a=1", "b=2", "c=3")
	})
	e.fill(db, "d=4")
	e.must(db.Check(ctx))
}

func refusesStrayIterators(e *env) {
	db := e.open()
	e.fill(db, "a=1", "b=2")
	var it *kv.Iterator
	err := db.Update(ctx, e.class, func(tx *kv.Tx) error {
		e.must(tx.Put([]byte("c"), []byte("3")))
		it = tx.Iter(kv.Range{})
		if !it.Next() {
			e.Errorf("no pair: %v", it.Err())
		}
		e.wantKind("put beside an iterator", tx.Put([]byte("d"), nil), kv.Invalid)
		return nil
	})
	e.wantKind("the Update", err, kv.Invalid)
	if it.Next() {
		e.Errorf("the iterator goes on after the end")
	}
	e.wantKind("the iterator", it.Err(), kv.Closed)
	e.must(it.Close())
	e.want(db, "a=1", "b=2")
}

func shortcuts(e *env) {
	db := e.open()
	e.must(db.Put(ctx, e.class, []byte("a"), []byte("1")))
	if v, err := db.Get(ctx, []byte("a")); string(v) != "1" || err != nil {
		e.Errorf("get: %q, %v", v, err)
	}
	e.must(db.Delete(ctx, e.class, []byte("a")))
	_, err := db.Get(ctx, []byte("a"))
	e.wantKind("get of a deleted key", err, kv.NotFound)
	e.wantKind("put of an empty key", db.Put(ctx, e.class, nil, nil), kv.Invalid)
}

func nestsNamespaces(e *env) {
	db := e.open()
	e.fill(db, "n/a=1", "m=2")
	e.update(db, func(tx *kv.Tx) {
		n := tx.Namespace([]byte("n/"))
		e.set(n, "b=3", "-a")
		e.wantScan("the namespace", n.Snapshot, kv.Range{}, "b=3")
		e.wantScan("the transaction", tx.Snapshot, kv.Range{}, "m=2", "n/b=3")
		deeper := n.Namespace([]byte("x"))
		e.must(deeper.Put([]byte("y"), []byte("4")))
		if fmt.Sprint(deeper.DB().Path()) != db.Path() {
			e.Errorf("the namespace is of %s", deeper.DB().Path())
		}
	})
	e.want(db, "m=2", "n/b=3", "n/xy=4")
	e.view(db.Namespace([]byte("n/")), func(s *kv.Snapshot) {
		e.wantScan("a namespace of a namespace", s.Namespace([]byte("x")), kv.Range{}, "y=4")
	})
}
