package recordtest

import (
	"reflect"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// testDefaultStays opens a collection whose index was built of a default without that default.
func testDefaultStays(s *suite) {
	store := s.store()
	s.fill(s.items(store, record.Options{}), 1, 4)
	byLevel := record.Index{Name: "by_level", Fields: []string{"level", "added"}}
	more := func(o record.Options) *record.Collection[More] {
		c, err := store.More(s.Ctx(), s.target.options(o))
		s.Must("open", err)
		return c
	}
	more(record.Options{Evolve: record.Extend, Default: &More{Level: 7, Added: "a"}, Indexes: []record.Index{byLevel}})
	for _, o := range []record.Options{{}, {Default: &More{}}, {Default: &More{Level: 7}}} {
		c := more(o)
		s.Must("check", c.Check(s.Ctx()))
		for level, want := range map[uint8]int{7: 4, 0: 0} {
			found, err := c.Find(s.Ctx(), "by_level", level)
			if err != nil || len(found) != want {
				s.Errorf("%d records of level %d, %v, want %d", len(found), level, err, want)
			}
			for _, v := range found {
				if v.Level != level || v.Added != "a" {
					s.Errorf("found by level %d: %+v", level, v)
				}
			}
		}
	}
	c := more(record.Options{})
	s.Must("delete", c.Delete(s.Ctx(), s.Class, record.Int(2)))
	level, err := record.FieldOf[uint8](c, "level")
	s.Must("field", err)
	s.Must("set", level.Set(s.Ctx(), s.Class, record.Int(3), 0))
	s.Must("put", c.Put(s.Ctx(), s.Class, &More{ID: 4, Level: 1}))
	c = more(record.Options{Default: &More{Level: 7}})
	s.Must("check", c.Check(s.Ctx()))
	if found, err := c.Find(s.Ctx(), "by_level", uint8(7)); err != nil || len(found) != 1 || found[0].ID != 1 {
		s.Errorf("found %+v, %v, want record 1 alone", found, err)
	}
	_, err = store.More(s.Ctx(), s.target.options(record.Options{Default: &More{Level: 8}}))
	s.wantMismatch("another default", err, "level")

	// A program of the older type keeps what it does not know.
	older, err := store.Items(s.Ctx(), s.target.options(record.Options{Evolve: record.Keep}))
	if kv.KindOf(err) == kv.Conflict { // the index has a field that the type lacks
		s.Must("drop", c.DropIndex(s.Ctx(), "by_level"))
		older, err = store.Items(s.Ctx(), s.target.options(record.Options{Evolve: record.Keep}))
	}
	s.Must("open", err)
	v := item(1, 1)
	s.Must("put", older.Put(s.Ctx(), s.Class, &v))
	got, err := more(record.Options{}).Get(s.Ctx(), record.Int(1))
	if err != nil || got.Level != 7 || got.Added != "a" {
		s.Errorf("put by the older type: %+v, %v, want the defaults", got, err)
	}
}

func testDefaultOwned(s *suite) {
	store := s.store()
	fewer, err := store.Fewer(s.Ctx(), s.target.options(record.Options{}))
	s.Must("open", err)
	s.Must("put", fewer.PutAll(s.Ctx(), s.Class, []Fewer{{ID: 1}, {ID: 2}}))
	c := s.items(store, record.Options{Evolve: record.Extend, Default: &Item{Blob: []byte("blob")}})
	for range 2 {
		for _, v := range s.all(c, record.Span{}) {
			if !reflect.DeepEqual(v, Item{ID: v.ID, Blob: []byte("blob")}) {
				s.Errorf("got %+v, want the default", v)
			}
			clear(v.Blob)
		}
		blob, err := record.FieldOf[[]byte](c, "blob")
		s.Must("field", err)
		s.Must("each", blob.Each(s.Ctx(), record.Span{}, func(_ record.ID, b []byte) error {
			if string(b) != "blob" {
				s.Errorf("the field is %q, want the default", b)
			}
			clear(b)
			return nil
		}))
	}
}

// testAlike drops a field and adds one whose name differs in case, which JSON takes for the same.
func testAlike(s *suite) {
	store := s.store()
	s.fill(s.items(store, record.Options{}), 1, 2)
	_, err := store.Fewer(s.Ctx(), s.target.options(record.Options{Evolve: record.Drop}))
	s.Must("open", err)
	_, err = store.Alike(s.Ctx(), s.target.options(record.Options{Evolve: record.Drop}))
	s.wantMismatch("a field called like one that was dropped", err, "Note", "note")
}
