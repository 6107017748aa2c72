package recordtest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/record"
)

// richWork is random work on a collection and the same on a map beside it.
type richWork struct {
	*suite
	r        *rand.Rand
	dir      string
	closeAll func()
	c        *record.Collection[Rich]
	model    map[int64]Rich
	largest  int64 // that Insert chose
	visits   record.Field[Rich, int64]
	seen     record.Field[Rich, []int32]
	street   record.Field[Rich, string]
	changed  record.Field[Rich, time.Time]
}

func testRichModel(s *suite) {
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	w := &richWork{suite: s, r: rand.New(rand.NewPCG(seed, 0)), dir: s.TempDir(), model: map[int64]Rich{}}
	w.open()
	for range 60 {
		switch n := w.r.IntN(12); {
		case n == 0 && !s.Volatile:
			w.closeAll()
			w.open()
		case n <= 3:
			w.query()
		default:
			w.update()
		}
	}
	w.compare()
}

func (w *richWork) open() {
	var store Store
	store, w.closeAll = w.storeIn(w.dir)
	indexes := slices.Clone(richIndexes)
	w.r.Shuffle(len(indexes), func(i, j int) { indexes[i], indexes[j] = indexes[j], indexes[i] })
	var err error
	w.c, err = store.Riches(w.Ctx(), w.target.options(record.Options{Indexes: indexes[:w.r.IntN(len(indexes)+1)]}))
	w.Must("open", err)
	if w.visits == (record.Field[Rich, int64]{}) { // the rest is built of what is there
		w.c, err = store.Riches(w.Ctx(), w.target.options(record.Options{Indexes: richIndexes}))
		w.Must("open", err)
	}
	w.visits, err = record.FieldOf[int64](w.c, "visits")
	w.Must("field", err)
	w.seen, err = record.FieldOf[[]int32](w.c, "seen")
	w.Must("field", err)
	w.street, err = record.FieldOf[string](w.c, "home.street")
	w.Must("field", err)
	w.changed, err = record.FieldOf[time.Time](w.c, "changed") // hot, and in no index
	w.Must("field", err)
}

// update does some changes in one transaction, which is rolled back now and then.
func (w *richWork) update() {
	before, largest := maps.Clone(w.model), w.largest
	rollback := w.r.IntN(6) == 0
	err := w.c.Update(w.Ctx(), w.Class, func(tx *record.Writer[Rich]) error {
		w.model, w.largest = maps.Clone(before), largest // it may run again
		for range 1 + w.r.IntN(4) {
			w.change(tx)
		}
		if rollback {
			return errOnPurpose
		}
		return nil
	})
	if rollback {
		w.model, w.largest = before, largest
		if !errors.Is(err, errOnPurpose) {
			w.Fatalf("update: %v, want the function's error", err)
		}
		return
	}
	w.Must("update", err)
}

// taken returns who has a code, other than the record with an id.
func (w *richWork) taken(code string, id int64) (owner int64, taken bool) {
	for _, v := range w.model {
		if v.Code == code && v.ID != id {
			return v.ID, true
		}
	}
	return 0, false
}

func (w *richWork) change(tx *record.Writer[Rich]) {
	id := w.r.Int64N(30) + 1
	v := rich(w.r, id)
	was, there := w.model[id]
	switch w.r.IntN(8) {
	case 0, 1:
		w.stored(v, tx.Put(&v), true, false)
	case 2:
		w.stored(v, tx.Replace(&v), there, false)
	case 3:
		w.stored(v, tx.Insert(&v), !there, true)
	case 4:
		v.ID = 0
		err := tx.Insert(&v)
		if _, taken := w.taken(v.Code, 0); !taken && err == nil {
			for other := range w.model {
				w.largest = max(w.largest, other)
			}
			if v.ID <= w.largest {
				w.Fatalf("insert chose %d, which is not above %d", v.ID, w.largest)
			}
			w.largest = v.ID
		}
		w.stored(v, err, true, false)
	case 5:
		w.Must("delete", tx.Delete(record.Int(id)))
		delete(w.model, id)
	default:
		var err error
		was.Visits, was.Seen, was.Home.Street, was.Changed = v.Visits, v.Seen, v.Home.Street, v.Changed
		err = errors.Join(w.visits.Write(tx, record.Int(id), v.Visits), w.seen.Write(tx, record.Int(id), v.Seen),
			w.street.Write(tx, record.Int(id), v.Home.Street), w.changed.Write(tx, record.Int(id), v.Changed))
		if there != (err == nil) || err != nil && !errors.Is(err, kv.NotFound) {
			w.Fatalf("set of record %d: %v, there is one: %v", id, err, there)
		}
		if there {
			w.model[id] = was
		}
	}
}

// stored checks what became of a record that was to be stored: that the code is free, and what the
// method asks for.
func (w *richWork) stored(v Rich, err error, may, inserted bool) {
	w.Helper()
	owner, taken := w.taken(v.Code, v.ID)
	var d *record.Duplicate
	switch {
	case !may && inserted:
		if !errors.As(err, &d) || d.Index != "" || d.Owner.Int64() != v.ID {
			w.Fatalf("insert over record %d: %v", v.ID, err)
		}
	case !may:
		w.WantKind("replace of none", err, kv.NotFound)
	case taken:
		if !errors.As(err, &d) || d.Index != "by_code" || d.Owner.Int64() != owner || kv.KindOf(err) != kv.Conflict {
			w.Fatalf("a second record with %q of %d: %v", v.Code, owner, err)
		}
	default:
		w.Must("store", err)
		w.model[v.ID] = v
	}
}

// spot is where a record stands in an index.
type spot struct {
	text string
	n    int64
	id   int64
}

func compareSpots(a, b spot) int {
	return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.n, b.n), cmp.Compare(a.id, b.id))
}

// view is how a person would find records by the first field of an index.
type view struct {
	index string
	value func(r *rand.Rand) any
	spot  func(value any) spot // of a bound
	spots func(v Rich) []spot
}

var views = []view{
	{"", func(r *rand.Rand) any { return r.Int64N(40) }, func(v any) spot { return spot{n: v.(int64)} },
		func(v Rich) []spot { return []spot{{n: v.ID}} }},
	{"by_tag", func(r *rand.Rand) any { return string(rune('a' + r.IntN(5))) },
		func(v any) spot { return spot{text: v.(string)} },
		func(v Rich) (all []spot) {
			for _, tag := range v.Tags {
				all = append(all, spot{text: tag})
			}
			return all
		}},
	{"by_visits", func(r *rand.Rand) any { return r.Int64N(12) - 6 }, func(v any) spot { return spot{n: v.(int64)} },
		func(v Rich) []spot { return []spot{{n: v.Visits}} }},
	{"by_rank", func(r *rand.Rand) any { return r.Int32N(6) - 3 },
		func(v any) spot { return spot{n: int64(v.(int32))} },
		func(v Rich) []spot {
			if v.Rank == nil {
				return []spot{{n: -1 << 40}}
			}
			return []spot{{n: int64(*v.Rank)}}
		}},
	{"by_code", func(r *rand.Rand) any { return fmt.Sprint("code ", r.IntN(60)) },
		func(v any) spot { return spot{text: v.(string)} },
		func(v Rich) []spot { return []spot{{text: v.Code}} }},
}

// query asks in all ways and compares with what is found among all records.
func (w *richWork) query() {
	w.Helper()
	v := views[w.r.IntN(len(views))]
	q := record.Query{Index: v.index, Reverse: w.r.IntN(2) == 0}
	var from, to *spot
	bound := func(b **spot) any {
		value := v.value(w.r)
		at := v.spot(value)
		*b = &at
		return value
	}
	equal := w.r.IntN(3) == 0
	if equal {
		q.Equal = []any{bound(&from)}
	} else {
		if w.r.IntN(2) == 0 {
			q.From = bound(&from)
		}
		if w.r.IntN(2) == 0 {
			q.To = bound(&to)
		}
	}
	var keep func(Rich) bool
	q.Where, keep = w.where()
	var found []spot
	for _, one := range w.model {
		inside := slices.DeleteFunc(v.spots(one), func(s spot) bool {
			return equal && compareSpots(s, *from) != 0 || from != nil && compareSpots(s, *from) < 0 || !equal &&
				to != nil && compareSpots(s, *to) >= 0
		})
		if len(inside) == 0 || !keep(one) {
			continue
		}
		slices.SortFunc(inside, compareSpots)
		at := inside[0]
		if q.Reverse {
			at = inside[len(inside)-1]
		}
		at.id = one.ID
		found = append(found, at)
	}
	slices.SortFunc(found, compareSpots)
	if q.Reverse {
		slices.Reverse(found)
	}
	w.asks(q, found)
}

// where returns conditions, and what they say.
func (w *richWork) where() ([]record.Condition, func(Rich) bool) {
	n := w.r.Int32N(6) - 3
	switch w.r.IntN(5) {
	case 0:
		return []record.Condition{{Field: "seen", Equal: n}}, func(v Rich) bool { return slices.Contains(v.Seen, n) }
	case 1:
		return []record.Condition{{Field: "visits", In: []any{int64(n), int64(n + 2)}, Not: true}},
			func(v Rich) bool { return v.Visits != int64(n) && v.Visits != int64(n+2) }
	case 2:
		return []record.Condition{{Field: "home.street", From: "a", To: "b"}, {Field: "rank", From: n}},
			func(v Rich) bool { return v.Home.Street >= "a" && v.Home.Street < "b" && v.Rank != nil && *v.Rank >= n }
	}
	return nil, func(Rich) bool { return true }
}

func (w *richWork) asks(q record.Query, want []spot) {
	w.Helper()
	same := func(how string, list []Rich, want []spot) {
		w.Helper()
		if len(list) != len(want) {
			w.Fatalf("%s of %+v: %d records, want %d", how, q, len(list), len(want))
		}
		for i := range list {
			if !reflect.DeepEqual(list[i], w.model[want[i].id]) {
				w.Fatalf("%s of %+v: record %d is\n%+v, want\n%+v", how, q, i, list[i], w.model[want[i].id])
			}
		}
	}
	collect := func(q record.Query) (list []Rich) {
		for v, err := range w.c.Query(w.Ctx(), q) {
			w.Must("query", err)
			list = append(list, v)
		}
		return list
	}
	same("query", collect(q), want)
	if n, err := w.c.Count(w.Ctx(), q); err != nil || n != len(want) {
		w.Fatalf("count of %+v: %d, %v, want %d", q, n, err, len(want))
	}
	part := q
	part.Offset, part.Limit = w.r.IntN(4), 1+w.r.IntN(4)
	rest := want[min(part.Offset, len(want)):]
	same("a part", collect(part), rest[:min(part.Limit, len(rest))])
	page := q
	page.Offset, page.Limit = part.Offset, 1+w.r.IntN(4)
	var all []Rich
	for {
		list, next, err := w.c.Page(w.Ctx(), page)
		w.Must("page", err)
		if len(list) > page.Limit || next != nil && len(list) < page.Limit {
			w.Fatalf("a page of %d, want %d", len(list), page.Limit)
		}
		all = append(all, list...)
		if next == nil {
			break
		}
		page.After = bytes.Clone(next)
	}
	same("pages", all, rest)
	if w.r.IntN(4) == 0 && len(want) < 10 {
		if n, err := w.c.DeleteWhere(w.Ctx(), w.Class, part); err != nil || n != min(part.Limit, len(rest)) {
			w.Fatalf("deletion of %+v: %d, %v", part, n, err)
		}
		for _, s := range rest[:min(part.Limit, len(rest))] {
			delete(w.model, s.id)
		}
	}
}

// compare looks at everything, in all ways of reading.
func (w *richWork) compare() {
	w.Helper()
	w.Must("check", w.c.Check(w.Ctx()))
	n := 0
	for v, err := range w.c.All(w.Ctx(), record.Span{Reverse: w.r.IntN(2) == 0}) {
		w.Must("walk", err)
		if want := w.model[v.ID]; !reflect.DeepEqual(v, want) {
			w.Fatalf("got\n%+v, want\n%+v", v, want)
		}
		if got, err := w.c.Get(w.Ctx(), record.Int(v.ID)); err != nil || !reflect.DeepEqual(got, v) {
			w.Fatalf("got alone\n%+v, %v, want\n%+v", got, err, v)
		}
		if got, err := w.seen.Get(w.Ctx(), record.Int(v.ID)); err != nil || !reflect.DeepEqual(got, v.Seen) {
			w.Fatalf("the field is %v, %v, want %v", got, err, v.Seen)
		}
		n++
	}
	if n != len(w.model) {
		w.Fatalf("%d records, want %d", n, len(w.model))
	}
	var sum int64
	for _, v := range w.model {
		sum += v.Visits
	}
	if total, err := record.Sum(w.Ctx(), w.visits, record.Span{}); err != nil || total.Int != sum || total.Count != n {
		w.Fatalf("the sum of the hot field is %+v, %v, want %d of %d", total, err, sum, n)
	}
}
