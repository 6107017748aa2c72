package drivertest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/assaydb/assay/kv"
)

var concurrencyCases = []tcase{
	{"increments of many goroutines sum up exactly", sumsIncrements},
	{"readers, writers, batches, scans and namespaces run side by side", runsSideBySide},
}

// together runs n functions at the same time and returns their errors.
func together(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = fn(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func sumsIncrements(e *env) {
	db := e.open()
	const workers, rounds = 6, 25
	key := []byte("counter")
	e.must(together(workers, func(int) error {
		for range rounds {
			err := db.Update(ctx, e.class, func(tx *kv.Tx) error {
				v, err := tx.Get(key)
				if kv.KindOf(err) == kv.NotFound {
					v = make([]byte, 8)
				} else if err != nil {
					return err
				}
				return tx.Put(key, binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(v)+1))
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	e.view(db, func(s *kv.Snapshot) {
		e.wantGet("counter", s, "counter", string(binary.BigEndian.AppendUint64(nil, workers*rounds)))
	})
}

// runsSideBySide moves units between accounts: their sum is the same in every snapshot. Batches
// rewrite keys of their own, a namespace holds others.
func runsSideBySide(e *env) {
	db := e.open()
	const accounts, units, rounds = 10, 1000, 30
	account := func(i int) []byte { return fmt.Appendf(nil, "account%d", i) }
	e.update(db, func(tx *kv.Tx) {
		for i := range accounts {
			e.must(tx.Put(account(i), kv.AppendUint64(nil, units)))
		}
	})
	workers := []func(round int) error{
		func(round int) error {
			return move(db, e.class, account(round%accounts), account((round*7+1)%accounts))
		},
		func(round int) error {
			return move(db, e.class, account((round*3)%accounts), account((round+5)%accounts))
		},
		func(round int) error { return sumAccounts(db, accounts*units, round%2 == 0) },
		func(round int) error { return sumAccounts(db, accounts*units, round%2 == 1) },
		func(round int) error { return rewriteBatch(db, e.class, round) },
		func(round int) error { return rewriteBatch(db.Namespace([]byte("space/")), e.class, round) },
		func(round int) error { return readBatch(db) },
		func(round int) error { return readBatch(db.Namespace([]byte("space/"))) },
	}
	e.must(together(len(workers), func(i int) error {
		for round := range rounds {
			if err := workers[i](round); err != nil {
				return err
			}
		}
		return nil
	}))
	e.must(sumAccounts(db, accounts*units, false))
	e.must(db.Check(ctx))
}

func move(db *kv.DB, class kv.Durability, from, to []byte) error {
	if string(from) == string(to) {
		return nil
	}
	return db.Update(ctx, class, func(tx *kv.Tx) error {
		for _, change := range []struct {
			key []byte
			by  int64
		}{{from, -1}, {to, 1}} {
			v, err := tx.Get(change.key)
			if err != nil {
				return err
			}
			n, _ := kv.LastUint64(v)
			if err := tx.Put(change.key, kv.AppendUint64(nil, uint64(int64(n)+change.by))); err != nil {
				return err
			}
		}
		return nil
	})
}

func sumAccounts(db *kv.DB, want uint64, reverse bool) error {
	return db.View(ctx, func(s *kv.Snapshot) error {
		r := kv.Prefix([]byte("account"))
		r.Reverse = reverse
		var sum, again uint64
		for k, v := range s.Scan(r) {
			n, _ := kv.LastUint64(v)
			sum += n
			v, err := s.Get(k)
			if err != nil {
				return err
			}
			n, _ = kv.LastUint64(v)
			again += n
		}
		if sum != want || again != want {
			return fmt.Errorf("one snapshot holds %d units by Scan and %d by Get, want %d", sum, again, want)
		}
		return s.Err()
	})
}

func rewriteBatch(db *kv.DB, class kv.Durability, round int) error {
	var b kv.Batch
	for i := range 8 {
		k := fmt.Appendf(nil, "batch%d", i)
		if round%3 == 2 {
			b.Delete(k)
		} else {
			b.Put(k, fmt.Appendf(nil, "%d", round))
		}
	}
	return db.Write(ctx, class, &b)
}

func readBatch(db *kv.DB) error {
	return db.View(ctx, func(s *kv.Snapshot) error {
		first, n := "", 0
		for k, v := range s.Scan(kv.Prefix([]byte("batch"))) {
			if n++; n == 1 {
				first = string(v)
			}
			if string(v) != first {
				return fmt.Errorf("one snapshot holds versions %s and %s of %q", first, v, k)
			}
		}
		if last, err := s.Get([]byte("batch7")); n > 0 && (string(last) != first || err != nil) {
			return fmt.Errorf("one snapshot holds versions %s and %s (%v)", first, last, err)
		}
		if n != 0 && n != 8 {
			return fmt.Errorf("one snapshot holds %d of a batch's 8 keys", n)
		}
		return s.Err()
	})
}
