package recordtest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

var (
	byGroup = record.Index{Name: "by_group", Fields: []string{"group", "count"}}
	byName  = record.Index{Name: "by_name", Fields: []string{"name"}, Unique: true}
)

func testIndexFollows(s *suite) {
	c := s.fresh(byGroup, byName)
	s.fill(c, 1, 20)
	inGroup := func(g int32) (ids []int64) {
		var list []Item
		for _, v := range s.all(c, record.Span{}) {
			if v.Group == g {
				list = append(list, v)
			}
		}
		slices.SortStableFunc(list, func(a, b Item) int { return int(a.Count) - int(b.Count) })
		for _, v := range list {
			ids = append(ids, v.ID)
		}
		return ids
	}
	wantGroups := func() {
		s.Helper()
		for g := int32(-2); g <= 8; g++ {
			s.wantIDs(fmt.Sprint("group ", g), s.find(c, "by_group", g), inGroup(g)...)
		}
		s.check(c)
	}
	wantGroups()
	changed := item(3, 0)
	changed.Group, changed.Name = 8, "moved"
	s.Must("put", c.Put(s.Ctx(), s.Class, &changed))
	wantGroups()
	s.wantIDs("the new name", s.find(c, "by_name", "moved"), 3)
	s.wantIDs("the old name", s.find(c, "by_name", "name 3"))
	group, err := record.FieldOf[int32](c, "group")
	s.Must("field", err)
	s.Must("set", group.Set(s.Ctx(), s.Class, record.Int(4), 7))
	s.Must("set", s.balance(c).Set(s.Ctx(), s.Class, record.Int(4), 7))
	s.Must("delete", c.Delete(s.Ctx(), s.Class, record.Int(5)))
	s.Must("delete", c.Delete(s.Ctx(), s.Class, record.Int(99)))
	wantGroups()
	s.wantIDs("a deleted record", s.find(c, "by_name", "name 5"))
}

func testQuery(s *suite) {
	c := s.fresh(byGroup, record.Index{Name: "by_balance", Fields: []string{"balance"}},
		record.Index{Name: "by_flags", Fields: []string{"active", "at", "blob"}})
	for i, balance := range []float64{-2.5, -1, 0, 0.25, 3, 1e9} {
		v := item(int64(i), 0)
		v.Balance, v.Group, v.Count, v.Active = balance, int32(i%2)-1, uint16(100-i), i%2 == 0
		s.Must("put", c.Put(s.Ctx(), s.Class, &v))
	}
	for _, one := range []struct {
		q    record.Query
		want []int64
	}{
		{record.Query{Index: "by_balance"}, []int64{0, 1, 2, 3, 4, 5}},
		{record.Query{Index: "by_balance", Reverse: true, Limit: 2}, []int64{5, 4}},
		{record.Query{Index: "by_balance", From: -1.0, To: 3.0}, []int64{1, 2, 3}},
		{record.Query{Index: "by_balance", From: -1.0, To: 3.0, Reverse: true}, []int64{3, 2, 1}},
		{record.Query{Index: "by_balance", Equal: []any{0.25}}, []int64{3}},
		{record.Query{Index: "by_balance", From: 3.0, To: 3.0}, nil},
		{record.Query{Index: "by_group"}, []int64{4, 2, 0, 5, 3, 1}},
		{record.Query{Index: "by_group", Equal: []any{int32(-1)}}, []int64{4, 2, 0}},
		{record.Query{Index: "by_group", Equal: []any{int32(0)}, From: uint16(97)}, []int64{3, 1}},
		{record.Query{Index: "by_group", Equal: []any{int32(0), uint16(99)}}, []int64{1}},
		{record.Query{Index: "by_group", To: int32(0)}, []int64{4, 2, 0}},
		{record.Query{Index: "by_flags", Equal: []any{true}}, []int64{0, 2, 4}},
	} {
		var list []Item
		for v, err := range c.Query(s.Ctx(), one.q) {
			s.Must("query", err)
			list = append(list, v)
		}
		s.wantIDs(fmt.Sprintf("%+v", one.q), list, one.want...)
	}
	for _, q := range []record.Query{
		{Index: "none"}, {Index: "by_balance", Equal: []any{1}}, {Index: "by_balance", Equal: []any{nil}},
		{Index: "by_balance", Equal: []any{1.0, 2.0}}, {Index: "by_balance", Equal: []any{1.0}, From: 1.0},
	} {
		for _, err := range c.Query(s.Ctx(), q) {
			s.WantKind(fmt.Sprintf("%+v", q), err, kv.Invalid)
		}
	}
}

func testUnique(s *suite) {
	c := s.fresh(byName, byGroup)
	s.fill(c, 1, 3)
	v := item(4, 0)
	v.Name = "name 2"
	err := c.Put(s.Ctx(), s.Class, &v)
	s.WantKind("put", err, kv.Conflict)
	if err != nil && (!strings.Contains(err.Error(), "by_name") || !strings.Contains(err.Error(), `"name 2"`)) {
		s.Errorf("the error %q does not say which index and value", err)
	}
	s.WantKind("put of a list", c.PutAll(s.Ctx(), s.Class, []Item{item(5, 0), item(6, 0), v}), kv.Conflict)
	name, err := record.FieldOf[string](c, "name")
	s.Must("field", err)
	s.WantKind("set", name.Set(s.Ctx(), s.Class, record.Int(1), "name 2"), kv.Conflict)
	s.wantIDs("all", s.all(c, record.Span{}), 1, 2, 3)
	for id := int64(1); id <= 3; id++ {
		s.want(c, item(id, 0))
	}
	s.check(c)

	same := item(2, 7)
	same.Name = "name 2"
	s.Must("put of the same record", c.Put(s.Ctx(), s.Class, &same))
	s.Must("swap", c.Update(s.Ctx(), s.Class, func(w *record.Writer[Item]) error {
		if err := w.Delete(record.Int(2)); err != nil {
			return err
		}
		return w.Put(&v)
	}))
	s.wantIDs("the name", s.find(c, "by_name", "name 2"), 4)
	s.check(c)
}

func testIndexBuilt(s *suite) {
	const n = 1200 // more than a transaction of building holds
	store := s.store()
	s.fill(s.items(store, record.Options{}), 1, n)
	c := s.items(store, record.Options{Indexes: []record.Index{byName, byGroup}})
	s.check(c)
	s.wantIDs("by name", s.find(c, "by_name", "name 1100"), 1100)
	found := 0
	for g := int32(-5); g < 5; g++ {
		found += len(s.find(c, "by_group", g))
	}
	if found != n {
		s.Errorf("%d records found by group, want %d", found, n)
	}
	c = s.items(store, record.Options{}) // not named, and kept
	s.Must("delete", c.Delete(s.Ctx(), s.Class, record.Int(1100)))
	s.check(s.items(store, record.Options{Indexes: []record.Index{byGroup}}))
}

func testIndexFails(s *suite) {
	store := s.store()
	c := s.items(store, record.Options{})
	s.fill(c, 1, 1100)
	twin := item(1099, 0)
	twin.Name = "name 7"
	s.Must("put", c.Put(s.Ctx(), s.Class, &twin))
	_, err := store.Items(s.Ctx(), s.target.options(record.Options{Indexes: []record.Index{byName}}))
	s.WantKind("open", err, kv.Conflict)
	for _, part := range []string{"by_name", "1099", "7"} {
		if err != nil && !strings.Contains(err.Error(), part) {
			s.Errorf("the error %q does not name %s", err, part)
		}
	}
	c = s.items(store, record.Options{})
	s.check(c)
	s.Must("put", c.Put(s.Ctx(), s.Class, &Item{ID: 1099, Name: "other"}))
	c = s.items(store, record.Options{Indexes: []record.Index{byName}})
	s.check(c)
	s.wantIDs("by name", s.find(c, "by_name", "other"), 1099)
	for _, wrong := range []record.Index{
		{Name: "by_name", Fields: []string{"name"}}, {Name: "by_name", Fields: []string{"note"}, Unique: true},
	} {
		_, err := store.Items(s.Ctx(), s.target.options(record.Options{Indexes: []record.Index{wrong}}))
		s.WantKind("another index of the same name", err, kv.Conflict)
	}
	for _, wrong := range []record.Index{{Name: "x"}, {Name: "", Fields: []string{"name"}},
		{Name: "x", Fields: []string{"none"}}} {
		_, err := store.Items(s.Ctx(), s.target.options(record.Options{Indexes: []record.Index{wrong}}))
		s.WantKind("an index that makes no sense", err, kv.Invalid)
	}
}

func testIndexDropped(s *suite) {
	store := s.store()
	c := s.items(store, record.Options{Indexes: []record.Index{byName, byGroup}})
	s.fill(c, 1, 10)
	s.Must("drop", c.DropIndex(s.Ctx(), "by_name"))
	s.WantKind("drop again", c.DropIndex(s.Ctx(), "by_name"), kv.NotFound)
	_, err := c.Find(s.Ctx(), "by_name", "name 1")
	s.WantKind("find", err, kv.Invalid)
	twin := item(11, 0)
	twin.Name = "name 1"
	s.Must("put", c.Put(s.Ctx(), s.Class, &twin))
	s.check(c)
	c = s.items(store, record.Options{Indexes: []record.Index{{Name: "by_name", Fields: []string{"name"}}}})
	s.wantIDs("by name", s.find(c, "by_name", "name 1"), 1, 11)
	s.check(c)
}

// testModel does random work and compares with a map.
func testModel(s *suite) {
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	c := s.fresh(byGroup, byName)
	model := map[int64]Item{}
	balance := s.balance(c)
	for step := range 150 {
		id := r.Int64N(30) - 10
		switch r.IntN(6) {
		case 0, 1:
			v := item(id, step)
			s.Must("put", c.Put(s.Ctx(), s.Class, &v))
			model[id] = v
		case 2:
			s.Must("delete", c.Delete(s.Ctx(), s.Class, record.Int(id)))
			delete(model, id)
		case 3:
			err := balance.Set(s.Ctx(), s.Class, record.Int(id), float64(step))
			v, ok := model[id]
			if ok != (err == nil) || err != nil && kv.KindOf(err) != kv.NotFound {
				s.Fatalf("step %d: set: %v, there is one: %v", step, err, ok)
			}
			if ok {
				v.Balance = float64(step)
				model[id] = v
			}
		case 4:
			got, err := c.Get(s.Ctx(), record.Int(id))
			if want, ok := model[id]; ok != (err == nil) || ok && !reflect.DeepEqual(got, want) {
				s.Fatalf("step %d: got %+v, %v, want %+v, %v", step, got, err, want, ok)
			}
		case 5:
			found := s.find(c, "by_name", fmt.Sprintf("name %d", id))
			if want, ok := model[id]; ok != (len(found) == 1) || ok && !reflect.DeepEqual(found[0], want) {
				s.Fatalf("step %d: found %+v, want %+v, %v", step, found, want, ok)
			}
		}
	}
	list := s.all(c, record.Span{})
	if len(list) != len(model) {
		s.Errorf("%d records, want %d", len(list), len(model))
	}
	for _, v := range list {
		if !reflect.DeepEqual(v, model[v.ID]) {
			s.Errorf("got %+v, want %+v", v, model[v.ID])
		}
	}
	s.check(c)
}
