package logtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

func testEmpty(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	if last := s.last(log); last != 0 {
		s.Errorf("last position %d, want 0", last)
	}
	if events := s.load(log, eventlog.Range{}); len(events) != 0 {
		s.Errorf("got %d events, want none", len(events))
	}
	if events := s.loadStream(log, "nobody", eventlog.Range{}); len(events) != 0 {
		s.Errorf("got %d events of a stream, want none", len(events))
	}
	if v, err := log.StreamVersion(s.Ctx(), "nobody"); v != 0 || err != nil {
		s.Errorf("stream version %d, %v, want 0", v, err)
	}
	for range log.All(s.Ctx(), eventlog.Range{}) {
		s.Error("a walk found something")
	}
}

func testRoundTrip(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	at := time.Date(2026, 2, 3, 4, 5, 6, 789, time.FixedZone("", 3600))
	data := []string{
		``, `{"index":1}`, `{"a":[1,2,{"b":null}],"c":"x\n\u00e9"}`, `null`, `true`, `0`, `-1.5e+10`, `"text"`, `[]`,
		`{}`,
		" {\"a\": 1}\n", `{"a":1} `, "{\n\t\"a\": 1\n}", `{"a":1,}`, `{a:1}`, `01`, `nul`, `{"a":1}{"b":2}`, `"`, `}`,
		"\x00", "\xff\xfe", "\"\xff\"", "plain text", `{"time":"x","position":9}`, "\"\u2028<&>\"",
		strings.Repeat("[", 2000),
		strings.Repeat("[", 600) + strings.Repeat("]", 600), `{"a":"` + strings.Repeat("x", 5000) + `"}`,
	}
	types := []string{"T", "order.paid", `quo"te`, `back\slash`, "tab\t", "été", "日本", "\u2028", "<&>", "\x00", "\x7f"}
	streams := []string{"", "s", "order-17", `"`, "été", "a\x00b", "\x01"}
	var want []eventlog.Event
	versions := map[string]uint64{}
	for i := range max(len(data), len(types)*len(streams)) {
		e := eventlog.Event{Position: uint64(i + 1), Stream: streams[i%len(streams)], Type: types[i%len(types)],
			Data: []byte(data[i%len(data)]), Time: at.Add(time.Duration(i*i*i) * time.Millisecond).UTC()}
		if e.Stream != "" {
			versions[e.Stream]++
			e.Version = versions[e.Stream]
		}
		got := s.append(log, e.Stream, eventlog.Draft{Type: e.Type, Data: e.Data, Time: e.Time.In(at.Location())})
		if want := (eventlog.Appended{First: e.Position, Last: e.Position, Version: e.Version}); got != want {
			s.Fatalf("append returned %+v, want %+v", got, want)
		}
		want = append(want, e)
	}
	s.wantEvents(s.load(log, eventlog.Range{}), want)
	for stream, version := range versions {
		var some []eventlog.Event
		for _, e := range want {
			if e.Stream == stream {
				some = append(some, e)
			}
		}
		s.wantEvents(s.loadStream(log, stream, eventlog.Range{}), some)
		if v, err := log.StreamVersion(s.Ctx(), stream); v != version || err != nil {
			s.Errorf("stream %q is at version %d, %v, want %d", stream, v, err, version)
		}
	}
}

func (s *suite) wantEvents(got, want []eventlog.Event) {
	s.Helper()
	if len(got) != len(want) {
		s.Fatalf("got %d events, want %d", len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		if g.Position != w.Position || g.Stream != w.Stream || g.Version != w.Version || g.Type != w.Type ||
			!bytes.Equal(g.Data, w.Data) || !g.Time.Equal(w.Time) || g.Time.Location() != time.UTC {
			s.Errorf("got  %+v\nwant %+v", g, w)
		}
		if len(w.Data) == 0 && g.Data != nil {
			s.Errorf("event %d: no data came back as %q, want nil", g.Position, g.Data)
		}
	}
}

func testLarge(s *suite) {
	log := s.open(eventlog.Options{})
	// Engines differ in what they can hold; half a mebibyte is below the limit of all.
	data := bytes.Repeat([]byte("0123456789abcdef"), 32<<10)
	sum := sha256.Sum256(data)
	s.append(log, "", draft("1"), eventlog.Draft{Type: "Large", Data: data}, draft("2"))
	events := s.load(log, eventlog.Range{})
	s.wantPositions(events, 1, 3)
	if sha256.Sum256(events[1].Data) != sum {
		s.Errorf("%d bytes came back different (%d)", len(data), len(events[1].Data))
	}
}

func testNow(s *suite) {
	log := s.open(eventlog.Options{})
	before := time.Now()
	s.append(log, "", drafts("now", 2)...)
	after := time.Now()
	for _, e := range s.load(log, eventlog.Range{}) {
		if e.Time.Before(before.Round(0)) || e.Time.After(after.Round(0)) {
			s.Errorf("time %v, want one from %v to %v", e.Time, before, after)
		}
	}
}

func testAtomic(s *suite) {
	const appends, size = 50, 20
	log := s.open(eventlog.Options{Streams: true})
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for range appends {
				if _, err := log.Append(s.Ctx(), s.Class, "s", eventlog.Any, drafts("many", size)...); err != nil {
					s.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		last := s.last(log)
		version, err := log.StreamVersion(s.Ctx(), "s")
		s.Must("stream version", err)
		events := s.load(log, eventlog.Range{})
		if last%size != 0 || version%size != 0 || len(events)%size != 0 {
			s.Fatalf("part of an append is seen: position %d, version %d, %d events", last, version, len(events))
		}
		if version < last || uint64(len(events)) < version {
			s.Fatalf("time runs backwards: position %d, then version %d, then %d events", last, version, len(events))
		}
	}
	s.wantPositions(s.loadStream(log, "s", eventlog.Range{}), 1, 2*appends*size)
}

func testNothing(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	s.append(log, "s", drafts("one", 1)...)
	done, err := log.Append(s.Ctx(), s.Class, "s", eventlog.Version(1))
	if done != (eventlog.Appended{}) || err != nil {
		s.Errorf("got %+v, %v, want nothing", done, err)
	}
	_, err = log.Append(s.Ctx(), s.Class, "s", eventlog.Empty)
	s.WantKind("append of nothing to a stream that is not empty", err, kv.Conflict)
	s.wantPositions(s.load(log, eventlog.Range{}), 1, 1)
}

func testOwnership(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	var given []eventlog.Draft
	for i := range 3 {
		given = append(given, eventlog.Draft{Type: "T", Data: []byte{'"', 'a' + byte(i), '"'}})
	}
	s.append(log, "s", given...)
	for i := range given {
		clear(given[i].Data)
		given[i].Type = "other"
	}
	for range 2 {
		for _, events := range [][]eventlog.Event{s.load(log, eventlog.Range{}),
			s.loadStream(log, "s", eventlog.Range{})} {
			s.wantPositions(events, 1, 3)
			for i := range events {
				if want := []byte{'"', 'a' + byte(i), '"'}; !bytes.Equal(events[i].Data, want) ||
					events[i].Type != "T" {
					s.Fatalf("event %d is %q %q, want %q", i, events[i].Type, events[i].Data, want)
				}
				clear(events[i].Data)
				_ = append(events[i].Data, "overwrites the next"...)
			}
		}
	}
}

func testArguments(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	ok := draft("1")
	for _, c := range []struct {
		name   string
		stream string
		expect eventlog.Expected
		draft  eventlog.Draft
		kind   kv.Kind
	}{
		{"an event without a type", "s", eventlog.Any, eventlog.Draft{Data: []byte("1")}, kv.Invalid},
		{"a type that is not UTF-8", "s", eventlog.Any, eventlog.Draft{Type: "\xff"}, kv.Invalid},
		{"a stream that is not UTF-8", "\xff", eventlog.Any, ok, kv.Invalid},
		{"a stream with a long name", strings.Repeat("s", eventlog.MaxName+1), eventlog.Any, ok, kv.TooLarge},
		{"a version of no stream", "", eventlog.Version(0), ok, kv.Invalid},
		{"a time too early", "s", eventlog.Any, eventlog.Draft{Type: "T",
			Time: time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC)}, kv.Invalid},
		{"a time too late", "s", eventlog.Any, eventlog.Draft{Type: "T",
			Time: time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)}, kv.Invalid},
	} {
		_, err := log.Append(s.Ctx(), s.Class, c.stream, c.expect, ok, c.draft, ok)
		s.WantKind(c.name, err, c.kind)
	}
	_, err := log.LoadStream(s.Ctx(), "", eventlog.Range{})
	s.WantKind("loading a stream without a name", err, kv.Invalid)
	if last := s.last(log); last != 0 {
		s.Errorf("the log is at %d, want 0", last)
	}
	s.append(log, strings.Repeat("s", eventlog.MaxName), ok)
}

func testCanceledAppend(s *suite) {
	log := s.open(eventlog.Options{})
	ctx, cancel := context.WithCancel(s.Ctx())
	cancel()
	_, err := log.Append(ctx, s.Class, "", eventlog.Any, draft("1"))
	s.WantKind("append", err, kv.Canceled)

	// While others append, one that is canceled in the queue or in a group is there if and only if
	// it succeeded.
	var wg sync.WaitGroup
	var mu sync.Mutex
	succeeded := 0
	for w := range 8 {
		wg.Go(func() {
			for i := range 50 {
				ctx, cancel := context.WithCancel(s.Ctx())
				if (w+i)%2 == 0 {
					go cancel()
				}
				_, err := log.Append(ctx, s.Class, "", eventlog.Any, draft("1"))
				cancel()
				if err == nil {
					mu.Lock()
					succeeded++
					mu.Unlock()
				} else if kv.KindOf(err) != kv.Canceled {
					s.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	s.wantPositions(s.load(log, eventlog.Range{}), 1, uint64(succeeded))
	if succeeded < 200 {
		s.Errorf("%d appends succeeded, want at least those 200 that were not canceled", succeeded)
	}
}

func testClosed(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	sub, err := log.Subscribe(s.Ctx(), "reader")
	s.Must("subscribe", err)
	s.append(log, "s", draft("1"))
	s.Must("close", log.Close())
	s.Must("close again", log.Close())
	_, err = log.Append(s.Ctx(), s.Class, "s", eventlog.Any, draft("1"))
	s.WantKind("append", err, kv.Closed)
	_, err = log.Load(s.Ctx(), eventlog.Range{})
	s.WantKind("load", err, kv.Closed)
	_, err = log.LoadStream(s.Ctx(), "s", eventlog.Range{})
	s.WantKind("load stream", err, kv.Closed)
	_, err = log.LastPosition(s.Ctx())
	s.WantKind("last position", err, kv.Closed)
	_, err = log.StreamVersion(s.Ctx(), "s")
	s.WantKind("stream version", err, kv.Closed)
	s.WantKind("wait", log.Wait(s.Ctx(), 0), kv.Closed)
	_, err = log.Subscribe(s.Ctx(), "another")
	s.WantKind("subscribe", err, kv.Closed)
	_, err = log.Subscriptions(s.Ctx())
	s.WantKind("subscriptions", err, kv.Closed)
	s.WantKind("unsubscribe", log.Unsubscribe(s.Ctx(), "reader"), kv.Closed)
	_, err = sub.Next(s.Ctx(), 1)
	s.WantKind("next", err, kv.Closed)
	s.WantKind("ack", sub.Ack(s.Ctx(), s.Class, 1), kv.Closed)
}
