package recordtest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

func testEmpty(s *suite) {
	c := s.fresh(record.Index{Name: "by_name", Fields: []string{"name"}})
	_, err := c.Get(s.Ctx(), record.Int(1))
	s.WantKind("get", err, kv.NotFound)
	s.Must("delete", c.Delete(s.Ctx(), s.Class, record.Int(1)))
	s.Must("put nothing", c.PutAll(s.Ctx(), s.Class, nil))
	s.wantIDs("all", s.all(c, record.Span{}))
	s.wantIDs("find", s.find(c, "by_name", "x"))
	s.check(c)
	s.Must("view", c.View(s.Ctx(), func(r *record.Reader[Item]) error {
		has, err := r.Has(record.Int(1))
		if has {
			s.Error("has what was never put")
		}
		return err
	}))
}

func testRoundTrip(s *suite) {
	c := s.fresh()
	list := []Item{{}, item(1, 0), item(-5, 1), item(1<<62, 2),
		{ID: -1 << 63, Balance: -0.5, At: time.Date(1970, 1, 1, 0, 0, 0, 1, time.UTC)},
		{ID: 3, Name: "é\x00\"", Note: strings.Repeat("x", 5000), Blob: []byte{0}}}
	for i := range list {
		s.Must("put", c.Put(s.Ctx(), s.Class, &list[i]))
	}
	for _, v := range list {
		s.want(c, v)
	}
	s.wantIDs("all", s.all(c, record.Span{}), -1<<63, -5, 0, 1, 3, 1<<62)
	local := item(9, 0)
	local.At = local.At.In(time.FixedZone("", 3600))
	local.Blob = []byte{}
	s.Must("put", c.Put(s.Ctx(), s.Class, &local))
	local.At = local.At.UTC()
	s.want(c, local)
	s.check(c)
}

func testReplace(s *suite) {
	c := s.fresh()
	s.fill(c, 1, 3)
	one := Item{ID: 2, Name: "short"}
	s.Must("put", c.Put(s.Ctx(), s.Class, &one))
	s.want(c, one)
	s.Must("put", c.PutAll(s.Ctx(), s.Class, []Item{item(2, 1), item(4, 0), item(2, 2)}))
	s.want(c, item(2, 2))
	s.wantIDs("all", s.all(c, record.Span{}), 1, 2, 3, 4)
	s.Must("delete", c.Delete(s.Ctx(), s.Class, record.Int(2)))
	_, err := c.Get(s.Ctx(), record.Int(2))
	s.WantKind("get", err, kv.NotFound)
	s.wantIDs("all", s.all(c, record.Span{}), 1, 3, 4)
	s.check(c)
}

var errOnPurpose = errors.New("on purpose")

func testRollback(s *suite) {
	c := s.fresh(record.Index{Name: "by_group", Fields: []string{"group"}})
	s.fill(c, 1, 3)
	err := c.Update(s.Ctx(), s.Class, func(w *record.Writer[Item]) error {
		changed := item(1, 5)
		s.Must("put", w.Put(&changed))
		s.Must("delete", w.Delete(record.Int(2)))
		added := item(4, 0)
		s.Must("put", w.Put(&added))
		got, err := w.Get(record.Int(1))
		if err != nil || !reflect.DeepEqual(got, changed) {
			s.Errorf("a transaction does not see its own write: %+v, %v", got, err)
		}
		if _, err := w.Get(record.Int(2)); kv.KindOf(err) != kv.NotFound {
			s.Errorf("a transaction sees what it deleted: %v", err)
		}
		return errOnPurpose
	})
	if !errors.Is(err, errOnPurpose) {
		s.Errorf("got %v, want the function's error", err)
	}
	for id := int64(1); id <= 3; id++ {
		s.want(c, item(id, 0))
	}
	s.wantIDs("all", s.all(c, record.Span{}), 1, 2, 3)
	s.check(c)
}

func testOwnership(s *suite) {
	c := s.fresh()
	given := item(1, 0)
	want := item(1, 0)
	s.Must("put", c.Put(s.Ctx(), s.Class, &given))
	clear(given.Blob)
	for range 2 {
		s.want(c, want)
		got, err := c.Get(s.Ctx(), record.Int(1))
		s.Must("get", err)
		clear(got.Blob)
		for _, v := range s.all(c, record.Span{}) {
			clear(v.Blob)
		}
	}
}

func testSpans(s *suite) {
	c := s.fresh()
	s.fill(c, -3, 4)
	for _, one := range []struct {
		name string
		span record.Span
		want []int64
	}{
		{"everything", record.Span{}, []int64{-3, -2, -1, 0, 1, 2, 3, 4}},
		{"backwards", record.Span{Reverse: true}, []int64{4, 3, 2, 1, 0, -1, -2, -3}},
		{"from", record.Span{From: record.Int(2)}, []int64{2, 3, 4}},
		{"to", record.Span{To: record.Int(-1)}, []int64{-3, -2}},
		{"both", record.Span{From: record.Int(-1), To: record.Int(2)}, []int64{-1, 0, 1}},
		{"both backwards", record.Span{From: record.Int(-1), To: record.Int(2), Reverse: true}, []int64{1, 0, -1}},
		{"limit", record.Span{From: record.Int(-2), Limit: 2}, []int64{-2, -1}},
		{"limit backwards", record.Span{To: record.Int(4), Limit: 2, Reverse: true}, []int64{3, 2}},
		{"none", record.Span{From: record.Int(2), To: record.Int(2)}, nil},
		{"beyond", record.Span{From: record.Int(5)}, nil},
	} {
		list := s.all(c, one.span)
		s.wantIDs(one.name, list, one.want...)
		for _, v := range list {
			if want := item(v.ID, 0); !reflect.DeepEqual(v, want) {
				s.Errorf("%s: got %+v, want %+v", one.name, v, want)
			}
		}
		var ids []int64
		s.Must("each", s.balance(c).Each(s.Ctx(), one.span, func(id record.ID, v float64) error {
			if v != item(id.Int64(), 0).Balance {
				s.Errorf("%s: balance of %v is %v", one.name, id, v)
			}
			ids = append(ids, id.Int64())
			return nil
		}))
		if !reflect.DeepEqual(ids, one.want) {
			s.Errorf("%s: fields of %v, want %v", one.name, ids, one.want)
		}
	}
}

func testTexts(s *suite) {
	c, err := s.store().Texts(s.Ctx(), s.target.options(record.Options{ZeroID: true,
		Indexes: []record.Index{{Name: "by_value", Fields: []string{"value"}}}}))
	s.Must("open", err)
	keys := []string{"", "\x00", "\x00\x00", "\x00\x01", "\x01", "a", "a\x00", "a\x00b", "ab", "b", "é"}
	for i := len(keys) - 1; i >= 0; i-- {
		s.Must("put", c.Put(s.Ctx(), s.Class, &Text{Key: keys[i], Value: i % 3}))
	}
	at := 0
	for v, err := range c.All(s.Ctx(), record.Span{}) {
		s.Must("walk", err)
		if v.Key != keys[at] || v.Value != at%3 {
			s.Fatalf("record %d is %+v, want %q", at, v, keys[at])
		}
		at++
	}
	for i, key := range keys {
		v, err := c.Get(s.Ctx(), record.Text(key))
		if err != nil || v != (Text{key, i % 3}) {
			s.Errorf("%q: got %+v, %v", key, v, err)
		}
	}
	found, err := c.Find(s.Ctx(), "by_value", 1)
	s.Must("find", err)
	for i, v := range found {
		if v.Key != keys[1+3*i] {
			s.Errorf("found %q, want %q", v.Key, keys[1+3*i])
		}
	}
	s.Must("delete", c.Delete(s.Ctx(), s.Class, record.Text("a")))
	if _, err := c.Get(s.Ctx(), record.Text("a\x00")); err != nil {
		s.Errorf("a neighbour of what was deleted: %v", err)
	}
	s.Must("check", c.Check(s.Ctx()))
}

func testWrongID(s *suite) {
	c := s.fresh()
	for _, id := range []record.ID{{}, record.Uint(1), record.Text("1")} {
		_, err := c.Get(s.Ctx(), id)
		s.WantKind("get", err, kv.Invalid)
		s.WantKind("delete", c.Delete(s.Ctx(), s.Class, id), kv.Invalid)
		_, err = s.balance(c).Get(s.Ctx(), id)
		s.WantKind("field", err, kv.Invalid)
		if id == (record.ID{}) {
			continue
		}
		for _, err := range c.All(s.Ctx(), record.Span{From: id}) {
			s.WantKind("walk", err, kv.Invalid)
		}
	}
}

func testWalkEnds(s *suite) {
	c := s.fresh(record.Index{Name: "by_group", Fields: []string{"group"}})
	s.fill(c, 1, 10)
	n := 0
	for _, err := range c.All(s.Ctx(), record.Span{}) {
		s.Must("walk", err)
		if n++; n == 3 {
			break
		}
	}
	for _, err := range c.Query(s.Ctx(), record.Query{Index: "by_group"}) {
		s.Must("query", err)
		if n++; n == 6 {
			break
		}
	}
	if n != 6 {
		s.Errorf("%d steps, want 6", n)
	}
	err := s.balance(c).Each(s.Ctx(), record.Span{}, func(record.ID, float64) error { return errOnPurpose })
	if !errors.Is(err, errOnPurpose) {
		s.Errorf("got %v, want the function's error", err)
	}
	s.fill(c, 11, 12) // nothing is held
}

func testNames(s *suite) {
	store := s.store()
	var all []*record.Collection[Item]
	for i, name := range []string{"", "a", "a\x00", "ab", "r"} {
		c := s.items(store, record.Options{Name: name, Indexes: []record.Index{{Name: "by_name",
			Fields: []string{"name"}, Unique: true}}})
		s.fill(c, int64(i), int64(2*i))
		all = append(all, c)
	}
	for i, c := range all {
		if n := len(s.all(c, record.Span{})); n != i+1 {
			s.Errorf("collection %d has %d records, want %d", i, n, i+1)
		}
		s.check(c)
	}
}

func testCanceled(s *suite) {
	c := s.fresh()
	s.fill(c, 1, 1)
	ctx, cancel := context.WithCancel(s.Ctx())
	cancel()
	v := item(2, 0)
	s.WantKind("put", c.Put(ctx, s.Class, &v), kv.Canceled)
	s.WantKind("delete", c.Delete(ctx, s.Class, record.Int(1)), kv.Canceled)
	_, err := c.Get(ctx, record.Int(1))
	s.WantKind("get", err, kv.Canceled)
	s.wantIDs("all", s.all(c, record.Span{}), 1)
}

// testIsolation moves an amount between records while others add all of them up.
func testIsolation(s *suite) {
	const records, moves = 8, 15
	c := s.fresh(record.Index{Name: "by_group", Fields: []string{"group"}})
	s.fill(c, 1, records)
	balance := s.balance(c)
	want := s.sum(c)
	var writers sync.WaitGroup
	for w := range int64(2) {
		writers.Go(func() {
			for i := range int64(moves) {
				err := c.Update(s.Ctx(), s.Class, func(tx *record.Writer[Item]) error {
					from, to := record.Int(1+(w+i)%records), record.Int(1+(w+i*3+1)%records)
					if from == to {
						return nil
					}
					a, err := balance.Read(&tx.Reader, from)
					if err != nil {
						return err
					}
					b, err := balance.Read(&tx.Reader, to)
					if err != nil {
						return err
					}
					return errors.Join(balance.Write(tx, from, a-1.25), balance.Write(tx, to, b+1.25))
				})
				if err != nil {
					s.Errorf("move: %v", err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if got := s.sum(c); got != want {
			s.Fatalf("the sum is %v, want %v", got, want)
		}
	}
	s.check(c)
}
