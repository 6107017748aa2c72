package feedtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/internal/crash"
)

func testReopen(s *suite) {
	dir := s.TempDir()
	classes := s.Classes()
	var all [][]byte
	for round := range 2 * len(classes) {
		f, closeAll := s.openIn(dir)
		s.wantAll(f, all)
		messages := batch(len(all), []int{1, 333, 40}[round%3])
		first, err := f.Append(s.Ctx(), classes[round%len(classes)], messages...)
		s.Must("append", err)
		if first != uint64(len(all)) {
			s.Fatalf("round %d: the first has the sequence %d, want %d", round, first, len(all))
		}
		all = append(all, messages...)
		closeAll()
	}
	_, closeAll := s.openIn(dir)
	closeAll() // and one that does nothing
	f, _ := s.openIn(dir)
	s.wantAll(f, all)
}

// report is one append that a child made, or was about to make.
type report struct {
	First uint64
	Count int
}

// killSizes are the sizes of a child's appends, in turn: most go into the tail, some fill blocks.
var killSizes = []int{1, 1, 2, 1, 70, 1, 5, 1, 1, 3}

// The messages of an append carry the round, so that what an earlier child lost cannot be taken for
// what came instead.
func killed(round int, first uint64, n int) [][]byte {
	all := batch(int(first), n)
	for i, m := range all {
		all[i] = append(fmt.Appendf(nil, "round %d, append of %d from %d: ", round, n, first), m...)
	}
	return all
}

func testKill(s *suite) {
	dir := s.TempDir()
	var known [][]byte // as the last check found the feed
	classes := s.Classes()
	kills := 2 * len(classes)
	if testing.Short() {
		kills = len(classes)
	}
	for round := range kills {
		d := classes[round%len(classes)]
		reports := crash.AfterReports[report](s.T, task{Dir: dir, Class: d, Round: round}, 20+rand.IntN(s.some(150)))
		s.Killed()
		expected, acknowledged := known, len(known)
		for _, r := range reports {
			if r.First != uint64(len(expected)) {
				s.Fatalf("round %d, %v: an append begins at %d, want %d", round, d, r.First, len(expected))
			}
			expected = append(expected, killed(round, r.First, r.Count)...)
			acknowledged = len(expected)
		}
		// One more append may have been made and not reported.
		next := killSizes[len(reports)%len(killSizes)]
		expected = append(expected, killed(round, uint64(len(expected)), next)...)

		f, closeAll := s.openIn(dir)
		known = s.survivors(f, expected)
		least := acknowledged
		if s.Delivers[d] > kv.Flushed {
			least = 0 // nothing was promised; what is there must be right
		}
		if len(known) < least {
			s.Fatalf("round %d, %v: %d messages, %d were acknowledged", round, d, len(known), acknowledged)
		}
		messages := killed(-1, uint64(len(known)), 3)
		s.append(f, uint64(len(known)), messages...)
		known = append(known, messages...)
		s.wantAll(f, known)
		closeAll()
	}
	s.Logf("%d messages after %d kills", len(known), kills)
}

// survivors checks that the feed holds a prefix of expected that ends between two appends, and
// returns it.
func (s *suite) survivors(f *feed.Feed, expected [][]byte) [][]byte {
	s.Helper()
	n, err := f.Len(s.Ctx())
	s.Must("len", err)
	if n > uint64(len(expected)) {
		s.Fatalf("%d messages, at most %d were appended", n, len(expected))
	}
	s.wantAll(f, expected[:n])
	if n > 0 && n < uint64(len(expected)) && bytes.Equal(head(expected[n-1]), head(expected[n])) {
		s.Fatalf("the feed ends at %d, within the append %s", n, head(expected[n]))
	}
	return expected[:n:n]
}

// head returns what the messages of one append have in common.
func head(message []byte) []byte {
	common, _, _ := bytes.Cut(message, []byte(": "))
	return common
}

func testProcesses(s *suite) {
	const processes = 3
	appends := s.some(25)
	dir := s.TempDir()
	f, _ := s.openIn(dir)
	var children []*crash.Child[report]
	for p := range processes {
		children = append(children, crash.Start[report](s.T,
			task{Dir: dir, Class: s.Class, Round: p, Appends: appends}))
	}
	known := map[uint64][]byte{}
	for p, c := range children {
		for r := range c.Reports {
			for i, m := range killed(p, r.First, r.Count) {
				if _, twice := known[r.First+uint64(i)]; twice {
					s.Errorf("sequence %d was given twice", r.First+uint64(i))
				}
				known[r.First+uint64(i)] = m
			}
		}
		s.Must("child", c.Wait())
	}
	s.Must("view", f.View(s.Ctx(), func(r *feed.Snapshot) error {
		if r.Len() != uint64(len(known)) {
			return fmt.Errorf("%d messages, want %d", r.Len(), len(known))
		}
		for seq, m := range r.Scan(0, r.Len()) {
			// A child writes what it expects its place to be: the text after that differs where
			// another came in between.
			_, got, _ := bytes.Cut(m, []byte(": "))
			_, want, _ := bytes.Cut(known[seq], []byte(": "))
			if len(got) == 0 || len(want) == 0 {
				return fmt.Errorf("message %d is %.60q", seq, m)
			}
		}
		return nil
	}))
}

// task is what a child does: append and report each append, until it is killed or has made so many.
type task struct {
	Dir     string
	Class   kv.Durability
	Round   int
	Appends int // 0 is no end
}

func (job task) run(target Target) error {
	f, closeAll, err := target.Open(job.Dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	out := json.NewEncoder(os.Stdout)
	for i := 0; job.Appends == 0 || i < job.Appends; i++ {
		n, err := f.Len(ctx)
		if err != nil {
			return err
		}
		count := killSizes[i%len(killSizes)]
		first, err := f.Append(ctx, job.Class, killed(job.Round, n, count)...)
		if err != nil {
			return err
		}
		if err := out.Encode(report{First: first, Count: count}); err != nil {
			return err
		}
	}
	return closeAll()
}
