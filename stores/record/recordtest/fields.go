package recordtest

import (
	"reflect"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

func (s *suite) balance(c *record.Collection[Item]) record.Field[Item, float64] {
	s.Helper()
	f, err := record.FieldOf[float64](c, "balance")
	s.Must("field", err)
	return f
}

func (s *suite) sum(c *record.Collection[Item]) float64 {
	s.Helper()
	total, err := record.Sum(s.Ctx(), s.balance(c), record.Span{})
	s.Must("sum", err)
	return total.Float
}

// testOne reads a field and sets it.
func testOne[V any](s *suite, c *record.Collection[Item], name string, change func(v *Item) V) {
	s.Helper()
	f, err := record.FieldOf[V](c, name)
	s.Must("field "+name, err)
	before, err := c.Get(s.Ctx(), record.Int(2))
	s.Must("get", err)
	want := change(&before)
	s.Must("set "+name, f.Set(s.Ctx(), s.Class, record.Int(2), want))
	got, err := f.Get(s.Ctx(), record.Int(2))
	if err != nil || !reflect.DeepEqual(got, want) {
		s.Errorf("field %s: got %v, %v, want %v", name, got, err, want)
	}
	s.want(c, before)
}

func testField(s *suite) {
	for _, indexes := range [][]record.Index{nil, {{Name: "a", Fields: []string{"balance"}},
		{Name: "b", Fields: []string{"name", "note"}, Unique: true}}} {
		c := s.fresh(indexes...)
		s.fill(c, 1, 3)
		testOne(s, c, "balance", func(v *Item) float64 { v.Balance = -7.5; return v.Balance })
		testOne(s, c, "ratio", func(v *Item) float32 { v.Ratio = 0; return v.Ratio })
		testOne(s, c, "group", func(v *Item) int32 { v.Group = -1 << 31; return v.Group })
		testOne(s, c, "count", func(v *Item) uint16 { v.Count = 65535; return v.Count })
		testOne(s, c, "active", func(v *Item) bool { v.Active = !v.Active; return v.Active })
		testOne(s, c, "name", func(v *Item) string { v.Name = "another, longer name"; return v.Name })
		testOne(s, c, "name", func(v *Item) string { v.Name = ""; return v.Name })
		testOne(s, c, "note", func(v *Item) string { v.Note = "n"; return v.Note })
		testOne(s, c, "blob", func(v *Item) []byte { v.Blob = []byte("\x00b"); return v.Blob })
		at, err := record.FieldOf[[]byte](c, "blob")
		s.Must("field", err)
		s.Must("set", at.Set(s.Ctx(), s.Class, record.Int(2), nil))
		s.want(c, item(1, 0))
		s.want(c, item(3, 0))
		s.check(c)

		f := s.balance(c)
		_, err = f.Get(s.Ctx(), record.Int(9))
		s.WantKind("get of an absent record", err, kv.NotFound)
		s.WantKind("set of an absent record", f.Set(s.Ctx(), s.Class, record.Int(9), 1), kv.NotFound)
		s.wantIDs("all", s.all(c, record.Span{}), 1, 2, 3)
	}
}

func testSum(s *suite) {
	c := s.fresh()
	const n = 300
	s.fill(c, 1, n)
	var floats float64
	var ints int64
	for id := int64(1); id <= n; id++ {
		floats += item(id, 0).Balance
		ints += int64(item(id, 0).Group)
	}
	if got := s.sum(c); got != floats {
		s.Errorf("the sum of balances is %v, want %v", got, floats)
	}
	group, err := record.FieldOf[int32](c, "group")
	s.Must("field", err)
	total, err := record.Sum(s.Ctx(), group, record.Span{})
	if err != nil || total.Int != ints || total.Count != n {
		s.Errorf("the sum of groups is %+v, %v, want %d of %d", total, err, ints, n)
	}
	total, err = record.Sum(s.Ctx(), group, record.Span{From: record.Int(3), To: record.Int(5)})
	if want := int64(item(3, 0).Group + item(4, 0).Group); err != nil || total.Int != want || total.Count != 2 {
		s.Errorf("the sum of two groups is %+v, %v, want %d", total, err, want)
	}
	id, err := record.FieldOf[int64](c, "id")
	s.Must("field", err)
	big := Item{ID: 1<<63 - 1}
	s.Must("put", c.Put(s.Ctx(), s.Class, &big))
	_, err = record.Sum(s.Ctx(), id, record.Span{})
	s.WantKind("a sum that overflows", err, kv.TooLarge)
}

func testWrongField(s *suite) {
	c := s.fresh()
	s.fill(c, 1, 1)
	_, err := record.FieldOf[float64](c, "none")
	s.WantKind("a field that there is not", err, kv.Invalid)
	_, err = record.FieldOf[int64](c, "balance")
	s.WantKind("a field of another type", err, kv.Invalid)
	id, err := record.FieldOf[int64](c, "id")
	s.Must("field", err)
	s.WantKind("setting an id", id.Set(s.Ctx(), s.Class, record.Int(1), 2), kv.Invalid)
}
