package drivertest

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
)

var batchCases = []tcase{
	{"the writes of a batch happen in order, the last wins", ordersBatch},
	{"an empty batch changes nothing", writesEmptyBatch},
	{"a batch may be used again after Reset", reusesBatch},
	{"batches of many goroutines are all applied", writesBatchesConcurrently},
	{"readers see a batch as a whole or not at all", readsWholeBatches},
	{"a large batch is applied as a whole or refused as too large", writesLargeBatch},
}

// newRand returns the generator of the seed.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// randomOrder returns the numbers below n, shuffled the same way every time.
func randomOrder(n int) []int { return newRand(uint64(n)).Perm(n) }

func ordersBatch(e *env) {
	db := e.open()
	e.fill(db, "old=1", "kept=1")
	var b kv.Batch
	b.Put([]byte("put then delete"), []byte("1"))
	b.Delete([]byte("put then delete"))
	b.Delete([]byte("delete then put"))
	b.Put([]byte("delete then put"), []byte("2"))
	for i := range 3 {
		b.Put([]byte("last wins"), fmt.Appendf(nil, "%d", i))
	}
	b.Delete([]byte("old"))
	b.Delete([]byte("absent"))
	b.Put([]byte("empty"), nil)
	e.must(db.Write(ctx, e.class, &b))
	e.want(db, "delete then put=2", "empty=", "kept=1", "last wins=2")
}

func writesEmptyBatch(e *env) {
	db := e.open()
	e.fill(db, "a=1")
	e.must(db.Write(ctx, e.class, new(kv.Batch)))
	e.update(db, func(*kv.Tx) {})
	e.want(db, "a=1")
}

func reusesBatch(e *env) {
	db := e.open()
	var b kv.Batch
	for i := range 5 {
		b.Reset()
		for j := range 10 {
			b.Put(numbered(j, i))
		}
		e.must(db.Write(ctx, e.class, &b))
		e.must(db.Write(ctx, e.class, &b))
	}
	e.want(db, records(10, 4)...)
}

func writesBatchesConcurrently(e *env) {
	db := e.open()
	const writers, batches, size = 8, 12, 5
	e.must(together(writers, func(w int) error {
		var b kv.Batch
		for i := range batches {
			b.Reset()
			for j := range size {
				b.Put(numbered((w*batches+i)*size+j, 0))
			}
			if err := db.Write(ctx, e.class, &b); err != nil {
				return err
			}
		}
		return nil
	}))
	e.want(db, records(writers*batches*size, 0)...)
}

func readsWholeBatches(e *env) {
	db := e.open()
	var written atomic.Bool
	e.must(together(2, func(i int) error {
		for round := 0; i == 0 && round < 60; round++ { // every third removes what the others wrote
			if err := rewriteBatch(db, e.class, round); err != nil {
				written.Store(true)
				return err
			}
		}
		for i == 1 && !written.Load() {
			if err := readBatch(db); err != nil {
				return err
			}
		}
		written.Store(true)
		return nil
	}))
}

func writesLargeBatch(e *env) {
	db := e.open()
	e.fill(db, "before=1")
	var b kv.Batch
	const n = 10_000
	for _, i := range randomOrder(n) {
		b.Put(numbered(i, 0))
	}
	err := db.Write(ctx, e.class, &b)
	if err != nil && e.caps.TxnLimit {
		e.wantKind("a batch of 10,000 pairs", err, kv.TooLarge)
		e.want(db, "before=1")
		return
	}
	e.must(err)
	e.view(db, func(s *kv.Snapshot) {
		i := 0
		for k, v := range s.Scan(kv.Prefix([]byte("key"))) {
			wantKey, want := numbered(i, 0)
			if string(k) != string(wantKey) || string(v) != string(want) {
				e.Fatalf("pair %d: got %q=%q", i, k, v)
			}
			i++
		}
		if i != n {
			e.Errorf("got %d pairs, want %d", i, n)
		}
	})
}
