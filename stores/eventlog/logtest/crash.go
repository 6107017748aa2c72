package logtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/crash"
)

func testReopen(s *suite) {
	dir := s.TempDir()
	last := uint64(0)
	classes := s.Classes()
	for round := range 2 * len(classes) {
		d := classes[round%len(classes)]
		log, closeAll := s.openIn(dir, eventlog.Options{Streams: true})
		if got := s.last(log); got != last {
			s.Fatalf("round %d: the log is at %d, want %d", round, got, last)
		}
		done, err := log.Append(s.Ctx(), d, "s", eventlog.Version(last), drafts("x", 3)...)
		s.Must("append", err)
		if want := (eventlog.Appended{First: last + 1, Last: last + 3, Version: last + 3}); done != want {
			s.Errorf("round %d: append returned %+v, want %+v", round, done, want)
		}
		last += 3
		closeAll()
	}
	_, closeAll := s.openIn(dir, eventlog.Options{Streams: true})
	closeAll() // and one that does nothing
	log, _ := s.openIn(dir, eventlog.Options{Streams: true})
	s.wantPositions(s.load(log, eventlog.Range{}), 1, last)
	s.wantPositions(s.loadStream(log, "s", eventlog.Range{}), 1, last)
	if done := s.append(log, "s", draft("1")); done.First != last+1 {
		s.Errorf("the next event has position %d, want %d", done.First, last+1)
	}
}

func testOptionsFixed(s *suite) {
	for _, streams := range []bool{false, true} {
		dir := s.TempDir()
		log, closeAll := s.openIn(dir, eventlog.Options{Streams: streams})
		s.append(log, "s", draft("1"))
		closeAll()
		_, closer, err := s.target.Open(dir, eventlog.Options{Streams: !streams})
		s.WantKind(fmt.Sprintf("open with Streams %v", !streams), err, kv.Invalid)
		if err == nil {
			s.Must("close", closer())
		}
		log, _ = s.openIn(dir, eventlog.Options{Streams: streams})
		s.wantPositions(s.load(log, eventlog.Range{}), 1, 1)
	}
}

// report is one line that a child writes: it appended an event, or it saw one.
type report struct {
	Position uint64
	Data     string
	Class    kv.Durability
	Saw      bool
	Version  uint64
}

func testKill(s *suite) {
	dir := s.TempDir()
	known := map[uint64]report{} // by position, whatever became of it
	highest, gaps := uint64(0), 0
	classes := s.Classes()
	for round := range 2 * len(classes) {
		d := classes[round%len(classes)]
		task := task{Kind: "append", Dir: dir, Class: d, Tag: fmt.Sprintf("round %d", round)}
		reports := crash.AfterReports[report](s.T, task, 50+rand.IntN(500))
		s.Killed()
		for _, r := range reports {
			if before, ok := known[r.Position]; ok && before.Data != r.Data {
				s.Fatalf("round %d, %v: position %d is used for %s and was for %s", round, d, r.Position, r.Data,
					before.Data)
			}
			if before, ok := known[r.Position]; !ok || before.Saw {
				known[r.Position] = r
			}
			highest = max(highest, r.Position)
		}
		log, closeAll := s.openIn(dir, eventlog.Options{Streams: true})
		s.verify(log, known)
		done := s.append(log, "s", draft(fmt.Sprintf(`"parent %d"`, round)))
		if done.First <= highest {
			s.Fatalf("round %d, %v: position %d is given out again, the highest known was %d", round, d, done.First,
				highest)
		}
		if done.First > highest+1 {
			gaps++
		}
		known[done.First] = report{Position: done.First, Data: fmt.Sprintf(`"parent %d"`, round), Class: kv.Synced}
		highest = done.First
		closeAll()
	}
	s.Logf("%d positions known after %d kills, %d gaps", len(known), 2*len(classes), gaps)
}

// verify checks that the log holds what survives, and nothing else at a position that is known.
func (s *suite) verify(log *eventlog.Log, known map[uint64]report) {
	s.Helper()
	held := map[uint64]eventlog.Event{}
	version := uint64(0)
	for e, err := range log.All(s.Ctx(), eventlog.Range{}) {
		s.Must("walk", err)
		held[e.Position] = e
		if version++; e.Version != version {
			s.Fatalf("event %d has version %d, want %d", e.Position, e.Version, version)
		}
	}
	if n := len(s.loadStream(log, "s", eventlog.Range{})); n != len(held) {
		s.Fatalf("the stream has %d events, the log %d", n, len(held))
	}
	for position, r := range known {
		e, ok := held[position]
		switch {
		case ok && string(e.Data) != r.Data:
			s.Fatalf("position %d holds %s and was %s", position, e.Data, r.Data)
		case !ok && s.Delivers[r.Class] <= kv.Flushed && !r.Saw:
			s.Fatalf("position %d, %s, was acknowledged as %v and is lost", position, r.Data, r.Class)
		}
	}
}

// A power loss is stood in for by a copy of the files, taken before the newest events: to the log
// it looks the same.
func testLostTail(s *suite) {
	if _, ok := s.Delivers[kv.Synced]; !ok {
		s.Skip("this log delivers no Synced, with which positions could be reserved")
	}
	for _, d := range s.Classes() {
		if s.Delivers[d] == kv.Synced {
			continue
		}
		dir, older := s.TempDir(), s.TempDir()
		log, closeAll := s.openIn(dir, eventlog.Options{Streams: true})
		for range 5 { // the first reserves positions, durably
			_, err := log.Append(s.Ctx(), d, "s", eventlog.Any, draft("1"))
			s.Must("append", err)
		}
		s.Must("copy", copyFiles(older, dir))
		if copied, err := os.ReadDir(older); err == nil && len(copied) == 0 {
			s.Skip("the log is in no files: a server's own power cut is tried elsewhere")
		}
		highest := uint64(0)
		for range 5 {
			done, err := log.Append(s.Ctx(), d, "s", eventlog.Any, drafts("later", 100)...)
			s.Must("append", err)
			highest = done.Last
		}
		closeAll()
		log, _ = s.openIn(older, eventlog.Options{Streams: true})
		if last := s.last(log); last > 5 {
			s.Fatalf("%v: the copy is at %d and does not show the case", d, last)
		}
		if done := s.append(log, "s", draft("2")); done.First <= highest {
			s.Errorf("%v: position %d is given out again, the highest was %d", d, done.First, highest)
		}
	}
}

// An acknowledgement may outlive the events that it is of. Where no positions are reserved, events
// that follow must not get positions that the subscription is past already.
func testLostAcknowledged(s *suite) {
	for _, o := range []eventlog.Options{{Streams: true, Reserve: eventlog.NoReserve}, {Streams: true}} {
		dir := s.TempDir()
		log, closeAll := s.openIn(dir, o)
		s.append(log, "s", drafts("before", 10)...)
		s.Must("ack", s.subscribe(log, "reader").Ack(s.Ctx(), s.Class, 10))
		closeAll()
		s.Must("lose", s.target.Lose(dir, 5))
		for round := range 2 { // the second follows a clean close
			log, closeAll = s.openIn(dir, o)
			s.wantPositions(s.load(log, eventlog.Range{}.To(10)), 1, 5)
			done := s.append(log, "s", drafts("after", 3)...)
			sub := s.subscribe(log, "reader")
			if sub.Position() >= done.First {
				s.Fatalf("%+v: the subscription is at %d already and will not see event %d", o, sub.Position(),
					done.First)
			}
			events, err := sub.Next(s.Ctx(), 10)
			s.Must("next", err)
			first := 11 + 3*uint64(round)
			s.wantPositions(events, first, first+2)
			s.Must("ack", sub.Ack(s.Ctx(), s.Class, first+2))
			closeAll()
		}
	}
}

func testProcesses(s *suite) {
	const processes, appends = 3, 40
	dir := s.TempDir()
	log, _ := s.openIn(dir, eventlog.Options{Streams: true})
	var children []*crash.Child[report]
	for p := range processes {
		children = append(children, crash.Start[report](s.T,
			task{Kind: "append", Dir: dir, Class: s.Class, Tag: fmt.Sprint(p), Count: appends, Mine: true}))
	}
	known := map[uint64]report{}
	for _, c := range children {
		for r := range c.Reports {
			if before, ok := known[r.Position]; ok && before.Data != r.Data {
				s.Errorf("position %d is both %s and %s", r.Position, r.Data, before.Data)
			}
			known[r.Position] = r
		}
		s.Must("child", c.Wait())
	}
	for range 10 {
		s.append(log, "s", draft("1"))
	}
	events := s.load(log, eventlog.Range{})
	if len(events) != processes*appends+10 {
		s.Errorf("got %d events, want %d", len(events), processes*appends+10)
	}
	for _, e := range events {
		if r, ok := known[e.Position]; ok && r.Data != string(e.Data) {
			s.Errorf("position %d holds %s, appended was %s", e.Position, e.Data, r.Data)
		}
	}
	for i, e := range s.loadStream(log, "s", eventlog.Range{}) {
		if e.Version != uint64(i+1) {
			s.Fatalf("version %d follows version %d", e.Version, i)
		}
	}
}

func testProcessFollow(s *suite) {
	const appends = 50
	dir := s.TempDir()
	log, _ := s.openIn(dir, eventlog.Options{Streams: true})
	sub := s.subscribe(log, "reader")
	c := crash.Start[report](s.T, task{Kind: "append", Dir: dir, Class: s.Class, Tag: "child", Count: appends,
		Mine: true})
	at := uint64(0)
	for n := 0; n < appends; {
		events, err := sub.Next(s.Ctx(), 10)
		s.Must("next", err)
		for _, e := range events {
			if n++; e.Position <= at || e.Version != uint64(n) {
				s.Errorf("event %d, version %d, follows %d, version %d", e.Position, e.Version, at, n-1)
			}
			at = e.Position
		}
	}
	for range c.Reports {
	}
	s.Must("child", c.Wait())
}

// task is what a child does: append events to the stream "s" and report each, until it is killed or
// Count is reached.
type task struct {
	Kind  string
	Dir   string
	Class kv.Durability
	Tag   string
	Count int  // 0 is no end
	Mine  bool // report only what the child appended
}

func (job task) run(target Target) error {
	log, closeAll, err := target.Open(job.Dir, eventlog.Options{Streams: true})
	if err != nil {
		return err
	}
	ctx := context.Background()
	lines := make(chan report, 16)
	written := make(chan error, 1)
	go func() { written <- write(lines) }()
	if job.Kind == "share" {
		return job.share(log, lines)
	}
	if !job.Mine {
		go job.watch(ctx, log, lines)
	}
	for i := 0; job.Count == 0 || i < job.Count; i++ {
		data := fmt.Sprintf(`"%s, event %d"`, job.Tag, i)
		done, err := log.Append(ctx, job.Class, "s", eventlog.Any, draft(data))
		if err != nil {
			return err
		}
		lines <- report{Position: done.First, Data: data, Class: job.Class, Version: done.Version}
	}
	close(lines)
	if err := <-written; err != nil {
		return err
	}
	return closeAll()
}

// watch reports every event that a reader sees, for a position that was seen must not be used again
// either.
func (job task) watch(ctx context.Context, log *eventlog.Log, lines chan<- report) {
	at, err := log.LastPosition(ctx)
	for err == nil {
		if log.Wait(ctx, at) != nil {
			return
		}
		var events []eventlog.Event
		events, err = log.Load(ctx, eventlog.Range{From: at + 1, Limit: 10})
		for _, e := range events {
			at = e.Position
			lines <- report{Position: at, Data: string(e.Data), Saw: true}
		}
	}
}

func write(lines <-chan report) error {
	out := json.NewEncoder(os.Stdout)
	for r := range lines {
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// copyFiles copies the files below from into the folder to. SQLite makes the shared memory of a log
// anew.
func copyFiles(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "-shm") {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o666)
	})
}
