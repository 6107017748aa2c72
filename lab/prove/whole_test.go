package prove

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
)

// What is whole at a glance is what compare finds whole, and whatever is changed is left to it.
func TestWholeIsWhatCompareFindsWhole(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := newPast(7, 2)
	p.Work = work{Sizes: 1, Batch: 40}
	spec := storeSpec{Entry: bench.Entry{Engine: "bbolt"}, Dir: t.TempDir(), Class: kv.Synced}
	opened, err := openSubject(ctx, spec, p)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*keys)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for w, c := range p.Chains {
		s.seek(w, 0, c)
	}
	glance := func() (outcome, bool) {
		t.Helper()
		found, err := readAll(ctx, s.DB)
		if err != nil {
			t.Fatal(err)
		}
		o, ok := s.whole(ctx, p)
		all := p.compare(found)
		if whole := all.Broken == "" && all.Torn == ""; ok != whole || ok && !slices.Equal(o.N, all.N) {
			t.Fatalf("whole says %t, %v, where compare finds %+v", ok, o.N, all)
		}
		return o, ok
	}
	if o, ok := glance(); !ok || !slices.Equal(o.N, []uint64{0, 0}) {
		t.Fatalf("of nothing: %t, %v", ok, o.N)
	}
	for range 12 {
		for w, c := range p.Chains {
			if err := s.next(ctx, w, c[0].Salt, kv.Synced); err != nil {
				t.Fatal(err)
			}
		}
		if _, ok := glance(); !ok {
			t.Fatal("a store to which nothing happened is not whole")
		}
	}
	content := s.scripts[1].content()
	key := []byte(s.scripts[1].accountKey(3))
	changes := map[string]func(*kv.Tx) error{
		"changed":      func(tx *kv.Tx) error { return tx.Put(key, []byte("1 1 1")) },
		"missing":      func(tx *kv.Tx) error { return tx.Delete(key) },
		"by nobody":    func(tx *kv.Tx) error { return tx.Put([]byte("writer1/else"), nil) },
		"of no writer": func(tx *kv.Tx) error { return tx.Put([]byte("writer2/count"), []byte("1 1")) },
		"no counter":   func(tx *kv.Tx) error { return tx.Delete([]byte(counterKey(1))) },
		"a late counter": func(tx *kv.Tx) error {
			return tx.Put([]byte(counterKey(1)), fmt.Appendf(nil, "13 %d", p.Chains[1][0].Salt))
		},
	}
	for name, change := range changes {
		if err := s.Update(ctx, kv.Synced, change); err != nil {
			t.Fatal(err)
		}
		if o, ok := glance(); ok {
			t.Errorf("%s: whole, %v", name, o.N)
		}
		if err := s.Update(ctx, kv.Synced, func(tx *kv.Tx) error { return restore(tx, content) }); err != nil {
			t.Fatal(err)
		}
		if _, ok := glance(); !ok {
			t.Errorf("behind %s: not whole", name)
		}
	}
}

// restore gives the store content as all that it has of writer 1 and of others that are not.
func restore(tx *kv.Tx, content map[string][]byte) error {
	errs := []error{tx.Delete([]byte("writer1/else")), tx.Delete([]byte("writer2/count"))}
	for k, v := range content {
		errs = append(errs, tx.Put([]byte(k), v))
	}
	return errors.Join(errs...)
}
