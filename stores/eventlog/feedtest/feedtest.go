// Package feedtest is the conformance suite of feeds: what every implementation of package feed
// promises, as tests.
package feedtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/internal/frame"
)

// Target is an implementation under test.
type Target struct {
	// Open opens the feed kept in the folder dir, creating it. closeAll closes the feed and what it
	// is kept in.
	Open func(dir string) (f *feed.Feed, closeAll func() error, err error)

	// Delivers tells what an append of each class that may be asked for is delivered as. It is not
	// empty.
	Delivers map[kv.Durability]kv.Durability

	Volatile  bool // nothing outlives closeAll
	Processes bool // several processes may have the feed open
	Brief     bool // under -short only what outlives closeAll is tried
	NoTrim    bool // Trim is refused
	Largest   int  // bytes of a message, a multiple of 8; 0 is 3 MiB or more

	// Settle waits until nothing is under way any more that killed processes had begun. Nil where
	// that ends with them.
	Settle func(ctx context.Context) error
}

// Run runs the suite. The test that calls it must do so before anything else: Run starts the test
// binary again, with the same test selected, for processes to kill.
func Run(t *testing.T, target Target) {
	crash.Work(t, func(job task) error { return job.run(target) })
	kept := frame.Target{Delivers: target.Delivers, Volatile: target.Volatile, Processes: target.Processes,
		Brief: target.Brief, Settle: target.Settle}
	frame.Run(t, kept, cases, func(s frame.Suite) *suite { return &suite{s, target} })
}

var cases = []frame.Case[*suite]{
	{Name: "an empty feed has no messages", Run: testEmpty},
	{Name: "what was appended comes back by number and in order", Run: testRoundTrip},
	{Name: "appends of every size lie one behind the other", Run: testSizes},
	{Name: "a large message comes back", Run: testLarge},
	{Name: "bytes given and got belong to the caller", Run: testOwnership},
	{Name: "an append of none writes nothing", Run: testNothing},
	{Name: "wrong arguments are refused and nothing is appended", Run: testArguments},
	{Name: "an append whose context has ended appends nothing", Run: testCanceled},
	{Name: "a closed feed refuses everything", Run: testClosed},
	{Name: "a snapshot does not outlive its function", Run: testSnapshotEnds},
	{Name: "a scan is what it says and can be left early", Run: testScans},
	{Name: "concurrent appends are each in one piece", Run: testConcurrent},
	{Name: "a reader sees whole appends and nothing go away", Run: testAtomic},
	{Name: "a follower gets every message once, in order, as it is appended", Run: testFollow},
	{Name: "what is trimmed is gone, and what is not keeps its number", Run: testTrim},
	{Name: "a feed that is trimmed is the same after it was opened again", Run: testTrimReopen, Reopens: true},
	{Name: "readers and appends go on while a feed is trimmed", Run: testTrimConcurrent},
	{Name: "a feed goes on where it was closed", Run: testReopen, Reopens: true},
	{Name: "what was acknowledged survives a kill, each append whole or not at all", Run: testKill, Reopens: true},
	{Name: "a follower gets what another process appends", Run: testFollowProcess, Reopens: true, Processes: true},
	{Name: "several processes append to one feed", Run: testProcesses, Reopens: true, Processes: true},
}

// suite is one running case.
type suite struct {
	frame.Suite
	target Target
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
	return f, s.Closing(closer)
}

// append appends messages, which must get the sequences from want on.
func (s *suite) append(f *feed.Feed, want uint64, messages ...[]byte) {
	s.Helper()
	first, err := f.Append(s.Ctx(), s.Class, messages...)
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
	s.Must("view", f.View(s.Ctx(), func(r *feed.Snapshot) error {
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
			if m, err := r.Append([]byte("x"), uint64(seq)); err != nil || m[0] != 'x' ||
				!bytes.Equal(m[1:], want[seq]) {
				return fmt.Errorf("message %d: got %.50q, %v, want %.50q", seq, m, err, want[seq])
			}
		}
		return nil
	}))
}

// message returns a message that tells its number, with n bytes of which most are alike in all
// messages.
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
