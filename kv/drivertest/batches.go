package drivertest

import (
	"fmt"
	"math/rand/v2"
	"sync"

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
	e.update(db, func(*kv.Tx) error { return nil })
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
	var want []string
	for j := range 10 {
		k, v := numbered(j, 4)
		want = append(want, string(k)+"="+string(v))
	}
	e.want(db, want...)
}

func writesBatchesConcurrently(e *env) {
	db := e.open()
	const writers, batches, size = 8, 12, 5
	var all sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		all.Go(func() {
			var b kv.Batch
			for i := range batches {
				b.Reset()
				for j := range size {
					b.Put(numbered((w*batches+i)*size+j, 0))
				}
				if err := db.Write(ctx, e.class, &b); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		e.must(err)
	}
	var want []string
	for i := range writers * batches * size {
		k, v := numbered(i, 0)
		want = append(want, string(k)+"="+string(v))
	}
	e.want(db, want...)
}

func readsWholeBatches(e *env) {
	db := e.open()
	write := func(version int) error {
		var b kv.Batch
		for i := range 20 {
			b.Put(fmt.Appendf(nil, "key%06d", i), fmt.Appendf(nil, "%d", version))
		}
		return db.Write(ctx, e.class, &b)
	}
	e.must(write(0))
	done := make(chan error, 1)
	go func() {
		for version := range 40 {
			if err := write(version); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for running := true; running; {
		select {
		case err := <-done:
			e.must(err)
			running = false
		default:
		}
		e.view(db, func(s *kv.Snapshot) error {
			first, n := "", 0
			for _, v := range s.Scan(kv.Range{}) {
				if n++; n == 1 {
					first = string(v)
				} else if string(v) != first {
					e.Fatalf("one snapshot holds versions %s and %s", first, v)
				}
			}
			if n != 20 {
				e.Fatalf("a snapshot holds %d of 20 keys", n)
			}
			last, err := s.Get([]byte("key000019"))
			if string(last) != first {
				e.Fatalf("one snapshot holds versions %s and %s", first, last)
			}
			return err
		})
	}
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
	e.view(db, func(s *kv.Snapshot) error {
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
		return nil
	})
}
