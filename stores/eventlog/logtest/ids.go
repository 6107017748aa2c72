package logtest

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

func withIDs(tag string, n int) []eventlog.Draft {
	all := drafts(tag, n)
	for i := range all {
		all[i].ID = fmt.Sprintf("%s-%d", tag, i)
	}
	return all
}

func testIDs(s *suite) {
	dir := s.TempDir()
	log, closeAll := s.openIn(dir, eventlog.Options{Streams: true})
	s.append(log, "s", draft("before"))
	first, err := log.Append(s.Ctx(), s.Class, "s", eventlog.Version(1), withIDs("a", 3)...)
	s.Must("append", err)
	s.append(log, "s", draft("between"))
	again := func(log *eventlog.Log) {
		s.Helper()
		for _, expect := range []eventlog.Expected{eventlog.Version(1), eventlog.Any, eventlog.Empty} {
			done, err := log.Append(s.Ctx(), s.Class, "s", expect, withIDs("a", 3)...)
			if err != nil || done != first {
				s.Errorf("append again expecting %v: %+v, %v, want %+v", expect, done, err, first)
			}
		}
		done, err := log.Append(s.Ctx(), s.Class, "s", eventlog.Any, withIDs("a", 3)[1:]...)
		if want := (eventlog.Appended{First: first.First + 1, Last: first.Last, Version: first.Version}); err != nil ||
			done != want {
			s.Errorf("a part of it again: %+v, %v, want %+v", done, err, want)
		}
		other := withIDs("a", 3)
		other[2].Data = []byte("other")
		for name, c := range map[string]struct {
			stream string
			drafts []eventlog.Draft
		}{
			"more":               {"s", append(withIDs("a", 3), draft("more"))},
			"other data":         {"s", other},
			"to another stream":  {"t", withIDs("a", 3)},
			"in another order":   {"s", []eventlog.Draft{withIDs("a", 3)[1], withIDs("a", 3)[0], withIDs("a", 3)[2]}},
			"one of it after it": {"s", append(withIDs("b", 1), withIDs("a", 1)...)},
		} {
			_, err := log.Append(s.Ctx(), s.Class, c.stream, eventlog.Any, c.drafts...)
			s.WantKind(name, err, kv.Conflict)
		}
		_, err = log.Append(s.Ctx(), s.Class, "s", eventlog.Any, withIDs("c", 1)[0], withIDs("c", 1)[0])
		s.WantKind("the same id twice", err, kv.Invalid)
		s.wantPositions(s.load(log, eventlog.Range{}), 1, 5)
	}
	again(log)
	if !s.Volatile {
		closeAll()
		log, _ = s.openIn(dir, eventlog.Options{Streams: true})
		again(log)
	}
	done, err := log.Append(s.Ctx(), s.Class, "s", eventlog.Version(5), withIDs("c", 1)...)
	if err != nil || done.First != 6 {
		s.Errorf("another id: %+v, %v, want position 6", done, err)
	}
	parts := []eventlog.Part{{Stream: "x", Events: withIDs("x", 1)}, {Stream: "y", Events: withIDs("y", 2)}}
	var before []eventlog.Appended
	for range 2 {
		done, err := log.AppendParts(s.Ctx(), s.Class, parts...)
		s.Must("append of parts", err)
		if before != nil && fmt.Sprint(done) != fmt.Sprint(before) {
			s.Errorf("parts again: %+v, want %+v", done, before)
		}
		before = done
	}
	_, err = log.AppendParts(s.Ctx(), s.Class, parts[0], eventlog.Part{Stream: "z", Events: withIDs("z", 1)})
	s.WantKind("one part again, with another", err, kv.Conflict)
	s.wantPositions(s.load(log, eventlog.Range{}), 1, 9)
}

// Many try the same appends at once, as programs do that had no answer, some of them in
// transactions.
func testIDsConcurrently(s *suite) {
	const writers, appends = 6, 25
	log := s.open(eventlog.Options{Streams: true})
	s.Must("reserve", log.Reserve(s.Ctx(), 10_000))
	var all sync.WaitGroup
	var mu sync.Mutex
	where := map[int]eventlog.Appended{}
	for w := range writers {
		all.Go(func() {
			for i := range appends {
				var done eventlog.Appended
				var err error
				if w == 0 {
					err = s.join(log, s.Class, func(tx *eventlog.Tx) (err error) {
						done, err = tx.Append("s", eventlog.Any, withIDs(fmt.Sprint(i), 2)...)
						return err
					})
				} else {
					done, err = log.Append(s.Ctx(), s.Class, "s", eventlog.Any, withIDs(fmt.Sprint(i), 2)...)
				}
				mu.Lock()
				if before, ok := where[i]; err != nil || ok && before != done {
					s.Errorf("append %d is at %+v, and at %+v, %v", i, before, done, err)
				}
				where[i] = done
				mu.Unlock()
			}
		})
	}
	all.Wait()
	s.wantPositions(s.loadStream(log, "s", eventlog.Range{}), 1, 2*appends)
}

func testMeta(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	var want []eventlog.Draft
	for i, meta := range []map[string]string{nil, {"user": "ada"},
		{"": "", "é": "\x00\"", "trace": strings.Repeat("x", 10_000)}, {}} {
		for _, id := range []string{"", fmt.Sprint("id ", i), strings.Repeat("é", 100) + fmt.Sprint(i)} {
			d := draft(fmt.Sprint(i, id))
			d.ID, d.Meta = id, meta
			want = append(want, d)
		}
	}
	s.append(log, "s", want...)
	for i := range want {
		d := want[i]
		if d.ID != "" {
			d.ID += " again"
		}
		want = append(want, d)
		s.append(log, "", d)
	}
	events := s.load(log, eventlog.Range{})
	s.wantPositions(events, 1, uint64(len(want)))
	for i, e := range events {
		d := want[i]
		if e.ID != d.ID || !maps.Equal(e.Meta, d.Meta) || string(e.Data) != string(d.Data) || len(d.Meta) == 0 &&
			e.Meta != nil {
			s.Errorf("event %d is %+v, want %+v", e.Position, e, d)
		}
	}
	for name, c := range map[string]struct {
		change func(d *eventlog.Draft)
		kind   kv.Kind
	}{
		"a long id": {func(d *eventlog.Draft) { d.ID = strings.Repeat("x", eventlog.MaxID+1) },
			kv.TooLarge},
		"an id that is no UTF-8": {func(d *eventlog.Draft) { d.ID = "\xff" }, kv.Invalid},
		"too much": {func(d *eventlog.Draft) {
			d.Meta = map[string]string{"k": strings.Repeat("x",
				eventlog.MaxMeta)}
		}, kv.TooLarge},
		"a value that is no UTF-8": {func(d *eventlog.Draft) {
			d.Meta = map[string]string{"k": "\xff"}
		}, kv.Invalid},
	} {
		d := draft("1")
		c.change(&d)
		_, err := log.Append(s.Ctx(), s.Class, "", eventlog.Any, d)
		s.WantKind(name, err, c.kind)
		_, err = log.AppendParts(s.Ctx(), s.Class, eventlog.Part{Events: []eventlog.Draft{d}})
		s.WantKind(name, err, c.kind)
	}
	if last := s.last(log); last != uint64(len(want)) {
		s.Errorf("the log is at %d, want %d", last, len(want))
	}
}
