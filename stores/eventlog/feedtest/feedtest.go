// Package feedtest is the conformance suite of feeds: what every implementation of package feed promises, as tests.
package feedtest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/internal/crash"
)

// Target is an implementation under test.
type Target struct {
	// Open opens the feed kept in the folder dir, creating it. closeAll closes the feed and what it is kept in.
	Open func(dir string) (f *feed.Feed, closeAll func() error, err error)

	// Delivers tells what an append of each class that may be asked for is delivered as. It is not empty.
	Delivers map[kv.Durability]kv.Durability

	Volatile  bool // nothing outlives closeAll
	Processes bool // several processes may have the feed open
	NoTrim    bool // Trim is refused
}

// classes returns the classes that may be asked for, the strongest first.
func (target Target) classes() []kv.Durability { return slices.Sorted(maps.Keys(target.Delivers)) }

// Run runs the suite. The test that calls it must do so before anything else: Run starts the test binary again, with the
// same test selected, for processes to kill.
func Run(t *testing.T, target Target) {
	crash.Work(t, func(job task) error { return job.run(target) })
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			switch {
			case c.reopens && target.Volatile:
				t.Skip("this feed does not outlive its closing")
			case c.processes && !target.Processes:
				t.Skip("one process at a time may have this feed open")
			}
			c.run(&suite{T: t, target: target, class: slices.Max(target.classes())})
		})
	}
}

// A testCase has as its name the sentence that it proves.
type testCase struct {
	name      string
	run       func(s *suite)
	reopens   bool // needs a feed that outlives its closing
	processes bool // needs a feed that several processes may open
}

var cases = []testCase{
	{name: "an empty feed has no messages", run: testEmpty},
	{name: "what was appended comes back by number and in order", run: testRoundTrip},
	{name: "appends of every size lie one behind the other", run: testSizes},
	{name: "a large message comes back", run: testLarge},
	{name: "bytes given and got belong to the caller", run: testOwnership},
	{name: "an append of none writes nothing", run: testNothing},
	{name: "wrong arguments are refused and nothing is appended", run: testArguments},
	{name: "an append whose context has ended appends nothing", run: testCanceled},
	{name: "a closed feed refuses everything", run: testClosed},
	{name: "a snapshot does not outlive its function", run: testSnapshotEnds},
	{name: "a scan is what it says and can be left early", run: testScans},
	{name: "concurrent appends are each in one piece", run: testConcurrent},
	{name: "a reader sees whole appends and nothing go away", run: testAtomic},
	{name: "a follower gets every message once, in order, as it is appended", run: testFollow},
	{name: "what is trimmed is gone, and what is not keeps its number", run: testTrim},
	{name: "a feed that is trimmed is the same after it was opened again", run: testTrimReopen, reopens: true},
	{name: "readers and appends go on while a feed is trimmed", run: testTrimConcurrent},
	{name: "a feed goes on where it was closed", run: testReopen, reopens: true},
	{name: "what was acknowledged survives a kill, each append whole or not at all", run: testKill, reopens: true},
	{name: "a follower gets what another process appends", run: testFollowProcess, reopens: true, processes: true},
	{name: "several processes append to one feed", run: testProcesses, reopens: true, processes: true},
}

// suite is one running case.
type suite struct {
	*testing.T
	target Target
	class  kv.Durability // the cheapest
}

// patience is how long anything may take.
const patience = time.Minute

func (s *suite) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.Cleanup(cancel)
	return ctx
}

// open opens a feed in a new folder.
func (s *suite) open() *feed.Feed {
	s.Helper()
	f, _ := s.openIn(s.TempDir())
	return f
}

// openIn opens the feed in dir. It is closed when the case ends, or by closeAll.
func (s *suite) openIn(dir string) (f *feed.Feed, closeAll func()) {
	s.Helper()
	f, closer, err := s.target.Open(dir)
	if err != nil {
		s.Fatalf("open: %v", err)
	}
	closed := false
	closeAll = func() {
		if closed {
			return
		}
		closed = true
		if err := closer(); err != nil {
			s.Errorf("close: %v", err)
		}
	}
	s.Cleanup(closeAll)
	return f, closeAll
}

// append appends messages, which must get the sequences from want on.
func (s *suite) append(f *feed.Feed, want uint64, messages ...[]byte) {
	s.Helper()
	first, err := f.Append(s.ctx(), s.class, messages...)
	if err != nil {
		s.Fatalf("append: %v", err)
	}
	if first != want {
		s.Fatalf("append: the first has the sequence %d, want %d", first, want)
	}
}

// some returns how often to do something: n times, or a fifth of that under -short.
func (s *suite) some(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// wantAll checks that the feed holds want, read in every way.
func (s *suite) wantAll(f *feed.Feed, want [][]byte) {
	s.Helper()
	s.must("view", f.View(s.ctx(), func(r *feed.Snapshot) error {
		if got := r.Len(); got != uint64(len(want)) {
			return fmt.Errorf("%d messages, want %d", got, len(want))
		}
		next := uint64(0)
		for seq, m := range r.Scan(0, r.Len()) {
			if seq != next || !bytes.Equal(m, want[seq]) || m == nil {
				return fmt.Errorf("scanned: message %d is %.50q, want %d, %.50q", seq, m, next, want[next])
			}
			next++
		}
		if err := r.Err(); err != nil || next != r.Len() {
			return fmt.Errorf("the scan ended at %d of %d: %v", next, r.Len(), err)
		}
		for range min(len(want), 200) {
			seq := rand.IntN(len(want))
			if m, err := r.Append([]byte("x"), uint64(seq)); err != nil || m[0] != 'x' || !bytes.Equal(m[1:], want[seq]) {
				return fmt.Errorf("message %d: got %.50q, %v, want %.50q", seq, m, err, want[seq])
			}
		}
		return nil
	}))
}

func (s *suite) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

func (s *suite) wantKind(what string, err error, kind kv.Kind) {
	s.Helper()
	if err == nil || kv.KindOf(err) != kind {
		s.Errorf("%s: got error %v, want %v", what, err, kind)
	}
}

// message returns a message that tells its number, with n bytes of which most are alike in all messages.
func message(seq, n int) []byte {
	m := fmt.Appendf(nil, `{"sequence":%d,"text":"`, seq)
	for len(m) < n {
		m = append(m, "a message of a feed, much like the one before it; "...)
	}
	return append(m[:max(n, len(m)-n)], `"}`...)
}

// batch returns n messages with numbers from first on.
func batch(first, n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = message(first+i, 60+(first+i)%300)
	}
	return all
}
