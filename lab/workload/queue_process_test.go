package workload_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload"
)

// processQueue returns a cell of processes on one queue.
func processQueue(t *testing.T, op, form, backlog string) workload.Runner {
	return start(t, "queue", op, workload.Env{Engine: "sqlite", Form: form, Durability: kv.Flushed, Seed: 3,
		Self:   self(t),
		Params: map[string]string{"backlog": backlog, "payload": "40"}})
}

func TestProcessesShareAQueue(t *testing.T) {
	for _, c := range []struct {
		op, form, backlog string
		workers           int
	}{{"cycle_processes_1", "kv", "0", 1}, {"cycle_processes_1", "sql", "30", 1}, {"cycle_processes_4", "kv", "30", 4},
		{"cycle_processes_4", "sql", "0", 4}} {
		t.Run(strings.Join([]string{c.op, c.form, c.backlog}, " "), func(t *testing.T) {
			t.Parallel()
			r := processQueue(t, c.op, c.form, c.backlog)
			for _, n := range []int{1, 5} {
				if err := slice(t.Context(), r, c.workers, n); err != nil {
					t.Fatalf("slice of %d: %v", n, err)
				}
			}
			describes(t, r, true)
		})
	}
}

func TestJobsOfAKilledConsumerAreNotLost(t *testing.T) {
	for _, form := range []string{"kv", "sql"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			r := processQueue(t, "cycle_processes_4", form, "30")
			for _, n := range []int{1, 17, 33} {
				workload.KillConsumer(r, n%4, n)
				if err := slice(t.Context(), r, 4, 8); err != nil {
					t.Fatalf("killed after %d jobs: %v", n, err)
				}
			}
		})
	}
}

func TestAnEngineForOneProcessHasNoQueueOfProcesses(t *testing.T) {
	w, _ := workload.Lookup("queue")
	op, _ := w.Op("cycle_processes_1")
	env := workload.Env{Dir: t.TempDir(), Engine: "bbolt", Form: "kv", Durability: kv.Flushed, Seed: 3}
	if _, err := op.New(env); !errors.Is(err, kv.Unsupported) || kv.HintOf(err) == "" {
		t.Errorf("without a way to start processes: %v, want Unsupported with a hint", err)
	}
	env.Self = self(t)
	r, err := op.New(env)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Setup(t.Context()); !errors.Is(err, kv.Unsupported) || !strings.Contains(err.Error(), "one process") {
		t.Errorf("setup on bbolt: %v, want Unsupported, for it is for one process", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
