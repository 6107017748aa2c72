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
		c, err := store.More(s.ctx(), s.target.options(o))
		s.must("open", err)
		return c
	}
	more(record.Options{Evolve: record.Extend, Default: &More{Level: 7, Added: "a"}, Indexes: []record.Index{byLevel}})
	for _, o := range []record.Options{{}, {Default: &More{}}, {Default: &More{Level: 7}}} {
		c := more(o)
		s.must("check", c.Check(s.ctx()))
		for level, want := range map[uint8]int{7: 4, 0: 0} {
			found, err := c.Find(s.ctx(), "by_level", level)
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
	s.must("delete", c.Delete(s.ctx(), s.class, record.Int(2)))
	level, err := record.FieldOf[uint8](c, "level")
	s.must("field", err)
	s.must("set", level.Set(s.ctx(), s.class, record.Int(3), 0))
	s.must("put", c.Put(s.ctx(), s.class, &More{ID: 4, Level: 1}))
	c = more(record.Options{Default: &More{Level: 7}})
	s.must("check", c.Check(s.ctx()))
	if found, err := c.Find(s.ctx(), "by_level", uint8(7)); err != nil || len(found) != 1 || found[0].ID != 1 {
		s.Errorf("found %+v, %v, want record 1 alone", found, err)
	}
	_, err = store.More(s.ctx(), s.target.options(record.Options{Default: &More{Level: 8}}))
	s.wantMismatch("another default", err, "level")

	// A program of the older type keeps what it does not know.
	older, err := store.Items(s.ctx(), s.target.options(record.Options{Evolve: record.Keep}))
	if kv.KindOf(err) == kv.Conflict { // the index has a field that the type lacks
		s.must("drop", c.DropIndex(s.ctx(), "by_level"))
		older, err = store.Items(s.ctx(), s.target.options(record.Options{Evolve: record.Keep}))
	}
	s.must("open", err)
	v := item(1, 1)
	s.must("put", older.Put(s.ctx(), s.class, &v))
	got, err := more(record.Options{}).Get(s.ctx(), record.Int(1))
	if err != nil || got.Level != 7 || got.Added != "a" {
		s.Errorf("put by the older type: %+v, %v, want the defaults", got, err)
	}
}

func testDefaultOwned(s *suite) {
	store := s.store()
	fewer, err := store.Fewer(s.ctx(), s.target.options(record.Options{}))
	s.must("open", err)
	s.must("put", fewer.PutAll(s.ctx(), s.class, []Fewer{{ID: 1}, {ID: 2}}))
	c := s.items(store, record.Options{Evolve: record.Extend, Default: &Item{Blob: []byte("blob")}})
	for range 2 {
		for _, v := range s.all(c, record.Span{}) {
			if !reflect.DeepEqual(v, Item{ID: v.ID, Blob: []byte("blob")}) {
				s.Errorf("got %+v, want the default", v)
			}
			clear(v.Blob)
		}
		blob, err := record.FieldOf[[]byte](c, "blob")
		s.must("field", err)
		s.must("each", blob.Each(s.ctx(), record.Span{}, func(_ record.ID, b []byte) error {
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
	_, err := store.Fewer(s.ctx(), s.target.options(record.Options{Evolve: record.Drop}))
	s.must("open", err)
	_, err = store.Alike(s.ctx(), s.target.options(record.Options{Evolve: record.Drop}))
	s.wantMismatch("a field called like one that was dropped", err, "Note", "note")
}
