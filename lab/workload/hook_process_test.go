package workload_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

func metrics(t *testing.T, r workload.Runner) map[string]float64 {
	t.Helper()
	m, ok := r.(workload.Metered)
	if !ok {
		t.Fatalf("%T measures nothing of its own", r)
	}
	values := map[string]float64{}
	for _, m := range m.Metrics() {
		values[m.Name] = m.Value
	}
	return values
}

func TestKilledProcessesLoseNothingThatWasAcknowledged(t *testing.T) {
	for _, store := range hookStores {
		t.Run(store.name, func(t *testing.T) {
			if testing.Short() && store.engine != "bbolt" {
				t.Skip("forty processes for each slice: without -short")
			}
			t.Parallel()
			env := workload.Env{Engine: store.engine, Options: store.options, Durability: kv.Flushed, Seed: 11}
			slices := 3
			if testing.Short() || store.engine == "badger" || store.engine == "pebble" {
				slices = 1 // they take long to open
			}
			if store.engine == "pebble" {
				env.Durability = kv.Buffered // closing is what acknowledges
			}
			c := newHookCell(t, "processes_4", env)
			killed := 0.0
			// Whether a kill hits before the process has ended is a matter of time.
			for n := 0; n < slices || killed == 0 && n < 20; n++ {
				if err := errors.Join(c.do(t.Context(), 40), c.Verify(t.Context())); err != nil {
					t.Fatal(err)
				}
				m := metrics(t, c.Runner)
				killed += m["killed"]
				if m["lock-wait-p50-ns"] <= 0 || m["lock-wait-p99-ns"] < m["lock-wait-p50-ns"] ||
					m["open-after-ns"] <= 0 {
					t.Errorf("metrics %v", m)
				}
				if m["timeouts"] != 0 {
					t.Errorf("%v time-outs, with 10 s to wait", m["timeouts"])
				}
			}
			if killed == 0 {
				t.Error("no process was killed")
			}
		})
	}
}

func TestAProcessThatCannotGetTheLockIsCounted(t *testing.T) {
	for _, store := range []struct{ engine, options string }{
		{"bbolt", "wait=5ms"},
		{"sqlite", "wait=5ms"},
	} {
		t.Run(store.engine, func(t *testing.T) {
			c := newHookCell(t, "processes_4", workload.Env{
				Engine: store.engine, Options: store.options, Durability: kv.Flushed, Seed: 12,
			})
			c.change(t, func(*kv.Tx) error { return c.do(t.Context(), 20) })
			if err := c.Verify(t.Context()); err != nil {
				t.Fatal(err)
			}
			if m := metrics(t, c.Runner); m["timeouts"] == 0 {
				t.Errorf("no time-outs while another process had the lock: %v", m)
			}
			if err := errors.Join(c.do(t.Context(), 4), c.Verify(t.Context())); err != nil {
				t.Errorf("after the lock was released: %v", err)
			}
		})
	}
}

func TestAStoreThatIsNotFreeAfterTheLastProcessFails(t *testing.T) {
	t.Parallel() // it waits for the lock
	c := newHookCell(t, "processes_1", workload.Env{Engine: "bbolt", Durability: kv.Flushed, Seed: 13})
	if err := c.do(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	c.change(t, func(*kv.Tx) error {
		if err := c.Verify(t.Context()); !errors.Is(err, kv.Busy) {
			t.Errorf("got %v, want busy", err)
		}
		return nil
	})
}

func TestAHelperThatFailsEndsTheOperation(t *testing.T) {
	w, _ := workload.Lookup("hook")
	op, _ := w.Op("processes_1")
	env := workload.Env{Engine: "bbolt", Durability: kv.Flushed}
	if _, err := op.New(env); !errors.Is(err, kv.Unsupported) {
		t.Errorf("without helpers: got %v, want unsupported", err)
	}
	for name, c := range map[string]struct {
		self []string
		want string
	}{
		"a program that does not exist": {[]string{"/does/not/exist"}, "start helper process"},
		"a program that says nothing":   {append(self(t), "-silent"), "unknown workload"},
	} {
		env.Dir, env.Self = t.TempDir(), c.self
		r, err := op.New(env)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Setup(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

func TestTheEndOfTheContextEndsTheProcess(t *testing.T) {
	c := newHookCell(t, "processes_1", workload.Env{Engine: "bbolt", Durability: kv.Flushed, Seed: 14})
	c.change(t, func(*kv.Tx) error { // the process waits for the lock
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := c.do(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		return nil
	})
}

func TestHelperRefusesWhatIsNoTask(t *testing.T) {
	for _, args := range [][]string{
		nil,
		{"events"},
		{"hook"},
		{"hook", "kv", "bbolt:x", "synced", "1", "128", "1", "2", "0s", "3"},
		{"hook", "kv", "bbolt:x", "never", "1", "128", "1", "2", "0s"},
		{"hook", "kv", "bbolt:x", "synced", "1", "128", "one", "2", "0s"},
		{"hook", "kv", "bbolt:x", "synced", "1", "128", "1", "2", "soon"},
	} {
		var out strings.Builder
		err := workload.Helper(t.Context(), args, strings.NewReader(""), &out)
		if !errors.Is(err, kv.Invalid) || out.Len() > 0 {
			t.Errorf("%q: got %v and output %q, want an error alone", args, err, out.String())
		}
	}
}

// A crowd is as large as its parameter says, and its row tells of time-outs and processor time.
func TestACrowdIsAsLargeAsAsked(t *testing.T) {
	n := 20
	if testing.Short() {
		n = 5
	}
	env := workload.Env{Engine: "bbolt", Durability: kv.Flushed, Seed: 3, Params: map[string]string{"n": fmt.Sprint(n)}}
	c := newHookCell(t, "processes", env)
	crowd, ok := c.Runner.(workload.Crowd)
	if !ok || crowd.Workers() != n {
		t.Fatalf("%T has not %d workers", c.Runner, n)
	}
	if err := errors.Join(c.do(t.Context(), 2*n), c.Verify(t.Context())); err != nil {
		t.Fatal(err)
	}
	m := metrics(t, c.Runner)
	if _, told := m["timeouts"]; !told || m["cpu-p50-ns"] <= 0 {
		t.Errorf("metrics %v, want the time-outs and the processor time", m)
	}
	hook, _ := workload.Lookup("hook")
	op, _ := hook.Op("processes")
	env.Params, env.Self = map[string]string{"n": "0"}, []string{"self"}
	if _, err := op.New(env); kv.KindOf(err) != kv.Invalid {
		t.Errorf("no process at a time: %v, want Invalid", err)
	}
	env.Params = nil
	if r, err := op.New(env); err != nil || r.(workload.Crowd).Workers() != 50 {
		t.Errorf("without a number: %T, %v, want 50 at a time", r, err)
	}
}
