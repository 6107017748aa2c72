// Package queuetest is the conformance suite of job queues: what every implementation of queue
// promises, as tests. Its [Ledger] judges what any program did with a queue, across crashes.
package queuetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/internal/frame"
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
	{Name: "an empty queue has nothing", Run: testEmpty},
	{Name: "what was published comes back unchanged", Run: testRoundTrip},
	{Name: "a large payload comes back", Run: testLarge},
	{Name: "payloads of every length come back, whatever becomes of their jobs", Run: testLengths},
	{Name: "claims are as good when there are many", Run: testManyClaims},
	{Name: "jobs that are given out in any order come in order", Run: testMixedOrder},
	{Name: "jobs are claimed by priority, then time, then id", Run: testOrder},
	{Name: "a claimed job is given out no more and an acknowledged one is gone", Run: testAck},
	{Name: "a delayed job is given out when its delay has ended", Run: testDelay},
	{Name: "a job whose lease has ended is given out again and its receipt is stale", Run: testLease},
	{Name: "a lease that has ended can be acknowledged until the job is given out", Run: testLateAck},
	{Name: "an extended lease lasts and its receipt stays good", Run: testExtend},
	{Name: "a job given back is behind the others, or delayed", Run: testNack},
	{Name: "a job tried too often is dead, listed and can be requeued", Run: testDead},
	{Name: "a call with a stale receipt does nothing", Run: testStale},
	{Name: "a swap acknowledges and claims, or does nothing", Run: testSwap},
	{Name: "workers do every job, and those that fail again", Run: testWork},
	{Name: "a job that takes longer than its lease is done once", Run: testLongJob},
	{Name: "a worker is told when its job is no longer its own", Run: testLostJob},
	{Name: "a panic is a failure like others", Run: testPanic},
	{Name: "a function that ends its goroutine has failed, and its worker goes on", Run: testExit},
	{Name: "a program that ends costs its jobs no attempt", Run: testRestarts},
	{Name: "a job that is released is ready as if it had not been claimed", Run: testRelease},
	{Name: "why attempts failed is kept with the job", Run: testFailures},
	{Name: "a function says what becomes of its job", Run: testVerdicts},
	{Name: "a job is found and deleted in every state", Run: testDeleted},
	{Name: "jobs are deleted among others", Run: testDeletedAmongMany},
	{Name: "of a key there is one job", Run: testUnique},
	{Name: "of those who publish a key at once one does", Run: testUniqueTogether},
	{Name: "a key may be any text", Run: testKeyTexts},
	{Name: "under a clock before 1970 jobs are as good", Run: testEarlyClock},
	{Name: "kinds have their own functions and numbers, and unknown ones are kept", Run: testKinds},
	{Name: "a shutdown waits, then gives back", Run: testShutdown},
	{Name: "of each tick of a schedule there is one job", Run: testSchedules},
	{Name: "what becomes of missed ticks is the schedule's to say", Run: testMissed},
	{Name: "counts and lists agree in every state", Run: testCounts},
	{Name: "a purge deletes the jobs of a state or all", Run: testPurge},
	{Name: "a job that is too old is not given out", Run: testRetention},
	{Name: "a claim puts many old jobs aside in parts", Run: testManyOld},
	{Name: "a sweep looks at many dead jobs in parts", Run: testManyDead},
	{Name: "many delays that end at once end in order", Run: testManyDue},
	{Name: "whatever is done, a queue does as a list would", Run: testModel},
	{Name: "queues with similar names are kept apart", Run: testNames},
	{Name: "bytes given and got belong to the caller", Run: testOwnership},
	{Name: "wrong arguments are refused", Run: testArguments},
	{Name: "a closed store refuses everything", Run: testClosed},
	{Name: "a call whose context has ended does nothing", Run: testCanceled},
	{Name: "no claim is lost to a cancellation", Run: testCanceledClaims},
	{Name: "what is published together is seen as a whole or not at all", Run: testAtomic},
	{Name: "a worker that waits is woken by whatever makes a job ready", Run: testNext},
	{Name: "a worker that waits ends with its context or the store", Run: testNextEnds},
	{Name: "as many workers are woken as there are jobs", Run: testNextMany},
	{Name: "of concurrent producers and consumers no job is lost or done twice", Run: testConcurrent},
	{Name: "everything is there after closing and opening", Run: testReopen, Reopens: true},
	{Name: "payloads and claims outlive their closing", Run: testReopenClaims, Reopens: true},
	{Name: "nothing acknowledged is lost or comes back after the process was killed", Run: testKill, Reopens: true},
	{Name: "several processes work on one queue", Run: testProcesses, Reopens: true, Processes: true},
	{Name: "a worker that waits sees what another process publishes", Run: testProcessNext, Reopens: true,
		Processes: true},
}

// suite is one running case.
type suite struct {
	frame.Suite
	target Target
}

// patience is how long anything may take.
const patience = frame.Patience

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
	return store, s.Closing(closer)
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
	s.Must("queue", err)
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
	ids, err := b.Publish(b.Ctx(), b.Class, drafts...)
	b.Must("publish", err)
	if len(ids) != len(drafts) {
		b.Fatalf("published %d jobs, got %d ids", len(drafts), len(ids))
	}
	return ids
}

// claim claims up to limit jobs, which must have the payloads want.
func (b *bench) claim(limit int, want ...string) []queue.Job {
	b.Helper()
	jobs, err := b.Claim(b.Ctx(), b.Class, limit)
	b.Must("claim", err)
	b.wantJobs("claim", jobs, want...)
	return jobs
}

// list lists the jobs in a state, which must have the payloads want.
func (b *bench) list(state queue.State, want ...string) []queue.Job {
	b.Helper()
	jobs, err := b.List(b.Ctx(), state, 1000)
	b.Must("list", err)
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
	got, err := b.Counts(b.Ctx())
	b.Must("counts", err)
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

// wantStale checks that err says that exactly these receipts are stale.
func (s *suite) wantStale(what string, err error, want ...queue.Receipt) {
	s.Helper()
	s.WantKind(what, err, kv.Conflict)
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
