package workload

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/assaydb/assay/kv"
)

// notPublished are operations of built-in workloads that no publication has.
var notPublished = []string{"processes", "storm"}

// TestThePublicationsCanBeWritten holds the workloads of the publications in files against the
// built-in ones, operation by operation: what is drawn from the same seed, what is done with it,
// and how it is counted.
func TestThePublicationsCanBeWritten(t *testing.T) {
	small := map[string][2]map[string]string{ // parameters of the file, and of the built-in
		"hook":    {},
		"events":  {},
		"feed":    {{"records": "5k"}, {"messages": "5k"}},
		"queue":   {{"records": "50"}, {"backlog": "50"}},
		"records": {{"records": "300"}, {"n": "300"}},
	}
	for _, builtIn := range []Workload{hook, events, feeds, jobs, records} {
		w := ownFrom(t, "like-"+builtIn.Name+".yaml")
		for _, known := range builtIn.Ops {
			if slices.Contains(notPublished, known.Name) {
				continue
			}
			t.Run(builtIn.Name+" "+known.Name, func(t *testing.T) {
				op, ok := w.Op(known.Name)
				if !ok {
					t.Fatal("the file has no such operation")
				}
				sameCounts(t, op, known)
				env := Env{Engine: "bbolt", Durability: kv.Buffered, Seed: 5, Params: small[builtIn.Name][0],
					Self: thisBinary(t)}
				if op.Name == "size" && builtIn.Name == "records" {
					known.New = records.Ops[slices.IndexFunc(records.Ops, func(o Op) bool { return o.Name == "read" })].New
				}
				if ok, _ := filepath.Match("cycle_processes_*", known.Name); ok {
					env.Engine, env.Durability = "sqlite", kv.Flushed // which several processes may have open
				}
				mine := ownSetUp(t, op, env)
				env.Params = small[builtIn.Name][1]
				theirs := ownSetUp(t, known, env)
				n := 2 * max(op.Cycle, 1)
				for range 2 {
					for _, r := range []Runner{mine, theirs} {
						publishedSlice(t, r, op.Workers, n)
					}
					if got, want := drawn(mine), drawn(theirs); !reflect.DeepEqual(got, want) {
						t.Fatalf("the file does\n%.400v\nwant\n%.400v", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
					}
				}
			})
		}
	}
}

// sameCounts holds an operation of a file against the built-in one.
func sameCounts(t *testing.T, op, known Op) {
	t.Helper()
	if op.Commits != known.Commits || op.Sized != known.Sized || max(op.Cycle, 1) != max(known.Cycle, 1) ||
		max(op.Workers, 1) != max(known.Workers, 1) {
		t.Errorf("%+v\nwant %+v", op, known)
	}
	if op.Name != "stream10k" && max(op.Items, 1) != max(known.Items, 1) { // it walks through all, how many there are
		t.Errorf("%d items, want %d", op.Items, known.Items)
	}
	for _, engine := range []string{"bbolt", "sqlite", "margaret"} {
		for _, form := range formsOf(op, engine) {
			if !slices.Contains(formsOf(known, engine), form) {
				t.Errorf("%s has the form %s, which the built-in has not", engine, form)
			}
		}
	}
	if got, want := len(formsOf(op, "bbolt")), len(formsOf(known, "bbolt")); got != want {
		t.Errorf("%d forms on bbolt, want %d", got, want)
	}
}

func formsOf(op Op, engine string) []string {
	if op.Forms == nil {
		return []string{"kv"}
	}
	return op.Forms(engine, "")
}

// publishedSlice is ownSlice of operations that need something put in place before each iteration.
func publishedSlice(t *testing.T, r Runner, workers, n int) {
	t.Helper()
	resetter, ok := r.(Resetter)
	if !ok {
		ownSlice(t, r, workers, n)
		return
	}
	if err := r.Prepare(n); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := resetter.Reset(t.Context(), 0, i); err != nil {
			t.Fatal(err)
		}
		if err := r.Do(t.Context(), 0, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// drawn is what a Runner drew for the slice, and what it does with that.
func drawn(r Runner) []any {
	switch r := r.(type) {
	case *hookRunner:
		return []any{r.steps, r.versions, r.length, r.puts, nameOf(r.work), nameOf(r.stateWork)}
	case *staleRunner:
		return []any{r.groups, r.versions}
	case *sharedRunner:
		return []any{r.keys, r.versions, len(r.readers), nameOf(r.read)}
	case *processRunner:
		return []any{r.steps, len(r.versions), r.values}
	case eventsCrowd:
		return drawn(r.eventsRunner)
	case *eventsRunner:
		starts := r.starts
		if nameOf(r.task.read) == nameOf((*eventsRunner).walk) {
			starts = nil // it begins at the beginning
		}
		return []any{starts, len(r.drafts), r.values, nameOf(r.task.read), r.task.appends, readOf(r)}
	case *feedRunner:
		return []any{r.loaded, r.starts, r.seqs, r.task.appends, r.task.reads, nameOf(r.task.read)}
	case *processQueueRunner:
		return []any{r.backlog, r.values, r.workers, len(r.status)}
	case *queueRunner:
		what, does := r.task, nameOf(r.task.do)
		what.do = nil
		return []any{r.backlog, r.values, r.workers, r.payloads, what, does}
	case *recordsRunner:
		return []any{r.loaded, r.insert, r.inserts, r.list, r.chosen, r.balances, nameOf(r.do)}
	}
	panic(fmt.Sprintf("%T", r))
}

// readOf is how much a Runner has loaded, and reads; how much it has loaded of one that appends
// alone says nothing.
func readOf(r *eventsRunner) [2]int {
	if r.task.reads == 0 {
		return [2]int{}
	}
	if nameOf(r.task.read) == nameOf((*eventsRunner).walk) {
		return [2]int{r.loaded, 0} // all
	}
	return [2]int{r.loaded, r.task.reads}
}

func nameOf(function any) string {
	v := reflect.ValueOf(function)
	if v.IsNil() {
		return ""
	}
	return runtime.FuncForPC(v.Pointer()).Name()
}
