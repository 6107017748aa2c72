package statetest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
)

func testBound(s *suite) {
	const bound, puts = 8 << 10, 60
	bounded := func(o *state.Options) {
		o.Buckets = []state.Bucket{{Name: "bounded", Kind: state.Cache, Max: bound}, {Name: "free", Kind: state.Cache}}
	}
	store := s.store(bounded)
	begin := s.clock.now()
	size := func() (n int) {
		entries, err := store.Scan(s.Ctx(), "bounded", nil)
		s.Must("scan", err)
		for _, e := range entries {
			n += len(e.Key) + len(e.Value)
		}
		return n
	}
	most := 0
	for i := range puts {
		s.clock.set(begin.Add(time.Duration(i) * time.Second))
		s.put(store, "bounded", fmt.Sprintf("%x-%d", i*7919%256, i), string(bytes.Repeat([]byte("v"), 200)))
		s.put(store, "free", fmt.Sprint(i), "kept")
		if i%10 == 9 {
			most = max(most, size())
		}
	}
	if most > bound || most < bound/2 {
		s.Errorf("there were %d bytes in a cache of %d", most, bound)
	}
	entries, err := store.Scan(s.Ctx(), "bounded", nil)
	s.Must("scan", err)
	oldest := s.clock.now()
	for _, e := range entries {
		if e.Written.Before(oldest) {
			oldest = e.Written
		}
	}
	if want := s.clock.now().Add(-time.Duration(len(entries)-1) * time.Second); !oldest.Equal(want) {
		s.Errorf("of %d entries the oldest is of %v, want %v: the last ones that were written", len(entries), oldest,
			want)
	}
	if entries, err := store.Scan(s.Ctx(), "free", nil); err != nil || len(entries) != puts {
		s.Errorf("a cache without a bound has %d entries, %v, want %d", len(entries), err, puts)
	}

	smaller := s.store(bounded, func(o *state.Options) { o.Buckets[0].Max = bound / 4 })
	for i := range 4 {
		s.put(smaller, "bounded", fmt.Sprint("smaller ", i), string(bytes.Repeat([]byte("v"), 200)))
	}
	if n := size(); n > bound/4 {
		s.Errorf("%d bytes are left under a bound of %d", n, bound/4)
	}
}

func testPruneExpired(s *suite) {
	store := s.store()
	for i := range 20 {
		s.put(store, "cache", fmt.Sprint("old ", i), "v")
	}
	s.clock.advance(2 * time.Hour)
	s.put(store, "cache", "new", string(make([]byte, state.DefaultPrune)))
	forever := s.store(func(o *state.Options) {
		o.Buckets = []state.Bucket{{Name: "cache", Kind: state.Cache}} // what is in the file, expired or not
	})
	s.wantKeys(forever, "cache", "", "new")
}

func testTyped(s *suite) {
	type point struct {
		Name string
		At   []int
	}
	store := s.store()
	points, err := state.In[point](store, "a")
	s.Must("open", err)
	key := []byte("p")
	_, err = points.Get(s.Ctx(), key)
	s.WantKind("get of none", err, kv.NotFound)
	s.Must("put", points.Put(s.Ctx(), key, point{"x", []int{1, 2}}))
	for range 3 {
		s.Must("change", points.Change(s.Ctx(), key, func(p point) (point, error) {
			p.At = append(p.At, len(p.At)+1)
			return p, nil
		}))
	}
	stop := errors.New("stop")
	if err := points.Change(s.Ctx(), key, func(p point) (point, error) { return point{}, stop }); !errors.Is(err,
		stop) {
		s.Errorf("change that fails: %v", err)
	}
	got, err := points.Get(s.Ctx(), key)
	if err != nil || got.Name != "x" || len(got.At) != 5 {
		s.Errorf("got %+v, %v", got, err)
	}
	s.Must("change of none", points.Change(s.Ctx(), []byte("q"),
		func(p point) (point, error) { return point{Name: p.Name + "new"}, nil }))
	all, err := points.All(s.Ctx(), nil)
	if err != nil || len(all) != 2 || all["q"].Name != "new" {
		s.Errorf("all: %+v, %v", all, err)
	}
	s.put(store, "a", "p", "no JSON")
	_, err = points.Get(s.Ctx(), key)
	s.WantKind("get of something else", err, kv.Invalid)
	_, err = state.In[point](store, "nowhere")
	s.WantKind("a bucket that is not declared", err, kv.Invalid)
}
