package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/internal/frame"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/queuetest"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

// soakVariable is how long the soak publishes and kills, as a duration.
const soakVariable = "ASSAY_SOAK"

// The soak: a hundred workers in eight processes, of which one after the other is killed and
// started again.
const (
	soakProcesses = 8
	soakWorkers   = 13 // in each
	soakTick      = 100 * time.Millisecond
)

// soakTask is what one process does: it publishes until a time, and works until nothing is left.
type soakTask struct {
	Engine, Dir string
	Tag         string
	Until       time.Time
	Lease       time.Duration
	Long        bool // some jobs take longer than their lease
}

// soakRecord is what a process tells: that a job was published, begun or done.
type soakRecord struct {
	Event   string
	Payload string
	ID      uint64
	At      time.Time
}

func (task soakTask) run() error {
	store, closeAll, err := openSoak(task.Engine, task.Dir)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	tell := func(event, payload string, id uint64) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(soakRecord{event, payload, id, time.Now()}) // the parent sees that there is no more
	}
	settings := &queue.Settings{Lease: task.Lease, MaxAttempts: queue.NoLimit,
		Backoff: func(queue.Job, error) time.Duration { return 0 }}
	w, err := queue.NewWorkers(store, kv.Flushed, nil)
	if err != nil {
		return err
	}
	kind := queue.Kind[string]{Name: "work"}
	err = queue.Handle(w, kind, soakWorkers, settings, func(ctx context.Context, payload string) error {
		job, _ := queue.JobOf(ctx)
		tell("begin", payload, job.ID)
		pause := time.Duration(rand.IntN(40)) * time.Millisecond
		if task.Long && rand.IntN(200) == 0 {
			pause = 2 * task.Lease // a heartbeat keeps it
		}
		var err error
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err == nil && rand.IntN(10) == 0 {
			err = errors.New("a bad day")
		}
		if err != nil {
			tell("failed", payload, job.ID)
		} else {
			tell("done", payload, job.ID)
		}
		return err
	})
	if err == nil {
		err = w.Schedule(kind.Name, queue.Schedule{Name: "tick", Ticks: queue.Every(soakTick), Missed: queue.MissedEach,
			Draft: func(tick time.Time) (queue.Draft, error) {
				return kind.Draft(fmt.Sprintf("tick %d",
					tick.UnixMilli()))
			}})
	}
	if err != nil {
		return err
	}
	ctx := context.Background()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	q, err := store.Queue("work", settings)
	if err != nil {
		return err
	}
	for i := 0; time.Now().Before(task.Until); i++ {
		payload := fmt.Sprintf("%s/%d", task.Tag, i)
		draft, err := kind.Draft(payload)
		if err != nil {
			return err
		}
		draft.Key = payload
		ids, err := q.Publish(ctx, kv.Flushed, draft, draft)
		if err != nil || ids[1] != 0 {
			return fmt.Errorf("published a key as %v: %w", ids, err)
		}
		tell("published", payload, ids[0])
		time.Sleep(10 * time.Millisecond)
	}
	for { // schedules go on, so that there may always be a job of the last tick
		c, err := q.Counts(ctx)
		if err != nil {
			return err
		}
		if c.Claimed+c.Ready+c.Delayed < 3 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.Join(w.Shutdown(ctx), <-ended, closeAll())
}

func openSoak(engine, dir string) (*queue.Store, func() error, error) {
	if engine == "sqlqueue" {
		store, err := sqlqueue.Open(context.Background(), filepath.Join(dir, "soak"),
			&sqlqueue.Options{Wait: frame.Patience})
		if err != nil {
			return nil, nil, err
		}
		return store, store.Close, nil
	}
	return queuetest.OpenKV(engine+":"+filepath.Join(dir, "soak"), queue.Options{})
}

// TestSoak has a hundred workers in eight processes work while processes are killed: every job is
// done, none is run beside itself, and of each tick there is one job. ASSAY_SOAK=10m makes it last.
// Then leases are short, which asks for a machine that lets every process run within a second;
// otherwise only a hang lasts as long as a lease.
func TestSoak(t *testing.T) {
	crash.Work(t, func(task soakTask) error { return task.run() })
	lasts, lease, long := 2*time.Second, frame.Patience, false
	if d, err := time.ParseDuration(os.Getenv(soakVariable)); err == nil {
		lasts, lease, long = d, 3*time.Second, true
	} else if testing.Short() {
		t.Skipf("it takes seconds: without -short, or for as long as %s says", soakVariable)
	}
	for _, engine := range []string{"sqlite", "sqlqueue"} {
		t.Run(engine, func(t *testing.T) {
			s := &soak{T: t, jobs: map[string]*soaked{}}
			task := soakTask{Engine: engine, Dir: t.TempDir(), Until: time.Now().Add(lasts), Lease: lease, Long: long}
			var wg sync.WaitGroup
			for p := range soakProcesses {
				wg.Go(func() { s.process(task, fmt.Sprint("p", p)) })
			}
			wg.Wait()
			s.drain(task)
			s.judge()
		})
	}
}

// soak collects what all processes tell.
type soak struct {
	*testing.T
	mu    sync.Mutex
	jobs  map[string]*soaked
	kills int
}

// soaked is what is known of a job.
type soaked struct {
	published bool
	done      int
	ids       map[uint64]bool
	attempts  []*attempt
}

// attempt lasts until it ended, or its process was killed.
type attempt struct{ begin, end time.Time }

// process runs a process again and again: it is killed after a while, until the time is over.
func (s *soak) process(task soakTask, name string) {
	for round := 0; ; round++ {
		task.Tag = fmt.Sprintf("%s/%d", name, round)
		killed, err := s.life(task, time.Duration(2000+rand.IntN(8000))*time.Millisecond)
		if err != nil {
			s.Errorf("%s: %v", task.Tag, err)
		}
		if err != nil || !killed {
			return
		}
	}
}

// life is that of one process, which lasts only so long if the time is not over before.
func (s *soak) life(task soakTask, lasts time.Duration) (killed bool, err error) {
	c, err := crash.Spawn[soakRecord](s.T, task)
	if err != nil {
		return false, err
	}
	var deadline <-chan time.Time
	if time.Now().Add(lasts).Before(task.Until) {
		deadline = time.After(lasts)
	}
	running := map[string]*attempt{}
	var end time.Time
	for open := true; open; {
		select {
		case r, ok := <-c.Reports:
			if open = ok; ok {
				s.record(r, running)
			}
		case <-deadline:
			killed, end = true, time.Now()
			err = c.Kill()
		}
	}
	if werr := c.Wait(); !killed {
		err = werr
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range running {
		a.end = end
	}
	if killed {
		s.kills++
	}
	return killed, err
}

// record notes what a process told; running are its attempts that have not ended.
func (s *soak) record(r soakRecord, running map[string]*attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[r.Payload]
	if job == nil {
		job = &soaked{ids: map[uint64]bool{}}
		s.jobs[r.Payload] = job
	}
	job.ids[r.ID] = true
	switch r.Event {
	case "published":
		job.published = true
	case "begin":
		a := &attempt{begin: r.At}
		job.attempts, running[r.Payload] = append(job.attempts, a), a
	default:
		if r.Event == "done" {
			job.done++
		}
		running[r.Payload].end = r.At
		delete(running, r.Payload)
	}
}

// drain does what is left.
func (s *soak) drain(task soakTask) {
	store, closeAll, err := openSoak(task.Engine, task.Dir)
	if err != nil {
		s.Fatal(err)
	}
	q, err := store.Queue("work", &queue.Settings{MaxAttempts: queue.NoLimit})
	for err == nil {
		var counts queue.Counts
		if counts, err = q.Counts(s.Context()); err != nil || counts.Total() == 0 {
			break
		}
		var jobs []queue.Job
		jobs, err = q.Claim(s.Context(), kv.Flushed, 100)
		for _, job := range jobs {
			var payload string
			err = errors.Join(err, json.Unmarshal(job.Payload, &payload), q.Ack(s.Context(), kv.Flushed, job.Receipt))
			running := map[string]*attempt{}
			s.record(soakRecord{"begin", payload, job.ID, time.Now()}, running)
			s.record(soakRecord{"done", payload, job.ID, time.Now()}, running)
		}
	}
	if err := errors.Join(err, closeAll()); err != nil {
		s.Fatal(err)
	}
}

// judge looks at what became of every job.
func (s *soak) judge() {
	var ticks []int64
	attempts := 0
	for payload, job := range s.jobs {
		if job.done == 0 {
			s.Errorf("job %s was published and is not done: %+v", payload, job)
		}
		if len(job.ids) != 1 {
			s.Errorf("job %s was published %d times", payload, len(job.ids))
		}
		slices.SortFunc(job.attempts, func(a, b *attempt) int { return a.begin.Compare(b.begin) })
		for i := 1; i < len(job.attempts); i++ {
			if a, before := job.attempts[i], job.attempts[i-1]; a.begin.Before(before.end) {
				s.Errorf("job %s began at %v beside the attempt %v", payload, a.begin, *before)
			}
		}
		attempts += len(job.attempts)
		var tick int64
		if n, _ := fmt.Sscanf(payload, "tick %d", &tick); n == 1 {
			ticks = append(ticks, tick)
		}
	}
	slices.Sort(ticks)
	for i := 1; i < len(ticks); i++ {
		if ticks[i]-ticks[i-1] != soakTick.Milliseconds() {
			s.Errorf("the tick %d follows %d", ticks[i], ticks[i-1])
		}
	}
	s.Logf("%d jobs, %d of them of ticks, done in %d attempts; %d processes were killed",
		len(s.jobs), len(ticks), attempts, s.kills)
	if s.kills == 0 && os.Getenv(soakVariable) != "" {
		s.Error("no process was killed")
	}
}
