package overlay_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/kv/overlay"
)

// TestReadsItsOwnWrites holds a Txn against a transaction of the reference engine that makes the
// same writes.
func TestReadsItsOwnWrites(t *testing.T) {
	t.Parallel()
	ctx, seed := context.Background(), rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	key := func() []byte { return fmt.Appendf(nil, "%02d", rng.IntN(40)) }
	for range 300 {
		d, _ := driver.Lookup("mem")
		s, err := d.Open(ctx, driver.Config{})
		must(t, err)
		before := make([]driver.Op, rng.IntN(30))
		for i := range before {
			before[i] = driver.Op{Key: key(), Value: []byte("before")}
		}
		must(t, driver.Apply(ctx, s, before, driver.Buffered))
		below, err := s.Snapshot(ctx)
		must(t, err)
		want, err := s.Begin(ctx, driver.Buffered)
		must(t, err)

		w, size := overlay.New(), 0
		tx := &overlay.Txn{Reader: below, Writes: w}
		for i := range rng.IntN(30) {
			k, v := key(), fmt.Appendf(nil, "write %d", i)[:rng.IntN(7)]
			if size += len(k); rng.IntN(3) == 0 {
				must(t, want.Delete(k))
				must(t, tx.Delete(k))
			} else {
				must(t, want.Put(k, v))
				must(t, tx.Put(k, v))
				size += len(v)
			}
			clear(k) // which is the caller's
			clear(v)
		}
		if got := w.Size(); got != size {
			t.Fatalf("Size: got %d, want %d", got, size)
		}
		for range 10 {
			compareGet(t, tx, want, key())
			r := driver.Range{Start: key(), End: key(), Reverse: rng.IntN(2) == 0}
			if bytes.Compare(r.Start, r.End) >= 0 {
				r.Start = nil
			}
			if rng.IntN(3) == 0 {
				r.End = nil
			}
			c, err := tx.Cursor(r)
			must(t, err)
			of, err := want.Cursor(r)
			must(t, err)
			if got, want := pairs(t, c), pairs(t, of); !slices.Equal(got, want) {
				t.Fatalf("%q, reverse %v: got %q, want %q", [][]byte{r.Start, r.End}, r.Reverse, got, want)
			}
		}
		must(t, want.Close())

		ops := slices.Collect(w.All())
		byKey := func(a, b driver.Op) int { return bytes.Compare(a.Key, b.Key) }
		if len(ops) != w.Len() || !slices.IsSortedFunc(ops, byKey) {
			t.Fatalf("All yields %d of %d keys: %v", len(ops), w.Len(), ops)
		}
		if again := overlay.Of(ops); !slices.EqualFunc(ops, slices.Collect(again.All()), func(a, b driver.Op) bool {
			return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) && a.Delete == b.Delete
		}) {
			t.Fatal("Of what All yields is something else")
		}
		must(t, tx.Close())
		must(t, s.Close())
	}
}

func compareGet(t *testing.T, tx *overlay.Txn, of driver.Txn, key []byte) {
	t.Helper()
	got, err := tx.Get([]byte("dst "), key)
	want, werr := of.Get([]byte("dst "), key)
	if err != werr || !bytes.Equal(got, want) {
		t.Fatalf("Get %q: got %q, %v; want %q, %v", key, got, err, want, werr)
	}
}

// pairs reads c to its end, asks for one more, and closes it.
func pairs(t *testing.T, c driver.Cursor) (list []string) {
	t.Helper()
	for ends := 0; ends < 2; {
		k, v, err := c.Next()
		must(t, err)
		if k == nil {
			ends++
			continue
		}
		list = append(list, fmt.Sprintf("%s=%s", k, v))
	}
	must(t, c.Close())
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
