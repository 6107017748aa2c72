package statetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/state"
)

func testBusy(s *suite) {
	const short = 50 * time.Millisecond
	s.put(s.store(), "a", "k", "v")
	c := s.start(task{Job: "hold", Bucket: "a"})
	c.wait("held")
	hasty := s.store(func(o *state.Options) { o.Wait = short })
	began := time.Now()
	err := hasty.Put(s.Ctx(), "a", []byte("k"), []byte("w"))
	s.WantKind("put", err, kv.Busy)
	if took := time.Since(began); took < short/2 {
		s.Errorf("it waited for %v, want about %v", took, short)
	}
	if kv.HintOf(err) == "" {
		s.Errorf("%v has no hint", err)
	}
	if s.target.Past {
		s.wantGet(hasty, "a", "k", "v")
		s.wantNone(hasty, "a", "held")
	} else {
		_, err := hasty.Get(s.Ctx(), "a", []byte("k"))
		s.WantKind("get", err, kv.Busy)
	}
	s.put(hasty, "cache", "k", "other files are free")

	ctx, cancel := context.WithCancel(s.Ctx())
	time.AfterFunc(short, cancel)
	s.WantKind("put until the context ends", s.store().Put(ctx, "a", []byte("k"), []byte("w")), kv.Canceled)

	done := make(chan error, 1)
	patient := s.store()
	go func() { done <- patient.Put(s.Ctx(), "a", []byte("k"), []byte("w")) }()
	c.proceed()
	s.Must("put once the lock is free", <-done)
	s.wantGet(patient, "a", "k", "w")
	s.wantGet(patient, "a", "held", "yes")
}

func testReaders(s *suite) {
	if !s.target.Readers {
		s.Skip("readers of this engine wait for each other")
	}
	s.put(s.store(), "a", "k", "v")
	c := s.start(task{Job: "hold view", Bucket: "a"})
	c.wait("held")
	hasty := s.store(func(o *state.Options) { o.Wait = time.Nanosecond })
	s.wantGet(hasty, "a", "k", "v")
	c.proceed()
	c.wait("done")
}

func testCreateAtOnce(s *suite) {
	const count = 3
	processes := s.target.times(14)
	s.atOnce(processes, task{Job: "increment", Bucket: "a", Count: count})
	store := s.store()
	s.wantGet(store, "a", "n", fmt.Sprint(processes*count))
	for i := range processes {
		s.wantGet(store, "a", fmt.Sprintf("p%d", i), fmt.Sprint(i))
	}
}

// strictVariable names the environment variable that makes the case of many processes a
// measurement: for as long as it says ("10s"), with commits that survive power loss, the store's
// own limit of waiting, and 5 % of the processes killed; then a call that timed out is a failure.
// Without it nothing depends on how fast the machine is.
const strictVariable = "ASSAY_STATE_STRICT"

// crowd is processes that work at the same time, each slot one after the other.
type crowd struct {
	s      *suite
	task   task
	kills  float64 // share of the processes
	each   int     // of a slot: so many processes
	until  time.Time
	strict bool

	mu               sync.Mutex
	slots            [14]slot
	started, killed  int
	timeouts, writes int
	reads            int
	longest          time.Duration // of a call
	span             time.Duration // of the latest process that was not killed
}

// slot is what is known of the key that the processes of one slot write.
type slot struct{ acknowledged, tried int }

func testProcesses(s *suite) {
	c := &crowd{s: s, kills: 0.2, task: task{Job: "work", Class: kv.Flushed.String(), Count: 4},
		each: math.MaxInt, until: time.Now().Add(2 * time.Second)}
	if testing.Short() {
		c.each = 2
	}
	if text := os.Getenv(strictVariable); text != "" {
		d, err := time.ParseDuration(text)
		s.Must(strictVariable, err)
		c.each, c.until, c.strict, c.kills = math.MaxInt, time.Now().Add(d), true, 0.05
		c.task.Class, c.task.Wait = kv.Synced.String(), state.DefaultWait
	}
	seed := rand.Uint64()
	s.Logf("seed %d", seed)
	var wg sync.WaitGroup
	for i := range c.slots {
		wg.Go(func() { c.keepWorking(i, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	wg.Wait()

	store := s.store()
	began := time.Now()
	_, err := store.Get(s.Ctx(), "a", slotKey(0))
	opened := time.Since(began)
	if err != nil && !errors.Is(err, kv.NotFound) {
		s.Errorf("get after the last process: %v", err)
	}
	for i, slot := range c.slots {
		version, err := slotVersion(s.Ctx(), store, i)
		if err != nil || version < slot.acknowledged || version > slot.tried {
			s.Errorf("slot %d: version %d, %v, want %d, which was acknowledged, to %d", i, version, err,
				slot.acknowledged, slot.tried)
		}
	}
	s.Must("check", store.Check(s.Ctx()))
	if c.writes == 0 || c.reads == 0 {
		s.Errorf("%d writes and %d reads were acknowledged", c.writes, c.reads)
	}
	if c.strict && (c.timeouts > 0 || opened > time.Second) {
		s.Errorf("%d time-outs, the first call afterwards took %v", c.timeouts, opened)
	}
	s.Logf("%d processes, %d killed, %d writes and %d reads acknowledged, %d time-outs, longest call %v, first call afterwards %v",
		c.started, c.killed, c.writes, c.reads, c.timeouts, c.longest.Round(time.Microsecond),
		opened.Round(time.Microsecond))
}

// keepWorking runs the processes of a slot.
func (c *crowd) keepWorking(i int, rng *rand.Rand) {
	for n := 0; n < c.each && (n == 0 || time.Now().Before(c.until)) && !c.s.Failed(); n++ {
		if err := c.process(i, rng); err != nil {
			c.s.Error(err)
		}
	}
}

func (c *crowd) process(i int, rng *rand.Rand) error {
	t := c.task
	t.Dir, t.ID, t.From, t.Seed = c.s.dir, i, c.slots[i].tried+1, rng.Uint64()
	c.slots[i].tried += t.Count // at most
	began := time.Now()
	p, err := crash.Spawn[report](c.s.T, t)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.started++
	span := c.span
	c.mu.Unlock()
	killed := rng.Float64() < c.kills
	if killed {
		timer := time.AfterFunc(time.Duration(rng.Float64()*float64(span)), func() { _ = p.Kill() })
		defer timer.Stop()
	}
	done := false
	for r := range p.Reports {
		if r.What == "failed" {
			err = errors.New(r.Err)
		}
		done = done || r.What == "done"
		c.count(i, r)
	}
	werr := p.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case done:
		c.span = time.Since(began)
	case killed && err == nil:
		c.killed++
		return nil
	}
	if err != nil || werr != nil && !killed {
		return fmt.Errorf("process of slot %d: %w", i, errors.Join(err, werr))
	}
	return nil
}

func (c *crowd) count(i int, r report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.longest = max(c.longest, r.Took)
	switch r.What {
	case "acknowledged":
		c.writes++
		c.slots[i].acknowledged = max(c.slots[i].acknowledged, r.Version)
	case "saw":
		c.reads++
	case "busy":
		c.timeouts++
	}
}

func slotKey(i int) []byte { return fmt.Appendf(nil, "slot %d", i) }

func slotValue(i, version int) []byte {
	return fmt.Appendf(nil, "%d %d %s", i, version, bytes.Repeat([]byte{byte('a' + version%26)}, version*37%400))
}

// slotVersion returns the version that a slot's key has, 0 if it is absent.
func slotVersion(ctx context.Context, store *state.Store, i int) (version int, err error) {
	got, err := store.Get(ctx, "a", slotKey(i))
	if errors.Is(err, kv.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var slot int
	if _, err := fmt.Sscan(string(got), &slot, &version); err != nil || !bytes.Equal(got, slotValue(i, version)) {
		return version, fmt.Errorf("slot %d: a value that nobody wrote: %q, %v", i, clip(got), err)
	}
	return version, nil
}

// jobWork does t.Count calls, one of five writes, and tells of each.
func jobWork(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	rng := rand.New(rand.NewPCG(t.Seed, 2))
	version := t.From
	for range t.Count {
		r := report{What: "saw", ID: rng.IntN(len(crowd{}.slots))}
		began := time.Now()
		var err error
		if rng.IntN(5) == 0 {
			r = report{What: "acknowledged", ID: t.ID, Version: version}
			err = store.Put(ctx, "a", slotKey(t.ID), slotValue(t.ID, version))
			version++
		} else {
			r.Version, err = slotVersion(ctx, store, r.ID)
		}
		r.Took = time.Since(began)
		if errors.Is(err, kv.Busy) {
			r.What, err = "busy", nil
		}
		if err != nil {
			return err
		}
		tell(r)
	}
	return nil
}
