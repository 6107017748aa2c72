package groupcommit

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
)

// work is a number to commit, and its outcome.
type work struct {
	n   int
	err error
}

// store keeps numbers, group by group. Its commits wait at gate, if there is one, until the context
// ends or they may pass.
type store struct {
	gate   chan struct{}
	began  chan struct{} // one for each commit that waits
	most   int           // of numbers in a commit; 0 is no bound
	panics bool
	fails  error

	groups [][]int
	kept   []kv.Durability
}

func (s *store) commit(ctx context.Context, d kv.Durability, group []*work) error {
	if s.gate != nil {
		s.began <- struct{}{}
		select {
		case <-s.gate:
		case <-ctx.Done():
			return &kv.Error{Op: "update", Kind: kv.Canceled, Err: ctx.Err()}
		}
	}
	if s.panics {
		panic("the store")
	}
	if s.fails != nil {
		return s.fails
	}
	if s.most > 0 && len(group) > s.most {
		return &kv.Error{Op: "update", Kind: kv.TooLarge}
	}
	var numbers []int
	for _, w := range group {
		w.err = nil
		numbers = append(numbers, w.n)
	}
	s.groups, s.kept = append(s.groups, numbers), append(s.kept, d)
	return nil
}

func newStore(s *store) *Committer[work] {
	return New(Rules[work]{
		Name:     "the store",
		Commit:   s.commit,
		Fail:     func(w *work, err error) { w.err = err },
		Op:       func(*work) string { return "add" },
		MaxCalls: 8,
		MaxSize:  100,
	})
}

func gated() *store { return &store{gate: make(chan struct{}), began: make(chan struct{}, 100)} }

// crowd is calls that run at once.
type crowd struct {
	c    *Committer[work]
	all  sync.WaitGroup
	mu   sync.Mutex
	errs map[int]error
}

// add begins a call, and returns once it commits or waits.
func (a *crowd) add(ctx context.Context, d kv.Durability, n, size int) {
	before := a.c.Waiting()
	first := a.c.turn.state.Load() == idle
	a.all.Go(func() {
		w := work{n: n}
		a.c.Do(ctx, d, &Call[work]{Work: &w, Size: size})
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.errs == nil {
			a.errs = map[int]error{}
		}
		a.errs[n] = w.err
	})
	for a.c.Waiting() == before && (!first || a.c.turn.state.Load() == idle) {
		runtime.Gosched()
	}
}

func TestCallsThatMeetShareACommit(t *testing.T) {
	s := gated()
	a := crowd{c: newStore(s)}
	a.add(t.Context(), kv.Synced, 0, 0)
	<-s.began
	for n := 1; n <= 5; n++ {
		a.add(t.Context(), kv.Synced, n, 0)
	}
	close(s.gate)
	a.all.Wait()
	if len(s.groups) != 2 || !slices.Equal(s.groups[1], []int{1, 2, 3, 4, 5}) {
		t.Errorf("groups %v, want 0 alone and 1 to 5 in order", s.groups)
	}
}

func TestGroupsHaveOneClassAndAreBounded(t *testing.T) {
	s := gated()
	a := crowd{c: newStore(s)}
	a.add(t.Context(), kv.Synced, 0, 0)
	<-s.began
	a.add(t.Context(), kv.Buffered, 1, 0)
	a.add(t.Context(), kv.Buffered, 2, 1000) // larger than a group, alone
	a.add(t.Context(), kv.Buffered, 3, 60)
	a.add(t.Context(), kv.Buffered, 4, 40)
	a.add(t.Context(), kv.Synced, 5, 40)
	close(s.gate)
	a.all.Wait()
	want := [][]int{{0}, {1}, {2}, {3, 4}, {5}}
	if !slices.EqualFunc(s.groups, want, slices.Equal) {
		t.Errorf("groups %v, want %v", s.groups, want)
	}
	if s.kept[4] != kv.Synced || s.kept[3] != kv.Buffered {
		t.Errorf("classes %v", s.kept)
	}
}

func TestACallWhoseContextEndsStopsNoOther(t *testing.T) {
	for _, ended := range []int{0, 1, 2} {
		s := gated()
		a := crowd{c: newStore(s)}
		short, cancel := context.WithCancel(t.Context())
		long, stop := context.WithCancel(t.Context()) // ends as well as the others can
		defer stop()
		for n := range 4 {
			ctx := long
			if n == ended {
				ctx = short
			}
			a.add(ctx, kv.Synced, n, 0)
		}
		<-s.began // 0 commits, and the others wait for it
		if ended > 0 {
			s.gate <- struct{}{}
			<-s.began // those that waited commit
		}
		cancel()
		<-s.began
		close(s.gate)
		a.all.Wait()
		for n, err := range a.errs {
			if canceled := kv.KindOf(err) == kv.Canceled; canceled != (n == ended) || !canceled && err != nil {
				t.Errorf("%d ended, and %d: %v", ended, n, err)
			}
		}
		if done := slices.Concat(s.groups...); len(done) != 3 || slices.Contains(done, ended) {
			t.Errorf("%d ended, and %v were committed", ended, done)
		}
	}
}

func TestOneThatWaitsIsGivenUpWithItsContext(t *testing.T) {
	s := gated()
	a := crowd{c: newStore(s)}
	a.add(t.Context(), kv.Synced, 0, 0)
	<-s.began
	ctx, cancel := context.WithCancel(t.Context())
	a.add(ctx, kv.Synced, 1, 0)
	cancel()
	for a.c.Waiting() > 0 { // 0 still commits
		runtime.Gosched()
	}
	close(s.gate)
	a.all.Wait()
	if kv.KindOf(a.errs[1]) != kv.Canceled || !errors.Is(a.errs[1], context.Canceled) || len(s.groups) != 1 {
		t.Errorf("%v; groups %v", a.errs[1], s.groups)
	}
}

func TestOneThatMustNotWaitForOthersIsRefusedAndStopsNone(t *testing.T) {
	s := gated()
	a := crowd{c: newStore(s)}
	mayNot := &kv.Error{Op: "add", Kind: kv.Invalid}
	a.c.rules.MayWait = func(ctx context.Context) error {
		if ctx.Value(mayNot) != nil {
			return mayNot
		}
		return nil
	}
	within := context.WithValue(t.Context(), mayNot, true)
	a.add(within, kv.Synced, 0, 0) // nobody to wait for
	<-s.began
	w := work{n: 1}
	if a.c.Do(within, kv.Synced, &Call[work]{Work: &w}); w.err != mayNot {
		t.Errorf("got %v, want %v", w.err, mayNot)
	}
	a.add(t.Context(), kv.Synced, 2, 0)
	close(s.gate)
	a.all.Wait()
	if !slices.EqualFunc(s.groups, [][]int{{0}, {2}}, slices.Equal) {
		t.Errorf("groups %v", s.groups)
	}
}

func TestOfACommitThatFailsAllItsCallsHear(t *testing.T) {
	s := gated()
	a := crowd{c: newStore(s)}
	a.add(t.Context(), kv.Synced, 0, 0)
	<-s.began
	for n := 1; n <= 3; n++ {
		a.add(t.Context(), kv.Synced, n, 0)
	}
	s.gate <- struct{}{}
	<-s.began
	s.fails = &kv.Error{Op: "update", Kind: kv.InDoubt}
	close(s.gate)
	a.all.Wait()
	for n := range 4 {
		if err := a.errs[n]; err != nil != (n > 0) {
			t.Errorf("call %d, of which 1 to 3 share a commit that fails: %v", n, err)
		}
	}
}

func TestOneThatIsTooLargeForAllGoesAlone(t *testing.T) {
	s := gated()
	s.most = 1
	a := crowd{c: newStore(s)}
	a.add(t.Context(), kv.Synced, 0, 0)
	a.add(t.Context(), kv.Synced, 1, 0)
	a.add(t.Context(), kv.Synced, 2, 0)
	close(s.gate)
	a.all.Wait()
	if want := [][]int{{0}, {1}, {2}}; !slices.EqualFunc(s.groups, want, slices.Equal) {
		t.Errorf("groups %v, want %v", s.groups, want)
	}
}

func TestAPanicEndsNobodyElsesWait(t *testing.T) {
	s := gated()
	c := newStore(s)
	a := crowd{c: c}
	a.add(t.Context(), kv.Synced, 0, 0)
	<-s.began
	panicked := make(chan any)
	go func() {
		defer func() { panicked <- recover() }()
		w := work{n: 1}
		c.Do(t.Context(), kv.Synced, &Call[work]{Work: &w})
	}()
	for c.Waiting() == 0 {
		runtime.Gosched()
	}
	a.add(t.Context(), kv.Synced, 2, 0)   // in the group of 1
	a.add(t.Context(), kv.Buffered, 3, 0) // in the next
	s.gate <- struct{}{}
	<-s.began
	s.panics = true
	close(s.gate)
	if p := <-panicked; p != "the store" {
		t.Errorf("the leader got %v", p)
	}
	a.all.Wait()
	if a.errs[0] != nil || kv.KindOf(a.errs[2]) != kv.InDoubt || kv.KindOf(a.errs[3]) != kv.Closed {
		t.Errorf("before: %v, with it: %v, after it: %v", a.errs[0], a.errs[2], a.errs[3])
	}
	w := work{n: 4}
	if c.Do(t.Context(), kv.Synced, &Call[work]{Work: &w}); kv.KindOf(w.err) != kv.Closed {
		t.Errorf("later: %v", w.err)
	}
	c.Close()
}

func TestAPanicOfOneAloneStopsAll(t *testing.T) {
	c := newStore(&store{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		c.Alone(func() { panic("alone") })
	}()
	w := work{}
	if c.Do(t.Context(), kv.Synced, &Call[work]{Work: &w}); kv.KindOf(w.err) != kv.Closed {
		t.Errorf("later: %v", w.err)
	}
	if c.Alone(func() {}) {
		t.Error("another commits past it")
	}
	c.Close()
	c.Close()
}

// Calls of both kinds meet and miss each other; Close comes among them, and everything ends.
func TestEverythingIsCommittedOnceUntilClose(t *testing.T) {
	for range 50 {
		s := &store{}
		c := newStore(s)
		var all, warm sync.WaitGroup
		var done [4]int
		alone := 0
		warm.Add(len(done))
		for i := range done {
			all.Go(func() {
				call := Call[work]{Work: &work{}}
				for {
					if i%2 == 0 && c.Alone(func() { alone++ }) {
						continue
					}
					if c.Do(context.Background(), kv.Buffered, &call); call.Work.err != nil {
						break
					}
					if done[i]++; done[i] == 20 {
						warm.Done()
					}
				}
			})
		}
		warm.Wait()
		c.Close()
		committed := len(slices.Concat(s.groups...))
		all.Wait()
		want := done[0] + done[1] + done[2] + done[3]
		if now := len(slices.Concat(s.groups...)); now != committed || committed != want {
			t.Fatalf("%d committed when it was closed, %d later, %d calls succeeded", committed, now, want)
		}
	}
}

func TestOneThatMeetsNobodyAllocatesNothing(t *testing.T) {
	c := New(Rules[work]{
		Commit: func(context.Context, kv.Durability, []*work) error { return nil }, MaxCalls: 8, MaxSize: 8,
	})
	call, n := Call[work]{Work: &work{}}, 0
	ctx := t.Context()
	if got := testing.AllocsPerRun(100, func() { c.Do(ctx, kv.Synced, &call) }); got != 0 {
		t.Errorf("Do: %v allocations", got)
	}
	if got := testing.AllocsPerRun(100, func() { c.Alone(func() { n++ }) }); got != 0 {
		t.Errorf("Alone: %v allocations", got)
	}
}
