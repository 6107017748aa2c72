package logtest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

func testExpectations(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	s.append(log, "a", drafts("a", 2)...)
	s.append(log, "b", drafts("b", 1)...)
	s.append(log, "", drafts("none", 1)...)
	for _, c := range []struct {
		stream string
		expect eventlog.Expected
		actual uint64 // of the conflict
		ok     bool
	}{
		{"a", eventlog.Empty, 2, false},
		{"a", eventlog.Version(0), 2, false},
		{"a", eventlog.Version(1), 2, false},
		{"a", eventlog.Version(3), 2, false},
		{"a", eventlog.Version(2), 0, true}, // position 5, version 3
		{"a", eventlog.Version(2), 3, false},
		{"b", eventlog.Version(2), 1, false},
		{"c", eventlog.Version(1), 0, false},
		{"c", eventlog.Empty, 0, true}, // position 6, version 1
		{"c", eventlog.Empty, 1, false},
		{"c", eventlog.Version(1), 0, true}, // position 7
		{"", eventlog.Position(6), 7, false},
		{"", eventlog.Position(0), 7, false},
		{"", eventlog.Position(8), 7, false},
		{"", eventlog.Position(7), 0, true}, // position 8
		{"a", eventlog.Position(7), 8, false},
		{"a", eventlog.Position(8), 0, true}, // position 9
		{"a", eventlog.Any, 0, true},
	} {
		before := s.last(log)
		done, err := log.Append(s.Ctx(), s.Class, c.stream, c.expect, draft("1"))
		what := fmt.Sprintf("append to %q expecting %v", c.stream, c.expect)
		if c.ok {
			s.Must(what, err)
			if done.First != before+1 || done.Last != before+1 {
				s.Errorf("%s returned %+v, want position %d", what, done, before+1)
			}
			continue
		}
		s.WantKind(what, err, kv.Conflict)
		var conflict *eventlog.ConflictError
		if !errors.As(err, &conflict) {
			s.Errorf("%s: %v holds no ConflictError", what, err)
		} else if conflict.Actual != c.actual || conflict.Stream != c.stream || conflict.Expected != c.expect {
			s.Errorf("%s: got %+v, want actual %d", what, *conflict, c.actual)
		}
		if last := s.last(log); last != before {
			s.Errorf("%s moved the log from %d to %d", what, before, last)
		}
	}
}

func testRace(s *suite) {
	const writers, versions = 8, 30
	log := s.open(eventlog.Options{Streams: true})
	for v := range uint64(versions) {
		wins := s.race(writers, func(w int) error {
			_, err := log.Append(s.Ctx(), s.Class, "s", eventlog.Version(v), draft(fmt.Sprint(w)))
			return err
		})
		if wins != 1 {
			s.Fatalf("%d of %d appends that expected version %d succeeded, want 1", wins, writers, v)
		}
	}
	s.wantPositions(s.loadStream(log, "s", eventlog.Range{}), 1, versions)
}

func testPositionRace(s *suite) {
	const writers, positions = 8, 30
	log := s.open(eventlog.Options{})
	for p := range uint64(positions) {
		wins := s.race(writers, func(w int) error {
			_, err := log.Append(s.Ctx(), s.Class, "", eventlog.Position(p), draft(fmt.Sprint(w)))
			return err
		})
		if wins != 1 {
			s.Fatalf("%d of %d appends that expected position %d succeeded, want 1", wins, writers, p)
		}
	}
	s.wantPositions(s.load(log, eventlog.Range{}), 1, positions)
}

// race runs do n times at once and returns how many succeeded. The others must be conflicts.
func (s *suite) race(n int, do func(i int) error) int {
	s.Helper()
	var wg sync.WaitGroup
	var wins atomic.Int64
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			switch err := do(i); {
			case err == nil:
				wins.Add(1)
			case !errors.Is(err, kv.Conflict):
				s.Errorf("got %v, want a conflict", err)
			}
		})
	}
	close(start)
	wg.Wait()
	return int(wins.Load())
}

func testBystanders(s *suite) {
	const writers, appends = 6, 40
	log := s.open(eventlog.Options{Streams: true})
	s.append(log, "taken", draft("0"))
	var wg sync.WaitGroup
	for w := range writers {
		stream := fmt.Sprint("s", w)
		wg.Go(func() {
			for i := range uint64(appends) {
				if w%2 == 1 {
					_, err := log.Append(s.Ctx(), s.Class, "taken", eventlog.Empty, draft("1"))
					s.WantKind("append", err, kv.Conflict)
					continue
				}
				done, err := log.Append(s.Ctx(), s.Class, stream, eventlog.Version(2*i), drafts(stream, 2)...)
				if err != nil || done.Version != 2*i+2 {
					s.Errorf("append to %s: %+v, %v, want version %d", stream, done, err, 2*i+2)
				}
			}
		})
	}
	wg.Wait()
	s.wantPositions(s.load(log, eventlog.Range{}), 1, 1+writers/2*appends*2)
	for w := 0; w < writers; w += 2 {
		stream := fmt.Sprint("s", w)
		for i, e := range s.loadStream(log, stream, eventlog.Range{}) {
			if want := fmt.Sprintf(`{"tag":%q,"index":%d}`, stream, i%2); e.Version != uint64(i+1) ||
				string(e.Data) != want {
				s.Errorf("%s: version %d %s, want version %d %s", stream, e.Version, e.Data, i+1, want)
			}
		}
	}
}

func testStreamNames(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	names := []string{"a", "ab", "a\x00", "a\x00b", "a\x00\x01", "a\x00\u00ff", "a\x01", "A", " a", "a ", "\x00", "é",
		"e\u0301"}
	for round := range 3 {
		for _, name := range names {
			if done := s.append(log, name, draft(fmt.Sprintf("%q", "x"))); done.Version != uint64(round+1) {
				s.Errorf("stream %q is at version %d, want %d", name, done.Version, round+1)
			}
		}
	}
	for _, name := range names {
		events := s.loadStream(log, name, eventlog.Range{})
		if len(events) != 3 {
			s.Errorf("stream %q has %d events, want 3", name, len(events))
		}
		for _, e := range events {
			if e.Stream != name {
				s.Errorf("stream %q has an event of %q", name, e.Stream)
			}
		}
	}
}

func testStreamList(s *suite) {
	log := s.open(eventlog.Options{Streams: true})
	want := []string{"\x00", "a", "a\x00", "a\x00\x01", "a\x00b", "a\x00\u00ff", "a\x01", "ab", "b", "é"}
	version := map[string]uint64{}
	for i, name := range want { // in another order than by name
		at := (i*7 + 3) % len(want)
		version[want[at]] = s.append(log, want[at], drafts(name, 1+i%3)...).Version
	}
	s.append(log, "", draft("of no stream"))
	for _, prefix := range []string{"", "a", "a\x00", "ab", "é", "c", "\U0010ffff"} {
		for _, after := range []string{"", "a", "a\x00b", "aa", "b", "z", "é"} {
			var expected []eventlog.Stream
			for _, name := range want {
				if strings.HasPrefix(name, prefix) && name > after {
					expected = append(expected, eventlog.Stream{Name: name, Version: version[name]})
				}
			}
			for _, limit := range []int{0, 1, 3} {
				var got []eventlog.Stream
				for at := after; ; at = got[len(got)-1].Name {
					part, err := log.Streams(s.Ctx(), prefix, at, limit)
					s.Must("streams", err)
					if limit > 0 && len(part) > limit {
						s.Errorf("got %d streams, want at most %d", len(part), limit)
					}
					if len(part) == 0 {
						break
					}
					got = append(got, part...)
				}
				if fmt.Sprint(got) != fmt.Sprint(expected) {
					s.Errorf("streams with %q above %q are %v, want %v", prefix, after, got, expected)
				}
			}
		}
	}
}

func testNoStreams(s *suite) {
	log := s.open(eventlog.Options{})
	if done := s.append(log, "s", drafts("s", 2)...); done != (eventlog.Appended{First: 1, Last: 2}) {
		s.Errorf("append returned %+v, want positions 1 to 2 and no version", done)
	}
	for _, e := range s.load(log, eventlog.Range{}) {
		if e.Stream != "s" || e.Version != 0 {
			s.Errorf("got stream %q version %d, want the name and no version", e.Stream, e.Version)
		}
	}
	_, err := log.LoadStream(s.Ctx(), "s", eventlog.Range{})
	s.WantKind("load stream", err, kv.Unsupported)
	_, err = log.Streams(s.Ctx(), "", "", 0)
	s.WantKind("streams", err, kv.Unsupported)
	_, err = log.StreamVersion(s.Ctx(), "s")
	s.WantKind("stream version", err, kv.Unsupported)
	_, err = log.Append(s.Ctx(), s.Class, "s", eventlog.Empty, draft("1"))
	s.WantKind("append expecting an empty stream", err, kv.Unsupported)
	_, err = log.Append(s.Ctx(), s.Class, "s", eventlog.Position(2), draft("1"))
	s.Must("append expecting a position", err)
}
