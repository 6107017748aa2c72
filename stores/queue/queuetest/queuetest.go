// Package queuetest is the conformance suite of job queues: what every implementation of queue
// promises, as tests. Its [Ledger] judges what any program did with a queue, across crashes.
package queuetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/queue"
)

// Target is an implementation under test.
type Target struct {
	// Open opens the queues kept in the folder dir, creating them. closeAll closes the store and
	// what it is kept in.
	Open func(dir string, o queue.Options) (store *queue.Store, closeAll func() error, err error)

	// Delivers tells what a commit of each class that may be asked for is delivered as. It is not
	// empty.
	Delivers map[kv.Durability]kv.Durability

	Volatile  bool // nothing outlives closeAll
	Processes bool // several processes may have the queues open
}

// classes returns the classes that may be asked for, the strongest first.
func (target Target) classes() []kv.Durability { return slices.Sorted(maps.Keys(target.Delivers)) }

// Run runs the suite. The test that calls it must do so before anything else: Run starts the test
// binary again, with the same test selected, for processes to kill.
func Run(t *testing.T, target Target) {
	crash.Work(t, func(job task) error { return job.run(target) })
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			switch {
			case c.reopens && target.Volatile:
				t.Skip("these queues do not outlive their closing")
			case c.processes && !target.Processes:
				t.Skip("one process at a time may have these queues open")
			}
			c.run(&suite{T: t, target: target, class: slices.Max(target.classes())})
		})
	}
}

// A testCase has as its name the sentence that it proves.
type testCase struct {
	name      string
	run       func(s *suite)
	reopens   bool // needs queues that outlive their closing
	processes bool // needs queues that several processes may open
}

var cases = []testCase{
	{name: "an empty queue has nothing", run: testEmpty},
	{name: "what was published comes back unchanged", run: testRoundTrip},
	{name: "a large payload comes back", run: testLarge},
	{name: "payloads of every length come back, whatever becomes of their jobs", run: testLengths},
	{name: "claims are as good when there are many", run: testManyClaims},
	{name: "jobs that are given out in any order come in order", run: testMixedOrder},
	{name: "jobs are claimed by priority, then time, then id", run: testOrder},
	{name: "a claimed job is given out no more and an acknowledged one is gone", run: testAck},
	{name: "a delayed job is given out when its delay has ended", run: testDelay},
	{name: "a job whose lease has ended is given out again and its receipt is stale", run: testLease},
	{name: "a lease that has ended can be acknowledged until the job is given out", run: testLateAck},
	{name: "an extended lease lasts and its receipt stays good", run: testExtend},
	{name: "a job given back is behind the others, or delayed", run: testNack},
	{name: "a job tried too often is dead, listed and can be requeued", run: testDead},
	{name: "a call with a stale receipt does nothing", run: testStale},
	{name: "a swap acknowledges and claims, or does nothing", run: testSwap},
	{name: "workers do every job, and those that fail again", run: testWork},
	{name: "a job that takes longer than its lease is done once", run: testLongJob},
	{name: "a worker is told when its job is no longer its own", run: testLostJob},
	{name: "a panic is a failure like others", run: testPanic},
	{name: "a program that ends costs its jobs no attempt", run: testRestarts},
	{name: "a job that is released is ready as if it had not been claimed", run: testRelease},
	{name: "why attempts failed is kept with the job", run: testFailures},
	{name: "a function says what becomes of its job", run: testVerdicts},
	{name: "a job is found and deleted in every state", run: testDeleted},
	{name: "jobs are deleted among others", run: testDeletedAmongMany},
	{name: "of a key there is one job", run: testUnique},
	{name: "of those who publish a key at once one does", run: testUniqueTogether},
	{name: "kinds have their own functions and numbers, and unknown ones are kept", run: testKinds},
	{name: "a shutdown waits, then gives back", run: testShutdown},
	{name: "of each tick of a schedule there is one job", run: testSchedules},
	{name: "what becomes of missed ticks is the schedule's to say", run: testMissed},
	{name: "counts and lists agree in every state", run: testCounts},
	{name: "a purge deletes the jobs of a state or all", run: testPurge},
	{name: "a job that is too old is not given out", run: testRetention},
	{name: "many delays that end at once end in order", run: testManyDue},
	{name: "whatever is done, a queue does as a list would", run: testModel},
	{name: "queues with similar names are kept apart", run: testNames},
	{name: "bytes given and got belong to the caller", run: testOwnership},
	{name: "wrong arguments are refused", run: testArguments},
	{name: "a closed store refuses everything", run: testClosed},
	{name: "a call whose context has ended does nothing", run: testCanceled},
	{name: "no claim is lost to a cancellation", run: testCanceledClaims},
	{name: "what is published together is seen as a whole or not at all", run: testAtomic},
	{name: "a worker that waits is woken by whatever makes a job ready", run: testNext},
	{name: "a worker that waits ends with its context or the store", run: testNextEnds},
	{name: "as many workers are woken as there are jobs", run: testNextMany},
	{name: "of concurrent producers and consumers no job is lost or done twice", run: testConcurrent},
	{name: "everything is there after closing and opening", run: testReopen, reopens: true},
	{name: "payloads and claims outlive their closing", run: testReopenClaims, reopens: true},
	{name: "nothing acknowledged is lost or comes back after the process was killed", run: testKill, reopens: true},
	{name: "several processes work on one queue", run: testProcesses, reopens: true, processes: true},
	{name: "a worker that waits sees what another process publishes", run: testProcessNext, reopens: true, processes: true},
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

// open opens a store in a new folder.
func (s *suite) open(o queue.Options) *queue.Store {
	s.Helper()
	store, _ := s.openIn(s.TempDir(), o)
	return store
}

// openIn opens the store in dir. It is closed when the case ends, or by closeAll.
func (s *suite) openIn(dir string, o queue.Options) (store *queue.Store, closeAll func()) {
	s.Helper()
	store, closer, err := s.target.Open(dir, o)
	if err != nil {
		s.Fatalf("open: %v", err)
	}
	closeAll = sync.OnceFunc(func() {
		if err := closer(); err != nil {
			s.Errorf("close: %v", err)
		}
	})
	s.Cleanup(closeAll)
	return store, closeAll
}

// bench is a queue, and a clock that stands still until it is moved.
type bench struct {
	*suite
	*queue.Queue
	*clock
	store *queue.Store
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// start is when a bench's clock stands at first.
var start = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// bench opens a queue in a new folder.
func (s *suite) bench(settings queue.Settings) *bench {
	s.Helper()
	b := &bench{suite: s, clock: &clock{now: start}}
	b.store = s.open(queue.Options{Clock: b.time})
	b.Queue = s.queue(b.store, "work", settings)
	return b
}

func (s *suite) queue(store *queue.Store, name string, settings queue.Settings) *queue.Queue {
	s.Helper()
	q, err := store.Queue(name, &settings)
	s.must("queue", err)
	return q
}

// publish publishes and must succeed; the payloads are texts.
func (b *bench) publish(texts ...string) []uint64 {
	b.Helper()
	var drafts []queue.Draft
	for _, text := range texts {
		drafts = append(drafts, queue.Draft{Payload: []byte(text)})
	}
	return b.publishDrafts(drafts...)
}

func (b *bench) publishDrafts(drafts ...queue.Draft) []uint64 {
	b.Helper()
	ids, err := b.Publish(b.ctx(), b.class, drafts...)
	b.must("publish", err)
	if len(ids) != len(drafts) {
		b.Fatalf("published %d jobs, got %d ids", len(drafts), len(ids))
	}
	return ids
}

// claim claims up to limit jobs, which must have the payloads want.
func (b *bench) claim(limit int, want ...string) []queue.Job {
	b.Helper()
	jobs, err := b.Claim(b.ctx(), b.class, limit)
	b.must("claim", err)
	b.wantJobs("claim", jobs, want...)
	return jobs
}

// list lists the jobs in a state, which must have the payloads want.
func (b *bench) list(state queue.State, want ...string) []queue.Job {
	b.Helper()
	jobs, err := b.List(b.ctx(), state, 1000)
	b.must("list", err)
	b.wantJobs("list "+state.String(), jobs, want...)
	return jobs
}

func (b *bench) wantJobs(what string, jobs []queue.Job, want ...string) {
	b.Helper()
	if got := texts(jobs); !slices.Equal(got, want) {
		b.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

func texts(jobs []queue.Job) (all []string) {
	for _, job := range jobs {
		all = append(all, string(job.Payload))
	}
	return all
}

func (b *bench) wantCounts(want queue.Counts) {
	b.Helper()
	got, err := b.Counts(b.ctx())
	b.must("counts", err)
	if got != want {
		b.Fatalf("counts: got %+v, want %+v", got, want)
	}
}

func receipts(jobs []queue.Job) (all []queue.Receipt) {
	for _, job := range jobs {
		all = append(all, job.Receipt)
	}
	return all
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

// wantStale checks that err says that exactly these receipts are stale.
func (s *suite) wantStale(what string, err error, want ...queue.Receipt) {
	s.Helper()
	s.wantKind(what, err, kv.Conflict)
	var stale *queue.StaleError
	if !errors.As(err, &stale) {
		s.Fatalf("%s: %v is no StaleError", what, err)
	}
	if len(stale.Receipts) != len(want) {
		s.Fatalf("%s: stale are %v, want %v", what, stale.Receipts, want)
	}
	for _, r := range want {
		if !slices.Contains(stale.Receipts, r) {
			s.Fatalf("%s: stale are %v, want %v", what, stale.Receipts, want)
		}
	}
}

func numbered(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s%d", prefix, i))
	}
	return all
}
