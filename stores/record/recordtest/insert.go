package recordtest

import (
	"errors"
	"math"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

func testInsert(s *suite) {
	for _, c := range []*record.Collection[Item]{s.fresh(), s.fresh(byName, byGroup)} {
		s.fill(c, 1, 2)
		one, other := item(1, 1), item(3, 0)
		s.WantKind("insert of a record that is there", c.Insert(s.Ctx(), s.Class, &one), kv.Conflict)
		s.WantKind("replace of one that is not", c.Replace(s.Ctx(), s.Class, &other), kv.NotFound)
		s.wantIDs("all", s.all(c, record.Span{}), 1, 2)
		s.want(c, item(1, 0))
		s.Must("insert", c.Insert(s.Ctx(), s.Class, &other))
		s.Must("replace", c.Replace(s.Ctx(), s.Class, &one))
		s.want(c, one)
		s.want(c, other)

		// A Conflict is an answer: what else the transaction does is committed.
		s.Must("insert or change", c.Update(s.Ctx(), s.Class, func(w *record.Writer[Item]) error {
			four, again := item(4, 0), item(4, 1)
			s.Must("insert", w.Insert(&four))
			s.WantKind("insert of what the transaction put", w.Insert(&again), kv.Conflict)
			return nil
		}))
		s.want(c, item(4, 0))
		s.check(c)
	}
}

func testForgottenID(s *suite) {
	store := s.store()
	zero := item(0, 0)
	s.Must("put", s.items(store, record.Options{Indexes: []record.Index{byName}}).Put(s.Ctx(), s.Class, &zero))
	c, err := store.Items(s.Ctx(), s.target.options(record.Options{}))
	s.Must("open", err)
	s.WantKind("put", c.Put(s.Ctx(), s.Class, &Item{Name: "forgotten"}), kv.Invalid)
	s.WantKind("put of a list", c.PutAll(s.Ctx(), s.Class, []Item{item(1, 0), {Name: "forgotten"}}), kv.Invalid)
	s.WantKind("replace", c.Replace(s.Ctx(), s.Class, &Item{Name: "forgotten"}), kv.Invalid)
	s.wantIDs("all", s.all(c, record.Span{}), 0)
	s.want(c, zero)

	insert := func(want int64, v Item) {
		s.Helper()
		v.ID = 0
		if err := c.Insert(s.Ctx(), s.Class, &v); err != nil || v.ID != want {
			s.Errorf("insert: id %d, %v, want %d", v.ID, err, want)
		}
		s.want(c, v)
	}
	insert(1, item(1, 0))
	seven := item(7, 0)
	s.Must("put", c.Put(s.Ctx(), s.Class, &seven))
	insert(8, item(8, 0))
	same := item(8, 0)
	same.ID = 0
	if err := c.Insert(s.Ctx(), s.Class, &same); kv.KindOf(err) != kv.Conflict || same.ID != 0 {
		s.Errorf("insert of a name that there is: id %d, %v, want 0 and a conflict", same.ID, err)
	}
	last := item(math.MaxInt64, 0)
	s.Must("put", c.Put(s.Ctx(), s.Class, &last))
	if v := (Item{Name: "too many"}); kv.KindOf(c.Insert(s.Ctx(), s.Class, &v)) != kv.TooLarge || v.ID != 0 {
		s.Errorf("insert after the largest id: id %d, want 0 and too large", v.ID)
	}
	s.wantIDs("all", s.all(c, record.Span{}), 0, 1, 7, 8, math.MaxInt64)
	s.check(c)

	texts, err := s.store().Texts(s.Ctx(), s.target.options(record.Options{}))
	s.Must("open", err)
	s.WantKind("put of a text", texts.Put(s.Ctx(), s.Class, &Text{Value: 1}), kv.Invalid)
	s.WantKind("insert of a text", texts.Insert(s.Ctx(), s.Class, &Text{Value: 1}), kv.Invalid)
}

// testFailure passes over an error of a method that writes.
func testFailure(s *suite) {
	c := s.fresh(byName)
	s.fill(c, 1, 2)
	err := c.Update(s.Ctx(), s.Class, func(w *record.Writer[Item]) error {
		v := item(1, 1)
		s.Must("put", w.Put(&v))
		s.WantKind("delete", w.Delete(record.Text("1")), kv.Invalid)
		return nil
	})
	s.WantKind("update", err, kv.Invalid)
	s.want(c, item(1, 0))
	s.check(c)
}

// testSequence deletes the newest records, in one way and another.
func testSequence(s *suite) {
	dir := s.TempDir()
	store, closeAll := s.storeIn(dir)
	c, err := store.Items(s.Ctx(), s.target.options(record.Options{}))
	s.Must("open", err)
	insert := func(want int64) {
		s.Helper()
		v := Item{Name: "new"}
		if err := c.Insert(s.Ctx(), s.Class, &v); err != nil || v.ID != want {
			s.Errorf("insert: id %d, %v, want %d", v.ID, err, want)
		}
	}
	insert(1)
	insert(2)
	s.Must("delete", c.Delete(s.Ctx(), s.Class, record.Int(2)))
	insert(3)
	v := item(10, 0)
	s.Must("put", c.Put(s.Ctx(), s.Class, &v))
	insert(11)
	_, err = c.DeleteWhere(s.Ctx(), s.Class, record.Query{})
	s.Must("delete all", err)
	if !s.Volatile {
		closeAll()
		store, _ = s.storeIn(dir)
		c, err = store.Items(s.Ctx(), s.target.options(record.Options{}))
		s.Must("open", err)
	}
	insert(12)
	err = c.Update(s.Ctx(), s.Class, func(w *record.Writer[Item]) error {
		var v Item
		s.Must("insert", w.Insert(&v))
		return errOnPurpose
	})
	if !errors.Is(err, errOnPurpose) {
		s.Errorf("update: %v", err)
	}
	insert(13)
	s.check(c)
}
