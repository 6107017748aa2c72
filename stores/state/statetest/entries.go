package statetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
)

func testRoundTrip(s *suite) {
	store := s.store()
	values := map[string]string{"k": "v", "empty": "", "\x00": "zero", "\xff\xff": "\x00\x01\xff",
		"long": strings.Repeat("0123456789", 5000)}
	for _, bucket := range oneOfEach {
		for key, value := range values {
			s.put(store, bucket, key, value)
		}
		for key, value := range values {
			s.wantGet(store, bucket, key, value)
		}
		s.put(store, bucket, "k", "other")
		s.wantGet(store, bucket, "k", "other")
		for range 2 {
			s.Must("delete", store.Delete(s.Ctx(), bucket, []byte("k")))
			s.wantNone(store, bucket, "k")
		}
		s.Must("view", store.View(s.Ctx(), bucket, func(v *state.View) error {
			for key, want := range map[string]bool{"empty": true, "k": false} {
				if has, err := v.Has([]byte(key)); has != want || err != nil {
					s.Errorf("has %q: %v, %v, want %v", key, has, err, want)
				}
			}
			written, err := v.Written([]byte("empty"))
			if err != nil || !written.Equal(s.clock.now()) {
				s.Errorf("written %v, %v, want %v", written, err, s.clock.now())
			}
			return nil
		}))
	}
	if incidents := store.Incidents(); len(incidents) > 0 {
		s.Errorf("got incidents %v", incidents)
	}
}

func testBucketsApart(s *suite) {
	var list []state.Bucket
	for _, kind := range []state.Kind{state.State, state.Cache, state.Secret} {
		for _, name := range []string{"x", "x\x00", "x\x00\x01", "xy"} {
			list = append(list, state.Bucket{Name: fmt.Sprint(name, kind), Kind: kind})
		}
	}
	store := s.store(func(o *state.Options) { o.Buckets = list })
	for _, b := range list {
		s.put(store, b.Name, "k", b.Name)
	}
	for _, b := range list {
		s.wantGet(store, b.Name, "k", b.Name)
		s.wantKeys(store, b.Name, "", "k")
	}
}

func testNothingThere(s *suite) {
	s.dir = filepath.Join(s.dir, "no", "folder")
	store := s.store()
	for _, bucket := range oneOfEach {
		s.wantNone(store, bucket, "k")
		s.wantKeys(store, bucket, "")
	}
	if _, err := os.Stat(filepath.Dir(s.dir)); !errors.Is(err, os.ErrNotExist) {
		s.Errorf("reading made %s: %v", filepath.Dir(s.dir), err)
	}
	s.Must("delete", store.Delete(s.Ctx(), "a", []byte("k")))
	s.wantNone(store, "a", "k")
}

func testScan(s *suite) {
	store := s.store()
	keys := []string{"b2", "a", "b", "b1", "b\xff", "c", "b1x"}
	for _, bucket := range oneOfEach {
		for _, key := range keys {
			s.put(store, bucket, key, "value of "+key)
		}
		slices.Sort(keys)
		s.wantKeys(store, bucket, "", keys...)
		s.wantKeys(store, bucket, "b", "b", "b1", "b1x", "b2", "b\xff")
		s.wantKeys(store, bucket, "b1", "b1", "b1x")
		s.wantKeys(store, bucket, "d")
		s.Must("view", store.View(s.Ctx(), bucket, func(v *state.View) error {
			for e, err := range v.Scan([]byte("b")) {
				if err != nil || string(e.Value) != "value of "+string(e.Key) || !e.Written.Equal(s.clock.now()) {
					s.Errorf("scan: %q %q %v, %v", e.Key, e.Value, e.Written, err)
				}
				if string(e.Key) == "b1" {
					break
				}
			}
			return nil
		}))
	}
}

func testExpiry(s *suite) {
	store := s.store()
	for _, bucket := range []string{"a", "cache", "kept"} {
		s.put(store, bucket, "old", "1")
	}
	s.clock.advance(59 * time.Minute)
	s.put(store, "cache", "new", "2")
	s.wantGet(store, "cache", "old", "1")
	s.clock.advance(time.Minute)
	s.wantNone(store, "cache", "old")
	s.wantGet(store, "cache", "new", "2")
	s.wantKeys(store, "cache", "", "new")
	s.wantGet(store, "a", "old", "1")
	s.wantGet(store, "kept", "old", "1")
	s.Must("swap of an expired key", store.CompareAndSwap(s.Ctx(), "cache", []byte("old"), nil, []byte("3")))
	s.wantGet(store, "cache", "old", "3")
	s.clock.advance(-48 * time.Hour) // what is from that far in the future was written under a wrong clock
	s.wantNone(store, "cache", "old")
}

func testDeleteStale(s *suite) {
	store := s.store()
	begin := s.clock.now()
	for _, bucket := range []string{"a", "cache"} {
		for i := range 6 {
			s.clock.set(begin.Add(time.Duration(i) * time.Minute))
			s.put(store, bucket, fmt.Sprintf("x%d", i), "v")
			s.put(store, bucket, fmt.Sprintf("y%d", i), "v")
		}
		n, err := store.DeleteStale(s.Ctx(), bucket, []byte("x"), begin.Add(3*time.Minute))
		if n != 3 || err != nil {
			s.Errorf("deleted %d, %v, want 3", n, err)
		}
		s.wantKeys(store, bucket, "", "x3", "x4", "x5", "y0", "y1", "y2", "y3", "y4", "y5")
	}
	s.clock.set(begin.Add(62 * time.Minute))
	for bucket, want := range map[string]int{"a": 0, "cache": 3} { // y0, y1 and y2 have expired
		if n, err := store.DeleteStale(s.Ctx(), bucket, nil, time.Time{}); n != want || err != nil {
			s.Errorf("%s: deleted %d expired ones, %v, want %d", bucket, n, err, want)
		}
	}
	s.clock.set(begin)
	s.wantKeys(store, "cache", "", "x3", "x4", "x5", "y3", "y4", "y5")
}

func testCompareAndSwap(s *suite) {
	store := s.store()
	for _, c := range []struct {
		old, new []byte
		ok       bool
		then     string // "-" is absent
	}{
		{[]byte("1"), []byte("2"), false, "-"},
		{[]byte{}, []byte("2"), false, "-"},
		{nil, nil, true, "-"},
		{nil, []byte("1"), true, "1"},
		{nil, []byte("2"), false, "1"},
		{[]byte("2"), []byte("3"), false, "1"},
		{[]byte("1"), []byte{}, true, ""},
		{nil, []byte("2"), false, ""},
		{[]byte{}, []byte("2"), true, "2"},
		{[]byte("2"), []byte("2"), true, "2"},
		{[]byte("2"), nil, true, "-"},
	} {
		what := fmt.Sprintf("swap %q for %q", c.old, c.new)
		err := store.CompareAndSwap(s.Ctx(), "a", []byte("k"), c.old, c.new)
		if c.ok {
			s.Must(what, err)
		} else {
			s.WantKind(what, err, kv.Conflict)
		}
		if c.then == "-" {
			s.wantNone(store, "a", "k")
		} else {
			s.wantGet(store, "a", "k", c.then)
		}
	}
}

func testCompareAndSwapRace(s *suite) {
	const workers = 4
	swaps := s.target.times(8)
	store := s.store()
	ctx := s.Ctx()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range swaps {
				if err := increment(ctx, store); err != nil {
					s.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.wantGet(store, "a", "n", strconv.Itoa(workers*swaps))
}

// increment adds one to the number in a bucket by a swap, as often as it takes.
func increment(ctx context.Context, store *state.Store) error {
	for {
		old, err := store.Get(ctx, "a", []byte("n"))
		if err != nil && !errors.Is(err, kv.NotFound) {
			return err
		}
		n := 0
		if old != nil {
			if n, err = strconv.Atoi(string(old)); err != nil {
				return err
			}
		}
		err = store.CompareAndSwap(ctx, "a", []byte("n"), old, strconv.AppendInt(nil, int64(n+1), 10))
		if !errors.Is(err, kv.Conflict) {
			return err
		}
	}
}
