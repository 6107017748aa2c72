package recordtest

import (
	"math/rand/v2"
	"reflect"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// testRichEvolves opens records with a later type, changes some, and opens them with the first type
// again.
func testRichEvolves(s *suite) {
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	store := s.store()
	c, err := store.Riches(s.Ctx(), s.target.options(record.Options{Indexes: richIndexes[:4]}))
	s.Must("open", err)
	model := map[int64]Rich{}
	for id := int64(1); id <= 20; id++ {
		v := rich(r, id)
		v.Code = string(rune('a' + id))
		model[id] = v
		s.Must("put", c.Put(s.Ctx(), s.Class, &v))
	}
	_, err = store.Richers(s.Ctx(), s.target.options(record.Options{Evolve: record.Extend}))
	s.wantMismatch("a type with less", err, "lines[].price", "best")
	_, err = store.Richers(s.Ctx(), s.target.options(record.Options{Evolve: record.Keep}))
	s.wantMismatch("parts of elements cannot be kept", err, "lines[].price")

	next, err := store.Richers(s.Ctx(), s.target.options(record.Options{Evolve: record.Drop,
		Default: &Richer{Extra: []string{"x"}}}))
	s.Must("open with the later type", err)
	s.WantKind("a write with the type of before", c.Put(s.Ctx(), s.Class, &Rich{ID: 1}), kv.Conflict)
	_, err = c.Find(s.Ctx(), "by_tag", "a")
	s.Must("find with the type of before", err)
	later := map[int64]Richer{}
	for id, v := range model {
		want := richer(v)
		want.Extra = []string{"x"}
		later[id] = want
	}
	same := func() {
		s.Helper()
		n := 0
		for v, err := range next.All(s.Ctx(), record.Span{}) {
			s.Must("walk", err)
			if !reflect.DeepEqual(v, later[v.ID]) {
				s.Fatalf("got\n%+v, want\n%+v", v, later[v.ID])
			}
			n++
		}
		if n != len(later) {
			s.Fatalf("%d records, want %d", n, len(later))
		}
		s.Must("check", next.Check(s.Ctx()))
	}
	same()
	hits, err := record.FieldOf[int64](next, "hits")
	s.Must("field", err)
	tags, err := record.FieldOf[[]string](next, "tags")
	s.Must("field", err)
	for id := int64(1); id <= 10; id++ {
		v := later[id]
		v.Hits, v.Tags = 100+id, []string{"new"}
		if id%2 == 0 {
			v.Address.City, v.Blob, v.Extra = "Vienna", nil, []string{}
			s.Must("put", next.Put(s.Ctx(), s.Class, &v))
		} else {
			s.Must("set", hits.Set(s.Ctx(), s.Class, record.Int(id), v.Hits))
			s.Must("set", tags.Set(s.Ctx(), s.Class, record.Int(id), v.Tags))
		}
		later[id] = v
		if got, err := hits.Get(s.Ctx(), record.Int(id)); err != nil || got != v.Hits {
			s.Errorf("the field is %d, %v, want %d", got, err, v.Hits)
		}
	}
	same()
	if found, err := next.Find(s.Ctx(), "by_tag", "new"); err != nil || len(found) != 10 {
		s.Errorf("%d found by a tag, %v, want 10", len(found), err)
	}
	if found, err := next.Find(s.Ctx(), "by_seen", int32(1), int64(100)); err != nil || len(found) != 0 {
		s.Errorf("%d found by an index of a renamed field, %v", len(found), err)
	}
	total, err := record.Sum(s.Ctx(), hits, record.Span{})
	var sum int64
	for _, v := range later {
		sum += v.Hits
	}
	if err != nil || total.Int != sum || total.Count != len(later) {
		s.Errorf("the sum is %+v, %v, want %d", total, err, sum)
	}
	for id := int64(1); id <= 5; id++ {
		s.Must("delete", next.Delete(s.Ctx(), s.Class, record.Int(id)))
		delete(later, id)
	}
	same()
}

// Older is Newer before a field was dropped, which an index has.
type Older struct {
	ID   int64  `record:"id"`
	Kind string `record:"kind"`
	Name string `record:"name"`
}

// Newer is Older as a later program has it.
type Newer struct {
	ID    int64  `record:"id"`
	Title string `record:"title,was=name"`
}

func testIndexOfDroppedField(s *suite) {
	store := s.store()
	indexes := []record.Index{{Name: "by_kind", Fields: []string{"kind"}}, {Name: "by_name", Fields: []string{"name"}}}
	older, err := store.Olders(s.Ctx(), s.target.options(record.Options{Indexes: indexes}))
	s.Must("open", err)
	s.Must("put", older.PutAll(s.Ctx(), s.Class, []Older{{1, "a", "one"}, {2, "b", "two"}}))
	_, err = store.Newers(s.Ctx(), s.target.options(record.Options{Evolve: record.Drop}))
	s.wantMismatch("an index of a field that the type lacks", err, "by_kind", "kind")
	newer, err := store.Newers(s.Ctx(), s.target.options(record.Options{Evolve: record.Drop,
		DropIndexes: []string{"by_kind", "never there"}}))
	s.Must("open", err)
	s.Must("check", newer.Check(s.Ctx()))
	found, err := newer.Find(s.Ctx(), "by_name", "two")
	if err != nil || len(found) != 1 || found[0] != (Newer{2, "two"}) {
		s.Errorf("found %+v, %v", found, err)
	}
	_, err = newer.Find(s.Ctx(), "by_kind", "a")
	s.WantKind("find by the index that was dropped", err, kv.Invalid)
	s.WantKind("a write that knows of the index", older.Put(s.Ctx(), s.Class, &Older{ID: 3}), kv.Conflict)
}

// testTwoCollections writes through one Collection after another one has added an index.
func testTwoCollections(s *suite) {
	store := s.store()
	one := s.items(store, record.Options{})
	s.fill(one, 1, 3)
	two := s.items(store, record.Options{Indexes: []record.Index{byName}})
	v := item(4, 0)
	s.WantKind("put", one.Put(s.Ctx(), s.Class, &v), kv.Conflict)
	s.WantKind("put of a list", one.PutAll(s.Ctx(), s.Class, []Item{v}), kv.Conflict)
	s.WantKind("delete", one.Delete(s.Ctx(), s.Class, record.Int(1)), kv.Conflict)
	s.check(two)
	again := s.items(store, record.Options{})
	s.Must("put", again.Put(s.Ctx(), s.Class, &v))
	s.Must("put through the other of the same", two.Put(s.Ctx(), s.Class, &v))
	s.check(two)
	s.Must("drop", two.DropIndex(s.Ctx(), "by_name"))
	_, err := again.Find(s.Ctx(), "by_name", "name 1")
	s.WantKind("find by an index that was dropped", err, kv.Conflict)
	s.WantKind("check", again.Check(s.Ctx()), kv.Conflict)
}
