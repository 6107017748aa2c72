package recordtest

import (
	"reflect"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// wantMismatch checks that an opening was refused, and that the error holds some words.
func (s *suite) wantMismatch(what string, err error, words ...string) {
	s.Helper()
	s.WantKind(what, err, kv.Conflict)
	for _, word := range words {
		if err != nil && !strings.Contains(err.Error(), word) {
			s.Errorf("%s: the error %q does not say %q", what, err, word)
		}
	}
	if kv.HintOf(err) == "" {
		s.Errorf("%s: no hint", what)
	}
}

func testRefuse(s *suite) {
	store := s.store()
	s.fill(s.items(store, record.Options{}), 1, 3)
	_, err := store.More(s.Ctx(), s.target.options(record.Options{}))
	s.wantMismatch("more fields", err, "added", "level")
	for _, e := range []record.Evolution{record.Refuse, record.Extend} {
		_, err = store.Fewer(s.Ctx(), s.target.options(record.Options{Evolve: e}))
		s.wantMismatch("fewer fields", err, "group", "note")
	}
	for _, e := range []record.Evolution{record.Refuse, record.Extend, record.Keep, record.Drop} {
		_, err = store.Other(s.Ctx(), s.target.options(record.Options{Evolve: e}))
		s.wantMismatch("another kind", err, "balance", "float64", "string")
	}
	_, err = store.Texts(s.Ctx(), s.target.options(record.Options{Evolve: record.Drop}))
	s.wantMismatch("another id", err, "key", "id")
	other := s.target.options(record.Options{})
	other.Codec = (other.Codec + 1) % 2
	_, err = store.Items(s.Ctx(), other)
	s.wantMismatch("another codec", err, other.Codec.String())
	c := s.items(store, record.Options{})
	for id := int64(1); id <= 3; id++ {
		s.want(c, item(id, 0))
	}
}

// wantMore checks records of the larger type.
func (s *suite) wantMore(c *record.Collection[More], want ...More) {
	s.Helper()
	i := 0
	for v, err := range c.All(s.Ctx(), record.Span{}) {
		s.Must("walk", err)
		if i == len(want) || !reflect.DeepEqual(v, want[i]) {
			s.Fatalf("record %d is %+v, want %+v", i, v, want[min(i, len(want)-1)])
		}
		i++
	}
	if i != len(want) {
		s.Errorf("%d records, want %d", i, len(want))
	}
	for _, v := range want {
		if got, err := c.Get(s.Ctx(), record.Int(v.ID)); err != nil || !reflect.DeepEqual(got, v) {
			s.Errorf("got %+v, %v, want %+v", got, err, v)
		}
	}
}

func testExtend(s *suite) {
	store := s.store()
	s.fill(s.items(store, record.Options{Indexes: []record.Index{byName}}), 1, 3)
	fallback := &More{Added: "default", Level: 7, Name: "not used"}
	c, err := store.More(s.Ctx(), s.target.options(record.Options{Evolve: record.Extend, Default: fallback}))
	s.Must("open", err)
	want := []More{more(item(1, 0), "default", 7), more(item(2, 0), "default", 7), more(item(3, 0), "default", 7)}
	s.wantMore(c, want...)
	level, err := record.FieldOf[uint8](c, "level")
	s.Must("field", err)
	added, err := record.FieldOf[string](c, "added")
	s.Must("field", err)
	got, err := level.Get(s.Ctx(), record.Int(1))
	if err != nil || got != 7 {
		s.Errorf("the added field is %v, %v, want the default 7", got, err)
	}
	if total, err := record.Sum(s.Ctx(), level, record.Span{}); err != nil || total.Int != 21 {
		s.Errorf("the sum of the added field is %+v, %v, want 21", total, err)
	}
	s.Must("set", level.Set(s.Ctx(), s.Class, record.Int(1), 0))
	s.Must("set", added.Set(s.Ctx(), s.Class, record.Int(2), ""))
	zero := More{ID: 3} // zero is not absent
	s.Must("put", c.Put(s.Ctx(), s.Class, &zero))
	want[0].Level, want[1].Added, want[2] = 0, "", zero
	s.wantMore(c, want...)
	s.Must("check", c.Check(s.Ctx()))

	// the type is the collection's now
	c, err = store.More(s.Ctx(), s.target.options(record.Options{Default: fallback}))
	s.Must("open again", err)
	s.wantMore(c, want...)
	_, err = store.Items(s.Ctx(), s.target.options(record.Options{}))
	s.wantMismatch("the old type", err, "added", "level")
}

func testKeep(s *suite) {
	store := s.store()
	s.fill(s.items(store, record.Options{}), 1, 4)
	c, err := store.Fewer(s.Ctx(), s.target.options(record.Options{Evolve: record.Keep}))
	s.Must("open", err)
	var want []Item
	for id := int64(1); id <= 4; id++ {
		v := item(id, 0)
		got, err := c.Get(s.Ctx(), record.Int(id))
		if err != nil || got != (Fewer{id, v.Name, v.Balance}) {
			s.Errorf("got %+v, %v, want the fields of %+v", got, err, v)
		}
		want = append(want, v)
	}
	s.Must("put", c.Put(s.Ctx(), s.Class, &Fewer{1, "new", 1.5}))
	want[0].Name, want[0].Balance = "new", 1.5
	name, err := record.FieldOf[string](c, "name")
	s.Must("field", err)
	s.Must("set", name.Set(s.Ctx(), s.Class, record.Int(2), "set"))
	want[1].Name = "set"
	s.Must("put a list", c.PutAll(s.Ctx(), s.Class, []Fewer{{3, "three", 3}, {9, "nine", 9}, {9, "nine again", 9.5}}))
	want[2].Name, want[2].Balance = "three", 3
	want = append(want, Item{ID: 9, Name: "nine again", Balance: 9.5})
	s.Must("delete", c.Delete(s.Ctx(), s.Class, record.Int(4)))
	want = append(want[:3], want[4])

	again := s.items(store, record.Options{Evolve: record.Extend})
	list := s.all(again, record.Span{})
	if !reflect.DeepEqual(list, want) {
		s.Errorf("got  %+v\nwant %+v", list, want)
	}
	s.check(again)
}

func testDrop(s *suite) {
	store := s.store()
	s.fill(s.items(store, record.Options{}), 1, 3)
	c, err := store.Fewer(s.Ctx(), s.target.options(record.Options{Evolve: record.Drop}))
	s.Must("open", err)
	s.Must("put", c.Put(s.Ctx(), s.Class, &Fewer{1, "new", 1.5}))
	again := s.items(store, record.Options{Evolve: record.Extend, Default: &Item{Note: "default"}})
	s.want(again, Item{ID: 1, Name: "new", Balance: 1.5, Note: "default"})
	s.want(again, item(2, 0)) // not written since, so it has them still
	s.check(again)

	indexed := s.items(store, record.Options{Indexes: []record.Index{byGroup}})
	s.check(indexed)
	_, err = store.Fewer(s.Ctx(), s.target.options(record.Options{Evolve: record.Drop}))
	s.wantMismatch("a type without an indexed field", err, "by_group", "group")
	s.check(s.items(store, record.Options{}))
}

func testReopen(s *suite) {
	dir := s.TempDir()
	last := int64(0)
	classes := s.Classes()
	for round := range 2 * len(classes) {
		store, closeAll := s.storeIn(dir)
		c := s.items(store, record.Options{Indexes: []record.Index{byName, byGroup}})
		if n := int64(len(s.all(c, record.Span{}))); n != last {
			s.Fatalf("round %d: %d records, want %d", round, n, last)
		}
		for id := int64(1); id <= last; id++ {
			s.want(c, item(id, 0))
		}
		s.check(c)
		list := []Item{item(last+1, 0), item(last+2, 0)}
		s.Must("put", c.PutAll(s.Ctx(), classes[round%len(classes)], list))
		last += 2
		closeAll()
	}
}
