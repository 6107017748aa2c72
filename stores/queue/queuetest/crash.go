package queuetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/queue"
)

func testReopen(s *suite) {
	dir := s.TempDir()
	settings := queue.Settings{MaxAttempts: 1}
	open := func() (b *bench, closeAll func()) {
		b = &bench{suite: s, clock: &clock{now: start}}
		b.store, closeAll = s.openIn(dir, queue.Options{Clock: b.time})
		b.Queue = s.queue(b.store, "work", settings)
		return b, closeAll
	}
	b, closeAll := open()
	b.publish("dead", "claimed", "ready")
	jobs := b.claim(2, "dead", "claimed")
	s.Must("nack", b.Nack(s.Ctx(), s.Class, 0, jobs[0].Receipt))
	ids := b.publishDrafts(queue.Draft{Payload: []byte("delayed"), Delay: time.Hour})
	last := ids[0]
	closeAll()
	for range 2 {
		b, closeAll = open()
		b.wantCounts(queue.Counts{Ready: 1, Delayed: 1, Claimed: 1, Dead: 1})
		if ids := b.publish("another"); ids[0] <= last {
			s.Errorf("id %d follows %d", ids[0], last)
		} else {
			last = ids[0]
		}
		another := b.claim(2, "ready", "another")
		s.Must("ack", b.Ack(s.Ctx(), s.Class, another[1].Receipt))
		s.Must("purge and publish again", func() error {
			s.Must("ack", b.Ack(s.Ctx(), s.Class, another[0].Receipt))
			last = b.publish("ready")[0]
			return nil
		}())
		closeAll()
	}
	b, _ = open()
	s.Must("ack of a claim from before", b.Ack(s.Ctx(), s.Class, jobs[1].Receipt))
	b.pass(2 * time.Hour)
	b.claim(9, "ready", "delayed")
	b.list(queue.Dead, "dead")
}

// crashLease is the lease in the tests with processes: short, so that claims of the dead come back
// within them.
const crashLease = 50 * time.Millisecond

var crashSettings = queue.Settings{Lease: crashLease, MaxAttempts: queue.NoLimit}

func testKill(s *suite) {
	dir := s.TempDir()
	ledger := NewLedger(s.Delivers)
	classes := s.Classes()
	rounds := 2 * len(classes)
	if testing.Short() {
		rounds = len(classes)
	}
	for round := range rounds {
		c := crash.Start[Record](s.T, task{Dir: dir, Class: classes[round%len(classes)],
			Tag: fmt.Sprint("round ", round), Workers: 3})
		n := 100 + rand.IntN(400)
		got := 0
		for r := range c.Reports {
			ledger.Add(r)
			if got++; got == n {
				s.Must("kill", c.Kill())
			}
		}
		if err := c.Wait(); got < n {
			s.Fatalf("the child ended after %d records: %v", got, err)
		}
		s.Killed()
		ledger.Crash(kv.Flushed)
		store, closeAll := s.openIn(dir, queue.Options{})
		s.Must(fmt.Sprintf("round %d", round), ledger.Check(s.Ctx(), s.queue(store, "work", crashSettings)))
		closeAll()
	}
	store, _ := s.openIn(dir, queue.Options{})
	s.drain(s.queue(store, "work", crashSettings), ledger)
	s.Logf("%d records after %d kills", ledger.Len(), rounds)
}

// drain works until the queue is empty, and checks the ledger.
func (s *suite) drain(q *queue.Queue, ledger *Ledger) {
	s.Helper()
	w := Worker{Queue: q, Lease: crashLease, Class: s.Class, Tag: "drain", Report: ledger.Add}
	for {
		counts, err := q.Counts(s.Ctx())
		s.Must("counts", err)
		if counts.Total() == 0 {
			break
		}
		_, err = w.Work(s.Ctx(), 100)
		s.Must("work", err)
	}
	s.Must("drained", ledger.Check(s.Ctx(), q))
}

func testProcesses(s *suite) {
	const processes = 3
	dir := s.TempDir()
	ledger := NewLedger(s.Delivers)
	store, _ := s.openIn(dir, queue.Options{Poll: time.Millisecond})
	q := s.queue(store, "work", crashSettings)
	var readers sync.WaitGroup
	var children []*crash.Child[Record]
	for p := range processes {
		c := crash.Start[Record](s.T, task{Dir: dir, Class: s.Class, Tag: fmt.Sprint("process ", p), Workers: 2,
			Batches: 25})
		children = append(children, c)
		readers.Go(func() {
			for r := range c.Reports {
				ledger.Add(r)
			}
		})
	}
	ctx, cancel := context.WithCancel(s.Ctx())
	var here sync.WaitGroup
	here.Go(func() {
		w := Worker{Queue: q, Lease: crashLease, Class: s.Class, Tag: "parent", Report: ledger.Add}
		for ctx.Err() == nil {
			if _, err := w.Work(ctx, 2); err != nil && ctx.Err() == nil {
				s.Errorf("work: %v", err)
				return
			}
		}
	})
	readers.Wait()
	for _, c := range children {
		s.Must("child", c.Wait())
	}
	cancel()
	here.Wait()
	s.drain(q, ledger)
}

func testProcessNext(s *suite) {
	dir := s.TempDir()
	store, _ := s.openIn(dir, queue.Options{})
	q := s.queue(store, "work", queue.Settings{Lease: time.Hour})
	worker := next(s, q)
	c := crash.Start[Record](s.T, task{Dir: dir, Class: s.Class, Tag: "child", Batches: 1})
	for range c.Reports {
	}
	s.Must("child", c.Wait())
	if got := <-worker; got != "child/p0/0/0" {
		s.Errorf("got %q", got)
	}
}

// task is what a child does: a producer and Workers consumers work, and report, until the child is
// killed or Batches were published and the consumers found the queue empty.
type task struct {
	Dir     string
	Class   kv.Durability
	Tag     string
	Workers int
	Batches int // 0 is no end
}

func (job task) run(target Target) error {
	store, closeAll, err := target.Open(job.Dir, queue.Options{})
	if err != nil {
		return err
	}
	q, err := store.Queue("work", &crashSettings)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	report := func(r Record) {
		mu.Lock()
		defer mu.Unlock()
		if err := out.Encode(r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	errs := make(chan error, job.Workers)
	for i := range job.Workers {
		w := Worker{Queue: q, Lease: crashLease, Class: job.Class, Tag: fmt.Sprintf("%s/c%d", job.Tag, i),
			Report: report}
		go func() { errs <- w.work(ctx, 1+i) }()
	}
	w := Worker{Queue: q, Class: job.Class, Tag: job.Tag + "/p0", Report: report}
	for i := 0; err == nil && (job.Batches == 0 || i < job.Batches); i++ {
		err = w.Publish(ctx, 1+i%3)
	}
	cancel()
	for range job.Workers {
		if e := <-errs; err == nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	return closeAll()
}

// work works until ctx ends.
func (w *Worker) work(ctx context.Context, limit int) error {
	for ctx.Err() == nil {
		if _, err := w.Work(ctx, limit); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
