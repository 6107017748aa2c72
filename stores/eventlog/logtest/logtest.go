// Package logtest is the conformance suite of event logs: what every implementation of eventlog promises, as tests.
package logtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/crash"
)

// Target is an implementation under test.
type Target struct {
	// Open opens the log kept in the folder dir, creating it. closeAll closes the log and what it is kept in.
	Open func(dir string, o eventlog.Options) (log *eventlog.Log, closeAll func() error, err error)

	// Join runs fn in a transaction of what a log that Open returned is kept in, and commits it with class d if fn returns nil.
	Join func(ctx context.Context, log *eventlog.Log, d kv.Durability, fn func(tx *eventlog.Tx) error) error

	// Delivers tells what an append of each class that may be asked for is delivered as. It is not empty.
	Delivers map[kv.Durability]kv.Durability

	// Lose takes the events above position out of the closed log in dir, as a crash may. Nil if nothing outlives closeAll.
	Lose func(dir string, position uint64) error

	Volatile  bool // nothing outlives closeAll
	Processes bool // several processes may have the log open
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
				t.Skip("this log does not outlive its closing")
			case c.processes && !target.Processes:
				t.Skip("one process at a time may have this log open")
			}
			c.run(&suite{T: t, target: target, class: slices.Max(target.classes())})
		})
	}
}

// A testCase has as its name the sentence that it proves.
type testCase struct {
	name      string
	run       func(s *suite)
	reopens   bool // needs a log that outlives its closing
	processes bool // needs a log that several processes may open
}

var cases = []testCase{
	{name: "an empty log is at position 0 and has no events", run: testEmpty},
	{name: "what was appended comes back unchanged", run: testRoundTrip},
	{name: "a large event comes back", run: testLarge},
	{name: "a time that was not given is now", run: testNow},
	{name: "an append of many is seen as a whole or not at all", run: testAtomic},
	{name: "an append of none checks the expectation and writes nothing", run: testNothing},
	{name: "bytes given and got belong to the caller", run: testOwnership},
	{name: "wrong arguments are refused and nothing is appended", run: testArguments},
	{name: "an append whose context has ended appends nothing", run: testCanceledAppend},
	{name: "a closed log refuses everything", run: testClosed},
	{name: "an append happens only if the log is as expected", run: testExpectations},
	{name: "of concurrent appends that expect one version one wins", run: testRace},
	{name: "of concurrent appends that expect one position one wins", run: testPositionRace},
	{name: "a failed expectation disturbs no other append", run: testBystanders},
	{name: "streams with similar names are kept apart", run: testStreamNames},
	{name: "streams are listed by name, with a prefix and in parts", run: testStreamList},
	{name: "without the index of streams what needs it is refused", run: testNoStreams},
	{name: "a range is what it says", run: testRanges},
	{name: "up to position 0 there is nothing", run: testUpToNothing},
	{name: "a range in reverse is read from its end", run: testReverse},
	{name: "a walk in batches reads everything there was", run: testBatches},
	{name: "a walk can be left early and fails once its context has ended", run: testBatchesEnd},
	{name: "a reader that goes on from where it was misses nothing", run: testFollow},
	{name: "concurrent appends of every class are all there", run: testConcurrent},
	{name: "an append in a transaction is there when that is committed", run: testJoined},
	{name: "a transaction that is rolled back leaves nothing", run: testRolledBack},
	{name: "appends in transactions and others disturb no other", run: testJoinedConcurrently},
	{name: "a transaction gives out only positions that are reserved if a crash can lose it", run: testReserved},
	{name: "an append to several streams is one", run: testParts},
	{name: "an append that is tried again is one append", run: testIDs},
	{name: "an append that many try at once is one append", run: testIDsConcurrently},
	{name: "ids and metadata come back", run: testMeta},
	{name: "truncation leaves positions and versions as they are", run: testTruncate},
	{name: "a subscription returns what it selects", run: testSelect},
	{name: "those who share the work deal with every event once and with each stream in order", run: testShared},
	{name: "the work of a process that was killed goes to another", run: testSharedByProcesses, reopens: true, processes: true},
	{name: "a subscription delivers every event once and in order", run: testSubscription},
	{name: "a subscription waits for an event, its context or the end", run: testSubscriptionWaits},
	{name: "an acknowledgement only moves forward", run: testAck},
	{name: "acknowledgements at the same time disturb no other", run: testConcurrentAcks},
	{name: "a handler is given what the filter selects, in order, until it succeeds", run: testHandler},
	{name: "an event that no attempt deals with is parked and the others go on", run: testPoison},
	{name: "a handler that is interrupted goes on where it was", run: testHandlerInterrupted},
	{name: "subscriptions are listed and deleted", run: testSubscriptions},
	{name: "a subscription goes on where it was acknowledged", run: testSubscriptionReopened, reopens: true},
	{name: "a clean close leaves no gap", run: testReopen, reopens: true},
	{name: "a log keeps the options that it was begun with", run: testOptionsFixed, reopens: true},
	{name: "no position is used twice after the process was killed", run: testKill, reopens: true},
	{name: "no position is used twice after a power loss took the newest events", run: testLostTail, reopens: true},
	{name: "no event is skipped where a crash took acknowledged ones", run: testLostAcknowledged, reopens: true},
	{name: "several processes append to one log", run: testProcesses, reopens: true, processes: true},
	{name: "a subscription sees what another process appends", run: testProcessFollow, reopens: true, processes: true},
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
	return log, closeAll
}

// append appends and must succeed.
func (s *suite) append(log *eventlog.Log, stream string, drafts ...eventlog.Draft) eventlog.Appended {
	s.Helper()
	done, err := log.Append(s.ctx(), s.class, stream, eventlog.Any, drafts...)
	if err != nil {
		s.Fatalf("append: %v", err)
	}
	return done
}

func (s *suite) load(log *eventlog.Log, r eventlog.Range) []eventlog.Event {
	s.Helper()
	events, err := log.Load(s.ctx(), r)
	if err != nil {
		s.Fatalf("load %+v: %v", r, err)
	}
	return events
}

func (s *suite) loadStream(log *eventlog.Log, stream string, r eventlog.Range) []eventlog.Event {
	s.Helper()
	events, err := log.LoadStream(s.ctx(), stream, r)
	if err != nil {
		s.Fatalf("load stream %q %+v: %v", stream, r, err)
	}
	return events
}

func (s *suite) last(log *eventlog.Log) uint64 {
	s.Helper()
	last, err := log.LastPosition(s.ctx())
	if err != nil {
		s.Fatalf("last position: %v", err)
	}
	return last
}

func (s *suite) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

func (s *suite) wantKind(what string, err error, kind kv.Kind) {
	s.Helper()
	if kv.KindOf(err) != kind || err == nil {
		s.Errorf("%s: got error %v, want %v", what, err, kind)
	}
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
