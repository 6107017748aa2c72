package observe

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/assaydb/assay/kv"
)

func TestEveryOperationHasItsPlace(t *testing.T) {
	if len(ops) != opCount || ops[opClose] != "close" {
		t.Errorf("%d operations, close at %d", len(ops), slices.Index(ops, "close"))
	}
	for i, op := range ops {
		if opOf(op) != i {
			t.Errorf("%s is at %d, and looked for at %d", op, i, opOf(op))
		}
	}
	if opOf("another") != -1 {
		t.Error("an operation that is not known has a place")
	}
}

func TestLatenciesStandWhereHdrHistogramHasThem(t *testing.T) {
	theirs := hdrhistogram.New(lowestLatency, highestLatency, digits)
	if n := len(theirs.Export().Counts); n > parts {
		t.Fatalf("the library has %d counts, this package %d", n, parts)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	var ours counter
	count := func(v int64) {
		ours.count(&kv.Event{Took: time.Duration(v)}, 1)
		if err := theirs.RecordValue(v); err != nil {
			t.Fatalf("%d: %v", v, err)
		}
	}
	for v := range int64(20_000) {
		count(v)
	}
	for bit := range 40 {
		for _, near := range []int64{-1, 0, 1} {
			count(max(1<<bit+near, 0))
		}
		for range 100 {
			count(rnd.Int64N(1 << bit))
		}
	}
	count(highestLatency)
	for i, want := range theirs.Export().Counts {
		if got := ours.latency[i].Load(); got != want {
			t.Fatalf("place %d: got %d, want %d", i, got, want)
		}
	}
	f := ours.figures("get", "")
	if f.Count != theirs.TotalCount() || f.Latency.P99 != time.Duration(theirs.ValueAtQuantile(99)) ||
		f.Latency.Max != highestLatency {
		t.Errorf("got %d, %+v", f.Count, f.Latency)
	}
	ours.count(&kv.Event{Took: -1}, 1)
	ours.count(&kv.Event{Took: never}, 1)
	if again := ours.figures("get", ""); again.Count != f.Count+2 || again.Latency.Max != never {
		t.Errorf("of times that cannot be: got %d, %+v", again.Count-f.Count, again.Latency)
	}
}

func TestAtMostCountsWhatIsNoLonger(t *testing.T) {
	var c counter
	for _, ms := range []time.Duration{1, 1, 5, 5, 5, 20, 3000} {
		c.count(&kv.Event{Took: ms * time.Millisecond}, 1)
	}
	f := c.figures("get", "")
	bounds := []time.Duration{500 * time.Microsecond, 2 * time.Millisecond, 10 * time.Millisecond, time.Second,
		time.Hour}
	got, all, sum, err := f.AtMost(bounds...)
	if want := []int64{0, 2, 5, 6, 7}; err != nil || !slices.Equal(got, want) || all != 7 ||
		sum < 3007*time.Millisecond || sum > 3067*time.Millisecond {
		t.Errorf("got %d, %v, %v, want %d", got, sum, err, want)
	}
	f.Histogram = "no histogram"
	if _, _, _, err := f.AtMost(time.Second); err == nil {
		t.Error("no error for what is no histogram")
	}
}

func TestLogsAreKnownByTheirNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a/app.db-wal": true, "app.db-journal": true, "app.wal": true, "db/000012.log": true, "db/00001.mem": true,
		"app.db": false, "app.db-shm": false, "db/000012.sst": false, "LOG": false, "changes.log": false, ".log": false,
	} {
		if got := isLog(name); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestCountsAreMovedBeforeTheyOverflow(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	var c counter
	var pairs, bytes int64
	const runs = 200_000
	for range runs {
		e := kv.Event{Pairs: rnd.IntN(2 * mostPairs), Bytes: rnd.IntN(2 * mostBytes)}
		pairs, bytes = pairs+int64(e.Pairs), bytes+int64(e.Bytes)
		c.count(&e, 0)
	}
	if f := c.figures("write", ""); f.Count != runs || f.Pairs != pairs || f.Bytes != bytes {
		t.Errorf("got %d, %d, %d, want %d, %d, %d", f.Count, f.Pairs, f.Bytes, runs, pairs, bytes)
	}
}

// TestCountsOnlyGrow has several read while others count: a count that falls is, to Prometheus, a
// program that began anew.
func TestCountsOnlyGrow(t *testing.T) {
	var c counter
	const each = 300_000
	var counting, reading sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		counting.Go(func() {
			for range each {
				c.count(&kv.Event{Pairs: 1, Bytes: 10}, 0)
			}
		})
	}
	for range 4 {
		reading.Go(func() {
			for last := int64(0); ; {
				runs, pairs, bytes := c.total()
				if runs < last || pairs != runs || bytes != 10*runs {
					t.Errorf("%d operations, %d pairs, %d bytes, behind %d", runs, pairs, bytes, last)
					return
				}
				last = runs
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	counting.Wait()
	close(done)
	reading.Wait()
	if runs, _, _ := c.total(); runs != 2*each {
		t.Errorf("%d operations, want %d", runs, 2*each)
	}
}

// TestQuickOperationsAreTimedOnceInThirtyTwoAndTheSlowOfThemAreFound drives an observer as kv does;
// the rough clock is set by hand.
func TestQuickOperationsAreTimedOnceInThirtyTwoAndTheSlowOfThemAreFound(t *testing.T) {
	o := New(nil)
	ctx := t.Context()
	o.setClock(1)
	const runs = 64_000
	exact := 0
	for range runs {
		_, began := o.Begin(ctx, "write")
		exact += int(began & 1)
		// As if it had begun this moment, whatever the machine does.
		if began&1 == 1 {
			began = int64(time.Since(epoch))<<6 | began&63
		}
		o.Finish(ctx, began, kv.Event{Op: "write", Pairs: 1, Bytes: 10})
	}
	f := o.Figures()
	if w := f.Ops[0]; w.Count != runs || w.Pairs != runs || w.Bytes != 10*runs {
		t.Errorf("got %+v", w)
	}
	if !o.ops[opOf("write")].quick.Load() {
		t.Skip("NOT TESTED: the machine is so slow that nothing is quick")
	}
	_, all, _, err := f.Ops[0].AtMost(time.Hour)
	if err != nil || exact > runs/2 || exact < runs/128 || all < runs/4 || all > 4*runs {
		t.Errorf("%d of %d were timed, and stand for %d, %v", exact, runs, all, err)
	}
	for i := 0; ; i++ { // until one is not timed
		_, began := o.Begin(ctx, "write")
		if began&1 == 0 {
			o.setClock(1 + int64(time.Second))
			o.Finish(ctx, began, kv.Event{Op: "write"})
			break
		}
	}
	if f := o.Figures(); f.SlowTotal != 1 || f.Slow[0].Took != time.Second || f.Ops[0].Latency.Max < time.Second {
		t.Errorf("a slow one that was not timed: %+v", f.Slow)
	}
	o.setClock(0)
	if _, began := o.Begin(ctx, "write"); began&1 == 0 {
		t.Error("without a rough clock one was not timed")
	}
	for range 1000 {
		o.ops[opOf("write")].note(time.Second)
	}
	o.setClock(1)
	for range 100 {
		if _, began := o.Begin(ctx, "write"); began&1 == 0 {
			t.Fatal("one of those that take long was not timed")
		}
	}
}

// TestTheNextIsTimedOnceInThirtyTwoWhateverIsCounted holds the share for operations that differ
// from each other in nothing but their number, as views do.
func TestTheNextIsTimedOnceInThirtyTwoWhateverIsCounted(t *testing.T) {
	for _, e := range []kv.Event{{}, {Pairs: 1, Bytes: 116}, {Pairs: 100, Bytes: 11600}} {
		seed := rand.Uint64()
		c := counter{seed: seed}
		const runs = 200_000
		var due int
		var beside [8]int // by the place in a loop of eight operations
		for n := range runs {
			if c.count(&e, 0) {
				due++
				beside[n%8]++
			}
		}
		if due < runs/oneOf*9/10 || due > runs/oneOf*11/10 {
			t.Errorf("%+v, seed %d: %d of %d", e, seed, due, runs)
		}
		for place, n := range beside {
			if n < due/8*3/4 || n > due/8*5/4 {
				t.Errorf("%+v, seed %d: %d of %d fall on place %d of 8", e, seed, n, due, place)
			}
		}
	}
}
