package recordtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// testWhere compares queries with what a program would find among all records.
func testWhere(s *suite) {
	const n = 40
	at := time.Unix(1_700_000_500, 0)
	for _, one := range []struct {
		q    record.Query
		keep func(v Item) bool
	}{
		{record.Query{}, func(Item) bool { return true }},
		{record.Query{From: int64(5), To: int64(9)}, func(v Item) bool { return v.ID >= 5 && v.ID < 9 }},
		{record.Query{Equal: []any{int64(7)}}, func(v Item) bool { return v.ID == 7 }},
		{record.Query{Where: []record.Condition{{Field: "active", Equal: true}}},
			func(v Item) bool { return v.Active }},
		{record.Query{Where: []record.Condition{{Field: "name", Equal: "name 1"}}},
			func(v Item) bool { return v.Name == "name 1" }},
		{record.Query{Where: []record.Condition{{Field: "name", From: "name 2", To: "name 3"},
			{Field: "balance", To: 800.0}}},
			func(v Item) bool { return v.Name >= "name 2" && v.Name < "name 3" && v.Balance < 800 }},
		{record.Query{Where: []record.Condition{{Field: "at", From: at}}},
			func(v Item) bool { return !v.At.Before(at) }},
		{record.Query{Index: "by_group", Equal: []any{int32(1)},
			Where: []record.Condition{{Field: "active", Equal: false}}},
			func(v Item) bool { return v.Group == 1 && !v.Active }},
		{record.Query{Index: "by_group", Equal: []any{int32(1)}}, func(v Item) bool { return v.Group == 1 }},
		{record.Query{From: int64(n + 1)}, func(Item) bool { return false }},
	} {
		for _, limit := range []int{0, 3} {
			c := s.fresh(byGroup)
			s.fill(c, 1, n)
			q := one.q
			q.Limit, q.Reverse = limit, limit > 0
			var want, left []int64
			for id := int64(1); id <= n; id++ {
				if one.keep(item(id, 0)) {
					want = append(want, id)
				}
			}
			if q.Reverse {
				slices.Reverse(want) // within a group the order is that of ids, too
			}
			if limit > 0 {
				want = want[:min(limit, len(want))]
			}
			for id := int64(1); id <= n; id++ {
				if !slices.Contains(want, id) {
					left = append(left, id)
				}
			}
			what := fmt.Sprintf("%+v", q)
			var found []Item
			for v, err := range c.Query(s.Ctx(), q) {
				s.Must("query", err)
				found = append(found, v)
			}
			s.wantIDs(what, found, want...)
			if got, err := c.Count(s.Ctx(), q); err != nil || got != len(want) {
				s.Errorf("count of %s: %d, %v, want %d", what, got, err, len(want))
			}
			if got, err := c.DeleteWhere(s.Ctx(), s.Class, q); err != nil || got != len(want) {
				s.Errorf("deletion of %s: %d, %v, want %d", what, got, err, len(want))
			}
			s.wantIDs("left by "+what, s.all(c, record.Span{}), left...)
			s.check(c)
		}
	}
	c := s.fresh(byGroup)
	for _, q := range []record.Query{
		{Equal: []any{"1"}}, {Index: "none"}, {Where: []record.Condition{{Field: "none"}}},
		{Where: []record.Condition{{Field: "name", Equal: 1}}},
		{Where: []record.Condition{{Field: "name", Equal: "a", To: "b"}}},
	} {
		_, err := c.Count(s.Ctx(), q)
		s.WantKind(fmt.Sprintf("count of %+v", q), err, kv.Invalid)
		_, err = c.DeleteWhere(s.Ctx(), s.Class, q)
		s.WantKind(fmt.Sprintf("deletion of %+v", q), err, kv.Invalid)
	}
}
