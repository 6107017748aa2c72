package workload_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/lab/workload"
)

// start returns a Runner of an operation after Setup; it is closed when the test ends.
func start(t *testing.T, name, op string, env workload.Env) workload.Runner {
	t.Helper()
	w, ok := workload.Lookup(name)
	if !ok {
		t.Fatalf("no workload %s", name)
	}
	o, ok := w.Op(op)
	if !ok {
		t.Fatalf("%s has no operation %s", name, op)
	}
	env.Dir = t.TempDir()
	r, err := o.New(env)
	if err != nil {
		t.Fatal(err)
	}
	return setUp(t, r)
}

// setUp calls Setup, and Close when the test ends.
func setUp(t *testing.T, r workload.Runner) workload.Runner {
	t.Helper()
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// slice runs n iterations on as many workers as the operation has, and returns the first error.
func slice(ctx context.Context, r workload.Runner, workers, n int) error {
	if err := r.Prepare(n); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	var wg sync.WaitGroup
	workers = max(workers, 1)
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n && errs[w] == nil; i += workers {
				errs[w] = r.Do(ctx, w, i)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("do: %w", err)
		}
	}
	if err := r.Verify(ctx); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return nil
}

// weakest returns an engine's weakest class, which is the fastest to test with.
func weakest(t *testing.T, engine string) kv.Durability {
	t.Helper()
	d, ok := driver.Lookup(engine)
	if !ok {
		t.Fatalf("no engine %s", engine)
	}
	return d.Info().Caps.Cheapest()
}

func TestEveryOperationOfYCSBWorksOnEveryEngine(t *testing.T) {
	w, _ := workload.Lookup("ycsb")
	for _, engine := range some("mem", "bbolt", "pebble", "sqlite") {
		for _, op := range w.Ops {
			t.Run(engine+" "+op.Name, func(t *testing.T) {
				r := start(t, "ycsb", op.Name, workload.Env{Engine: engine, Durability: weakest(t, engine), Seed: 1,
					Params: map[string]string{"records": "300", "value": "40"}})
				for _, n := range []int{1, 150, 400, 20} {
					if err := slice(t.Context(), r, op.Workers, n); err != nil {
						t.Fatalf("slice of %d: %v", n, err)
					}
				}
				d := r.Describe()
				if !d.Promise.Supported || engine != "mem" && (len(d.Settings) == 0 || d.Open <= 0) {
					t.Errorf("described as %+v", d)
				}
				if err := r.Compact(t.Context()); err != nil {
					t.Error(err)
				}
				size, err := r.Size()
				if err != nil || (size.Allocated < 300*40 && engine != "mem") {
					t.Errorf("size %+v, error %v", size, err)
				}
			})
		}
	}
}

// tamper is the engine "tamper": the store of another engine, the last of which a test can change
// behind a Runner's back.
type tamper struct {
	driver.Driver
	store driver.Store // the last that was opened
}

var tampered = func() *tamper {
	mem, _ := driver.Lookup("mem")
	t := &tamper{Driver: mem}
	driver.Register(t)
	return t
}()

func (t *tamper) Info() driver.Info {
	info := t.Driver.Info()
	info.Name = "tamper"
	return info
}

func (t *tamper) Open(ctx context.Context, c driver.Config) (s driver.Store, err error) {
	s, err = t.Driver.Open(ctx, c)
	t.store = s
	return s, err
}

// apply hands every pair of the store to change, and commits what it returns.
func (t *tamper) apply(test *testing.T, change func(k, v []byte) *driver.Op) {
	test.Helper()
	r, err := t.store.Snapshot(context.Background())
	if err != nil {
		test.Fatal(err)
	}
	c, err := r.Cursor(driver.Range{})
	if err != nil {
		test.Fatal(err)
	}
	var ops []driver.Op
	for {
		k, v, err := c.Next()
		if err != nil {
			test.Fatal(err)
		}
		if k == nil {
			break
		}
		if op := change([]byte(string(k)), []byte(string(v))); op != nil {
			ops = append(ops, *op)
		}
	}
	if err := driver.Apply(test.Context(), t.store, ops, driver.Buffered); err != nil {
		test.Fatal(err)
	}
}

func lose(k, _ []byte) *driver.Op { return &driver.Op{Key: k, Delete: true} }

func damage(k, v []byte) *driver.Op {
	v[len(v)-1] ^= 1
	return &driver.Op{Key: k, Value: v}
}

func TestYCSBFailsOnAStoreThatLosesOrChangesRecords(t *testing.T) {
	for _, op := range []string{"A", "B", "C", "D", "E", "F", "readrandom", "readseq"} {
		for name, change := range map[string]func(k, v []byte) *driver.Op{
			"lost":    lose,
			"damaged": damage,
			"of another record": func(k, _ []byte) *driver.Op {
				return &driver.Op{Key: k, Value: []byte(strings.Repeat("x", 40))}
			},
		} {
			t.Run(op+" "+name, func(t *testing.T) {
				r := start(t, "ycsb", op, workload.Env{Engine: "tamper", Durability: kv.Buffered, Seed: 2,
					Params: map[string]string{"records": "100", "value": "40"}})
				if err := slice(t.Context(), r, 0, 100); err != nil {
					t.Fatal(err)
				}
				tampered.apply(t, change)
				if err := slice(t.Context(), r, 0, 100); err == nil || !strings.HasPrefix(err.Error(), "do: ") {
					t.Errorf("error %v, want one of Do", err)
				}
			})
		}
	}
}

func TestYCSBFindsAScanThatSkipsOrInventsRecords(t *testing.T) {
	for _, op := range []string{"E", "readseq"} {
		for name, change := range map[string]func(k, v []byte) *driver.Op{
			"skips": func(k, v []byte) *driver.Op {
				if k[15]%10 == 3 {
					return lose(k, v)
				}
				return nil
			},
			"invents": func(k, v []byte) *driver.Op { return &driver.Op{Key: append(k, 0), Value: v} },
		} {
			t.Run(op+" "+name, func(t *testing.T) {
				r := start(t, "ycsb", op, workload.Env{Engine: "tamper", Durability: kv.Buffered, Seed: 2,
					Params: map[string]string{"records": "100"}})
				tampered.apply(t, change)
				if err := slice(t.Context(), r, 0, 50); err == nil {
					t.Error("no error")
				}
			})
		}
	}
}

func TestYCSBVerifiesWhatASliceWrote(t *testing.T) {
	for _, op := range []string{"A", "D", "E", "F", "fillseq", "fillrandom", "overwrite"} {
		for name, change := range map[string]func(k, v []byte) *driver.Op{"lost": lose, "damaged": damage} {
			t.Run(op+" "+name, func(t *testing.T) {
				r := start(t, "ycsb", op, workload.Env{Engine: "tamper", Durability: kv.Buffered, Seed: 3,
					Params: map[string]string{"records": "100"}})
				if err := do(t.Context(), r, 60); err != nil {
					t.Fatal(err)
				}
				tampered.apply(t, change)
				if err := r.Verify(t.Context()); err == nil {
					t.Error("no error")
				}
			})
		}
	}
}

func TestDeleterandomFindsADeleteThatDidNothing(t *testing.T) {
	r := start(t, "ycsb", "deleterandom", workload.Env{Engine: "tamper", Durability: kv.Buffered, Seed: 3,
		Params: map[string]string{"records": "100"}})
	var saved []driver.Op
	tampered.apply(t, func(k, v []byte) *driver.Op {
		saved = append(saved, driver.Op{Key: k, Value: v})
		return nil
	})
	if err := do(t.Context(), r, 60); err != nil {
		t.Fatal(err)
	}
	if err := r.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := driver.Apply(t.Context(), tampered.store, saved, driver.Buffered); err != nil {
		t.Fatal(err)
	}
	if err := r.Verify(t.Context()); err == nil {
		t.Error("no error")
	}
}

// do is a slice without its Verify.
func do(ctx context.Context, r workload.Runner, n int) error {
	if err := r.Prepare(n); err != nil {
		return err
	}
	for i := range n {
		if err := r.Do(ctx, 0, i); err != nil {
			return err
		}
	}
	return nil
}

func TestYCSBReadsWithoutAllocating(t *testing.T) {
	for _, op := range []string{"readrandom", "C"} {
		r := start(t, "ycsb", op, workload.Env{Engine: "mem", Durability: kv.Buffered, Seed: 4})
		allocatesNothing(t, op, r)
	}
}

// allocatesNothing does an operation 2,000 times.
func allocatesNothing(t *testing.T, op string, r workload.Runner) {
	t.Helper()
	const runs = 2000
	if err := r.Prepare(runs + 2); err != nil {
		t.Fatal(err)
	}
	ctx, i := context.Background(), 0
	if got := testing.AllocsPerRun(runs, func() {
		if err := r.Do(ctx, 0, i); err != nil {
			t.Fatal(err)
		}
		i++
	}); got != 0 {
		t.Errorf("%s: %v allocations, want 0", op, got)
	}
}
