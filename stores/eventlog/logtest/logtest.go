// Package logtest is the conformance suite of event logs: what every implementation of eventlog
// promises, as tests.
package logtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/internal/frame"
)

// Target is an implementation under test.
type Target struct {
	// Open opens the log kept in the folder dir, creating it. closeAll closes the log and what it
	// is kept in.
	Open func(dir string, o eventlog.Options) (log *eventlog.Log, closeAll func() error, err error)

	// Join runs fn in a transaction of what a log that Open returned is kept in, and commits it
	// with class d if fn returns nil.
	Join func(ctx context.Context, log *eventlog.Log, d kv.Durability, fn func(tx *eventlog.Tx) error) error

	// Delivers tells what an append of each class that may be asked for is delivered as. It is not
	// empty.
	Delivers map[kv.Durability]kv.Durability

	// Lose takes the events above position out of the closed log in dir, as a crash may. Nil if
	// nothing outlives closeAll.
	Lose func(dir string, position uint64) error

	Volatile  bool // nothing outlives closeAll
	Processes bool // several processes may have the log open
	Brief     bool // under -short only what outlives closeAll is tried

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
	{Name: "an empty log is at position 0 and has no events", Run: testEmpty},
	{Name: "what was appended comes back unchanged", Run: testRoundTrip},
	{Name: "a large event comes back", Run: testLarge},
	{Name: "a time that was not given is now", Run: testNow},
	{Name: "an append of many is seen as a whole or not at all", Run: testAtomic},
	{Name: "an append of none checks the expectation and writes nothing", Run: testNothing},
	{Name: "bytes given and got belong to the caller", Run: testOwnership},
	{Name: "wrong arguments are refused and nothing is appended", Run: testArguments},
	{Name: "an append whose context has ended appends nothing", Run: testCanceledAppend},
	{Name: "a closed log refuses everything", Run: testClosed},
	{Name: "an append happens only if the log is as expected", Run: testExpectations},
	{Name: "of concurrent appends that expect one version one wins", Run: testRace},
	{Name: "of concurrent appends that expect one position one wins", Run: testPositionRace},
	{Name: "a failed expectation disturbs no other append", Run: testBystanders},
	{Name: "streams with similar names are kept apart", Run: testStreamNames},
	{Name: "streams are listed by name, with a prefix and in parts", Run: testStreamList},
	{Name: "without the index of streams what needs it is refused", Run: testNoStreams},
	{Name: "a range is what it says", Run: testRanges},
	{Name: "up to position 0 there is nothing", Run: testUpToNothing},
	{Name: "a range in reverse is read from its end", Run: testReverse},
	{Name: "a walk in batches reads everything there was", Run: testBatches},
	{Name: "a walk can be left early and fails once its context has ended", Run: testBatchesEnd},
	{Name: "a reader that goes on from where it was misses nothing", Run: testFollow},
	{Name: "concurrent appends of every class are all there", Run: testConcurrent},
	{Name: "an append in a transaction is there when that is committed", Run: testJoined},
	{Name: "a transaction that is rolled back leaves nothing", Run: testRolledBack},
	{Name: "appends in transactions and others disturb no other", Run: testJoinedConcurrently},
	{Name: "what another one has acknowledged is not acknowledged in a transaction", Run: testAcknowledgedByAnother},
	{Name: "a transaction gives out only positions that are reserved if a crash can lose it", Run: testReserved},
	{Name: "an append to several streams is one", Run: testParts},
	{Name: "an append that is tried again is one append", Run: testIDs},
	{Name: "an append that many try at once is one append", Run: testIDsConcurrently},
	{Name: "ids and metadata come back", Run: testMeta},
	{Name: "truncation leaves positions and versions as they are", Run: testTruncate},
	{Name: "a subscription returns what it selects", Run: testSelect},
	{Name: "those who share the work deal with every event once and with each stream in order", Run: testShared},
	{Name: "the work of a process that was killed goes to another", Run: testSharedByProcesses, Reopens: true,
		Processes: true},
	{Name: "a subscription delivers every event once and in order", Run: testSubscription},
	{Name: "a subscription waits for an event, its context or the end", Run: testSubscriptionWaits},
	{Name: "an acknowledgement only moves forward", Run: testAck},
	{Name: "acknowledgements at the same time disturb no other", Run: testConcurrentAcks},
	{Name: "a handler is given what the filter selects, in order, until it succeeds", Run: testHandler},
	{Name: "an event that no attempt deals with is parked and the others go on", Run: testPoison},
	{Name: "a handler that is interrupted goes on where it was", Run: testHandlerInterrupted},
	{Name: "subscriptions are listed and deleted", Run: testSubscriptions},
	{Name: "a subscription goes on where it was acknowledged", Run: testSubscriptionReopened, Reopens: true},
	{Name: "a clean close leaves no gap", Run: testReopen, Reopens: true},
	{Name: "a log keeps the options that it was begun with", Run: testOptionsFixed, Reopens: true},
	{Name: "no position is used twice after the process was killed", Run: testKill, Reopens: true},
	{Name: "no position is used twice after a power loss took the newest events", Run: testLostTail, Reopens: true},
	{Name: "no event is skipped where a crash took acknowledged ones", Run: testLostAcknowledged, Reopens: true},
	{Name: "several processes append to one log", Run: testProcesses, Reopens: true, Processes: true},
	{Name: "a subscription sees what another process appends", Run: testProcessFollow, Reopens: true, Processes: true},
}

// suite is one running case.
type suite struct {
	frame.Suite
	target Target
}

// patience is how long anything may take.
const patience = frame.Patience

// open opens a log in a new folder.
func (s *suite) open(o eventlog.Options) *eventlog.Log {
	s.Helper()
	log, _ := s.openIn(s.TempDir(), o)
	return log
}

// openIn opens the log in dir. It is closed when the case ends, or by closeAll.
func (s *suite) openIn(dir string, o eventlog.Options) (log *eventlog.Log, closeAll func()) {
	s.Helper()
	log, closer, err := s.target.Open(dir, o)
	if err != nil {
		s.Fatalf("open: %v", err)
	}
	return log, s.Closing(closer)
}

// append appends and must succeed.
func (s *suite) append(log *eventlog.Log, stream string, drafts ...eventlog.Draft) eventlog.Appended {
	s.Helper()
	done, err := log.Append(s.Ctx(), s.Class, stream, eventlog.Any, drafts...)
	if err != nil {
		s.Fatalf("append: %v", err)
	}
	return done
}

func (s *suite) load(log *eventlog.Log, r eventlog.Range) []eventlog.Event {
	s.Helper()
	events, err := log.Load(s.Ctx(), r)
	if err != nil {
		s.Fatalf("load %+v: %v", r, err)
	}
	return events
}

func (s *suite) loadStream(log *eventlog.Log, stream string, r eventlog.Range) []eventlog.Event {
	s.Helper()
	events, err := log.LoadStream(s.Ctx(), stream, r)
	if err != nil {
		s.Fatalf("load stream %q %+v: %v", stream, r, err)
	}
	return events
}

func (s *suite) last(log *eventlog.Log) uint64 {
	s.Helper()
	last, err := log.LastPosition(s.Ctx())
	if err != nil {
		s.Fatalf("last position: %v", err)
	}
	return last
}

// wantPositions checks that events are exactly those from first to last.
func (s *suite) wantPositions(events []eventlog.Event, first, last uint64) {
	s.Helper()
	if want := int(last + 1 - first); len(events) != want {
		s.Fatalf("got %d events, want the %d from %d to %d", len(events), want, first, last)
	}
	for i, e := range events {
		if e.Position != first+uint64(i) {
			s.Fatalf("event %d has position %d, want %d", i, e.Position, first+uint64(i))
		}
	}
}

// drafts returns n events with data that tells them apart.
func drafts(tag string, n int) []eventlog.Draft {
	all := make([]eventlog.Draft, n)
	for i := range all {
		all[i] = draft(fmt.Sprintf(`{"tag":%q,"index":%d}`, tag, i))
	}
	return all
}

func draft(data string) eventlog.Draft {
	return eventlog.Draft{Type: "TestEvent", Data: []byte(data)}
}
