package logtest

import (
	"fmt"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// What is removed is gone; where the rest is does not change, nor what comes next.
func testTruncate(s *suite) {
	const n = 3000
	dir := s.TempDir()
	log, closeAll := s.openIn(dir, eventlog.Options{Streams: true})
	s.append(log, "old", drafts("old", 10)...)
	all := make([]eventlog.Draft, n)
	for i := range all {
		all[i] = draft(fmt.Sprint(i))
	}
	for i := range n / 100 {
		s.append(log, []string{"a", "b", ""}[i%3], all[i*100:(i+1)*100]...)
	}
	whole := s.load(log, eventlog.Range{})
	sub := s.subscribe(log, "reader")
	s.Must("ack", sub.Ack(s.Ctx(), s.Class, 5))
	s.WantKind("truncate all", log.Truncate(s.Ctx(), s.Class, n+11), kv.Invalid)
	s.Must("truncate nothing", log.Truncate(s.Ctx(), s.Class, 0))
	s.Must("truncate nothing", log.Truncate(s.Ctx(), s.Class, 1))
	version := map[string]uint64{"old": 10, "a": n / 3, "b": n / 3}
	for round, before := range []uint64{4, 8, 8, 7, 1500, n + 10, n + 10} {
		s.Must("truncate", log.Truncate(s.Ctx(), s.Class, before))
		gone := max(before, []uint64{0, 0, 8, 8, 0, 0, 0}[round]) - 1
		if round == 4 && !s.Volatile {
			closeAll()
			log, closeAll = s.openIn(dir, eventlog.Options{Streams: true})
		}
		s.wantEvents(s.load(log, eventlog.Range{}), whole[gone:])
		for stream, v := range version {
			var want []eventlog.Event
			for _, e := range whole[gone:] {
				if e.Stream == stream {
					want = append(want, e)
				}
			}
			s.wantEvents(s.loadStream(log, stream, eventlog.Range{}), want)
			if got, err := log.StreamVersion(s.Ctx(), stream); got != v || err != nil {
				s.Errorf("after truncation below %d stream %s is at version %d, %v, want %d", before, stream, got,
					err, v)
			}
		}
		list, err := log.Streams(s.Ctx(), "", "", 0)
		if want := "[{a 1000} {b 1000} {old 10}]"; err != nil || fmt.Sprint(list) != want {
			s.Errorf("streams %v, %v, want %s", list, err, want)
		}
		back := s.load(log, eventlog.Range{Reverse: true, Limit: 1})
		s.wantPositions(back, n+10, n+10)
	}
	_, err := log.Append(s.Ctx(), s.Class, "old", eventlog.Empty, draft("1"))
	s.WantKind("append to a stream without events as if it were empty", err, kv.Conflict)
	done, err := log.Append(s.Ctx(), s.Class, "old", eventlog.Version(10), draft("1"))
	if want := (eventlog.Appended{First: n + 11, Last: n + 11, Version: 11}); err != nil || done != want {
		s.Errorf("append: %+v, %v, want %+v", done, err, want)
	}
	events, err := s.subscribe(log, "reader").Next(s.Ctx(), 10)
	s.Must("next", err)
	s.wantPositions(events, n+10, n+11)
	s.Must("truncate", log.Truncate(s.Ctx(), s.Class, n+11))
	if got := s.loadStream(log, "old", eventlog.Range{}); len(got) != 1 || got[0].Version != 11 {
		s.Errorf("the stream has %+v, want version 11", got)
	}
}
