package kv_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

// Who is the only one in uses memory of the store; who is in beside others must not.

func TestViewsWithinAndBesideOthersKeepTheirState(t *testing.T) {
	db := openMem(t)
	put(t, db, "a/k=a", "b/k=b", "c/k=c")
	view := func(name string, within func() error) error {
		return db.Namespace([]byte(name+"/")).View(ctx, func(s *kv.Snapshot) (err error) {
			n := 0
			for k, v := range s.Scan(kv.Range{}) {
				err = within()
				want(t, "the pair of "+name, string(k)+"="+string(v), "k="+name)
				n++
			}
			v, gerr := s.Get([]byte("k"))
			want(t, "the value of "+name, string(v), name)
			if n != 1 {
				t.Errorf("%s: %d pairs, want 1", name, n)
			}
			return errors.Join(err, gerr, s.Err())
		})
	}
	nothing := func() error { return nil }
	for range 3 {
		err := view("a", func() error {
			return errors.Join(view("b", func() error { return view("c", nothing) }), view("c", nothing))
		})
		if err != nil {
			t.Error(err)
		}
	}
	var beside sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "a", "b"} {
		beside.Go(func() {
			for range 300 {
				if err := view(name, func() error { runtime.Gosched(); return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	beside.Wait()
}

// together is a store whose Apply looks at its writes when all who are to come have come.
type together struct {
	driver.Store
	came, all chan struct{}
	mu        sync.Mutex
	keys      []string
}

func (s *together) Caps() driver.Caps {
	caps := new(faulty).Info().Caps
	caps.ConcurrentApply = true
	return caps
}

func (s *together) Apply(_ context.Context, ops []driver.Op, _ driver.Durability) error {
	s.came <- struct{}{}
	<-s.all
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, string(ops[0].Key)+"="+string(ops[0].Value))
	return nil
}

func TestPutsBesideOthersKeepTheirPair(t *testing.T) {
	s := &together{came: make(chan struct{}), all: make(chan struct{})}
	w := driver.Wrapped{Driver: new(faulty), Store: func(c driver.Config) driver.Store {
		inner, err := new(faulty).Open(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		s.Store = inner
		return s
	}}
	db, err := kv.OpenDriver(ctx, w, driver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	pairs := []string{"a=1", "b=2", "c=3", "d=4"}
	var puts sync.WaitGroup
	for _, p := range pairs {
		puts.Go(func() {
			if err := db.Put(ctx, kv.Synced, []byte(p[:1]), []byte(p[2:])); err != nil {
				t.Error(err)
			}
		})
		<-s.came
	}
	close(s.all)
	puts.Wait()
	if slices.Sort(s.keys); !slices.Equal(s.keys, pairs) {
		t.Errorf("the engine was given %q, want %q", s.keys, pairs)
	}
}
