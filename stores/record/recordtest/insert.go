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
		s.wantKind("insert of a record that is there", c.Insert(s.ctx(), s.class, &one), kv.Conflict)
		s.wantKind("replace of one that is not", c.Replace(s.ctx(), s.class, &other), kv.NotFound)
		s.wantIDs("all", s.all(c, record.Span{}), 1, 2)
		s.want(c, item(1, 0))
		s.must("insert", c.Insert(s.ctx(), s.class, &other))
		s.must("replace", c.Replace(s.ctx(), s.class, &one))
		s.want(c, one)
		s.want(c, other)

		// A Conflict is an answer: what else the transaction does is committed.
		s.must("insert or change", c.Update(s.ctx(), s.class, func(w *record.Writer[Item]) error {
			four, again := item(4, 0), item(4, 1)
			s.must("insert", w.Insert(&four))
			s.wantKind("insert of what the transaction put", w.Insert(&again), kv.Conflict)
			return nil
		}))
		s.want(c, item(4, 0))
		s.check(c)
	}
}

func testForgottenID(s *suite) {
	store := s.store()
	zero := item(0, 0)
	s.must("put", s.items(store, record.Options{Indexes: []record.Index{byName}}).Put(s.ctx(), s.class, &zero))
	c, err := store.Items(s.ctx(), s.target.options(record.Options{}))
	s.must("open", err)
	s.wantKind("put", c.Put(s.ctx(), s.class, &Item{Name: "forgotten"}), kv.Invalid)
	s.wantKind("put of a list", c.PutAll(s.ctx(), s.class, []Item{item(1, 0), {Name: "forgotten"}}), kv.Invalid)
	s.wantKind("replace", c.Replace(s.ctx(), s.class, &Item{Name: "forgotten"}), kv.Invalid)
	s.wantIDs("all", s.all(c, record.Span{}), 0)
	s.want(c, zero)

	insert := func(want int64, v Item) {
		s.Helper()
		v.ID = 0
		if err := c.Insert(s.ctx(), s.class, &v); err != nil || v.ID != want {
			s.Errorf("insert: id %d, %v, want %d", v.ID, err, want)
		}
		s.want(c, v)
	}
	insert(1, item(1, 0))
	seven := item(7, 0)
	s.must("put", c.Put(s.ctx(), s.class, &seven))
	insert(8, item(8, 0))
	same := item(8, 0)
	same.ID = 0
	if err := c.Insert(s.ctx(), s.class, &same); kv.KindOf(err) != kv.Conflict || same.ID != 0 {
		s.Errorf("insert of a name that there is: id %d, %v, want 0 and a conflict", same.ID, err)
	}
	last := item(math.MaxInt64, 0)
	s.must("put", c.Put(s.ctx(), s.class, &last))
	if v := (Item{Name: "too many"}); kv.KindOf(c.Insert(s.ctx(), s.class, &v)) != kv.TooLarge || v.ID != 0 {
		s.Errorf("insert after the largest id: id %d, want 0 and too large", v.ID)
	}
	s.wantIDs("all", s.all(c, record.Span{}), 0, 1, 7, 8, math.MaxInt64)
	s.check(c)

	texts, err := s.store().Texts(s.ctx(), s.target.options(record.Options{}))
	s.must("open", err)
	s.wantKind("put of a text", texts.Put(s.ctx(), s.class, &Text{Value: 1}), kv.Invalid)
	s.wantKind("insert of a text", texts.Insert(s.ctx(), s.class, &Text{Value: 1}), kv.Invalid)
}

// testFailure passes over an error of a method that writes.
func testFailure(s *suite) {
	c := s.fresh(byName)
	s.fill(c, 1, 2)
	err := c.Update(s.ctx(), s.class, func(w *record.Writer[Item]) error {
		v := item(1, 1)
		s.must("put", w.Put(&v))
		s.wantKind("delete", w.Delete(record.Text("1")), kv.Invalid)
		return nil
	})
	s.wantKind("update", err, kv.Invalid)
	s.want(c, item(1, 0))
	s.check(c)
}

// testSequence deletes the newest records, in one way and another.
func testSequence(s *suite) {
	dir := s.TempDir()
	store, closeAll := s.storeIn(dir)
	c, err := store.Items(s.ctx(), s.target.options(record.Options{}))
	s.must("open", err)
	insert := func(want int64) {
		s.Helper()
		v := Item{Name: "new"}
		if err := c.Insert(s.ctx(), s.class, &v); err != nil || v.ID != want {
			s.Errorf("insert: id %d, %v, want %d", v.ID, err, want)
		}
	}
	insert(1)
	insert(2)
	s.must("delete", c.Delete(s.ctx(), s.class, record.Int(2)))
	insert(3)
	v := item(10, 0)
	s.must("put", c.Put(s.ctx(), s.class, &v))
	insert(11)
	_, err = c.DeleteWhere(s.ctx(), s.class, record.Query{})
	s.must("delete all", err)
	if !s.target.Volatile {
		closeAll()
		store, _ = s.storeIn(dir)
		c, err = store.Items(s.ctx(), s.target.options(record.Options{}))
		s.must("open", err)
	}
	insert(12)
	err = c.Update(s.ctx(), s.class, func(w *record.Writer[Item]) error {
		var v Item
		s.must("insert", w.Insert(&v))
		return errOnPurpose
	})
	if !errors.Is(err, errOnPurpose) {
		s.Errorf("update: %v", err)
	}
	insert(13)
	s.check(c)
}
