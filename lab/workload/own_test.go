package workload

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/workload/schema"
	"github.com/assaydb/assay/stores/eventlog"
)

const examples = "../../examples/workloads"

// ownFrom returns the workload of a file that ships.
func ownFrom(t *testing.T, file string) Workload {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examples, file))
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := Own(strings.TrimSuffix(file, ".yaml"), text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func ownSetUp(t *testing.T, op Op, env Env) Runner {
	t.Helper()
	env.Dir = t.TempDir()
	r, err := op.New(env)
	if err != nil {
		t.Fatal(err)
	}
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

// ownSlice runs n iterations, by so many goroutines, as the bench does: they take them from one
// counter.
func ownSlice(t *testing.T, r Runner, workers, n int) {
	t.Helper()
	if err := r.Prepare(n); err != nil {
		t.Fatal(err)
	}
	iterations := make(chan int, n)
	for i := range n {
		iterations <- i
	}
	close(iterations)
	var wg sync.WaitGroup
	for w := range max(workers, 1) {
		wg.Go(func() {
			for i := range iterations {
				if err := r.Do(t.Context(), w, i); err != nil {
					t.Errorf("do: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := r.Verify(t.Context()); err != nil {
		t.Fatalf("verify: %v", err)
	}
}

func TestEveryExampleRuns(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		w := ownFrom(t, filepath.Base(file))
		if strings.HasPrefix(w.Name, "like-") {
			continue // see TestThePublicationsCanBeWritten
		}
		for _, op := range w.Ops {
			t.Run(w.Name+" "+op.Name, func(t *testing.T) {
				r := ownSetUp(t, op, Env{Engine: "bbolt", Durability: kv.Buffered, Seed: 1,
					Params: map[string]string{"records": "1k"}, Self: thisBinary(t)})
				for _, n := range []int{1, 2 * op.Cycle, 37} {
					ownSlice(t, r, op.Workers, n)
				}
				if size, err := r.Size(); err != nil || size.Allocated == 0 {
					t.Errorf("size %+v, error %v", size, err)
				}
			})
		}
	}
}

// thisBinary is the command that makes this binary a helper process, see TestMain.
func thisBinary(t *testing.T) []string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{path, "assay-helper"}
}

func TestProcessesShareOneStore(t *testing.T) {
	w, _, err := Own("shared", []byte("summary: s\noperations: [{name: p, mix: {read: 50, update: 25, insert: 25}, processes: 3}]"))
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Engine: "sqlite", Durability: kv.Flushed, Seed: 5, Params: map[string]string{"records": "300"},
		Self: thisBinary(t)}
	r := ownSetUp(t, w.Ops[0], env).(*ownProcesses)
	for range 3 {
		ownSlice(t, r, 3, 6)
	}
	inserted := 0
	for _, p := range r.parts {
		inserted += int(p.plan.model.live()) - p.records
	}
	if want := 3 * 6 * processSteps / 4; inserted != want {
		t.Errorf("%d records were inserted, want %d", inserted, want)
	}
	key := r.parts[2].plan.steps[len(r.parts[2].plan.steps)-1].key
	if err := r.db.Delete(t.Context(), kv.Flushed, key[:]); err != nil {
		t.Fatal(err)
	}
	if err := r.Prepare(60); err != nil {
		t.Fatal(err)
	}
	var found error
	for i := range 60 {
		if found = r.Do(t.Context(), 0, i); found != nil {
			break
		}
	}
	if found == nil {
		found = r.Verify(t.Context())
	}
	if found == nil {
		t.Error("no process saw that one of its records was gone")
	}
	for _, p := range r.helpers { // one may have ended with that error, and the store must still close
		p.kill()
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestProcessesNeedAStoreThatTheyMayShare(t *testing.T) {
	w, _, err := Own("shared", []byte("summary: s\noperations: [{name: p, mix: {read: 100}, processes: 2}]"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Ops[0].New(Env{Dir: t.TempDir(), Engine: "bbolt", Durability: kv.Flushed, Self: thisBinary(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Setup(t.Context()); !errors.Is(err, kv.Unsupported) {
		t.Errorf("got %v, want Unsupported", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestAFileDoesWhatTheBuiltInDoes holds the core workloads of YCSB in a file against the built-in
// ones: the same steps, and the same store in the end.
func TestAFileDoesWhatTheBuiltInDoes(t *testing.T) {
	w := ownFrom(t, "ycsb-core.yaml")
	if len(w.Ops) != 6 {
		t.Fatalf("%d operations", len(w.Ops))
	}
	for _, op := range w.Ops {
		t.Run(op.Name, func(t *testing.T) {
			builtIn, _ := ycsb.Op(op.Name)
			if op.Cycle != builtIn.Cycle && !(op.Cycle == 1 && builtIn.Cycle == 0) || op.Commits != builtIn.Commits ||
				op.Summary != builtIn.Summary {
				t.Errorf("%d, %v, %q; want %d, %v, %q", op.Cycle, op.Commits, op.Summary, builtIn.Cycle,
					builtIn.Commits, builtIn.Summary)
			}
			env := Env{Engine: "bbolt", Durability: kv.Buffered, Seed: 11}
			if testing.Short() {
				env.Params = map[string]string{"records": "1k"}
			}
			own := ownSetUp(t, op, env).(*ownRunner)
			known := ownSetUp(t, builtIn, env).(*ycsbRunner)
			for range 3 {
				ownSlice(t, own, 1, 400)
				ownSlice(t, known, 1, 400)
				if got, want := own.parts[0].plan.steps, known.plan.steps; !slices.Equal(got, want) {
					t.Fatal("the steps differ")
				}
			}
			if !bytes.Equal(contents(t, own.db), contents(t, known.db)) {
				t.Error("the stores differ")
			}
		})
	}
}

// contents returns all pairs of a store, one behind the other.
func contents(t *testing.T, db *kv.DB) (all []byte) {
	t.Helper()
	err := db.View(t.Context(), func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Range{}) {
			all = append(append(all, k...), v...)
		}
		return s.Err()
	})
	if err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	return all
}

// TestAStoreOfAFileDoesWhatTheBuiltInDoes holds operations on a queue and a log in a file against
// those of the built-in workloads: the same jobs are left, the same events.
func TestAStoreOfAFileDoesWhatTheBuiltInDoes(t *testing.T) {
	w, _, err := Own("shop", []byte(`summary: s
stores:
  mails: {queue: {backlog: 50, payload: 64}}
  orders: {log: {events: 2k}}
operations:
- {name: cycle, store: mails, does: cycle}
- {name: claim, store: mails, does: claim, batch: 100}
- {name: size, store: orders, does: read, batch: 1000}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		builtIn Workload
		op      string
		own     string
		params  map[string]string
	}{
		{jobs, "cycle", "cycle", map[string]string{"backlog": "50", "payload": "64"}},
		{jobs, "claim_batch100", "claim", map[string]string{"backlog": "50", "payload": "64"}},
		{events, "size", "size", map[string]string{"events": "2k"}},
	} {
		t.Run(c.op, func(t *testing.T) {
			known, _ := c.builtIn.Op(c.op)
			op, _ := w.Op(c.own)
			if op.Items != known.Items || op.Commits != known.Commits || op.Workers > 1 {
				t.Errorf("%d items, commits %v, want %d, %v", op.Items, op.Commits, known.Items, known.Commits)
			}
			if got, want := op.Forms("sqlite", ""), []string{"kv", "sql"}; !slices.Equal(got, want) {
				t.Errorf("forms %v, want %v", got, want)
			}
			env := Env{Engine: "bbolt", Durability: kv.Buffered, Seed: 3}
			mine := ownSetUp(t, op, env)
			env.Params = c.params
			theirs := ownSetUp(t, known, env)
			for range 2 {
				ownSlice(t, mine, 1, 20)
				ownSlice(t, theirs, 1, 20)
			}
			switch a := mine.(type) {
			case *queueRunner:
				b := theirs.(*queueRunner)
				if !slices.Equal(a.status, b.status) || !slices.Equal(a.settled, b.settled) || a.values != b.values {
					t.Error("the jobs differ")
				}
			case *eventsRunner:
				b := theirs.(*eventsRunner)
				if a.loaded != b.loaded || a.task.reads != b.task.reads || a.values != b.values {
					t.Error("the logs differ")
				}
			}
		})
	}
}

// TestEventsHaveTheSizeOfTheFile reads what was appended.
func TestEventsHaveTheSizeOfTheFile(t *testing.T) {
	w := ownFrom(t, "orders.yaml")
	op, _ := w.Op("import")
	r := ownSetUp(t, op, Env{Engine: "bbolt", Durability: kv.Buffered, Seed: 3,
		Params: map[string]string{"records": "1k"}}).(*eventsRunner)
	ownSlice(t, r, 1, 2)
	list, err := r.log.Load(t.Context(), eventlog.Range{})
	if err != nil || len(list) != 1200 {
		t.Fatal(len(list), err)
	}
	for _, e := range list {
		if len(e.Data) != 300 {
			t.Fatalf("event %d has %d bytes", e.Position, len(e.Data))
		}
	}
}

func TestPhasesFollowOneAnother(t *testing.T) {
	w, _, err := Own("two", []byte("summary: s\noperations:\n- name: p\n  phases:\n  - {iterations: 3, mix: {insert: 100}}\n  - {iterations: 4, mix: {read: 50, update: 50}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := ownSetUp(t, w.Ops[0], Env{Engine: "bbolt", Durability: kv.Buffered, Seed: 1}).(*ownRunner)
	ownSlice(t, r, 1, 14)
	for i, s := range r.parts[0].plan.steps {
		if inserts := i%7 < 3; inserts != (s.action == actInsert) {
			t.Errorf("step %d is %d", i, s.action)
		}
	}
}

func TestValuesHaveTheSizesOfTheFile(t *testing.T) {
	w, _, err := Own("sizes", []byte("summary: s\nstores: {a: {keys: {count: 300}, values: {size: 20, to: 60}}}\noperations: [{name: r, mix: {update: 100}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := ownSetUp(t, w.Ops[0], Env{Engine: "bbolt", Durability: kv.Buffered, Seed: 1}).(*ownRunner)
	ownSlice(t, r, 1, 100)
	seen := map[int]int{}
	if err := r.db.View(t.Context(), func(s *kv.Snapshot) error {
		for _, v := range s.Scan(kv.Range{}) {
			seen[len(v)]++
		}
		return s.Err()
	}); err != nil {
		t.Fatal(err)
	}
	if len(seen) < 30 || seen[20] == 0 || seen[60] == 0 || seen[19]+seen[61] != 0 {
		t.Errorf("sizes %v, want all from 20 to 60", seen)
	}
}

func TestKeysHaveTheSizeOfTheFile(t *testing.T) {
	for _, op := range []string{"mix: {read: 40, update: 30, insert: 20, scan: 10}", "mix: {read: 50, insert: 50}, open: each",
		"mix: {read: 50, modify: 50}, workers: 2", "mix: {read: 50, update: 50}, processes: 2, open: each"} {
		w, _, err := Own("keys", []byte("summary: s\nstores: {a: {keys: {count: 300, size: 41}}}\noperations: [{name: r, "+op+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		env := Env{Engine: "bbolt", Durability: kv.Buffered, Seed: 1, Self: thisBinary(t)}
		runner := ownSetUp(t, w.Ops[0], env)
		for range 2 {
			ownSlice(t, runner, w.Ops[0].Workers, 2*w.Ops[0].Cycle)
		}
		r, ok := runner.(*ownRunner)
		if !ok {
			r = runner.(*ownProcesses).ownRunner
		}
		keys := 0
		err = r.with(t.Context(), func(db *kv.DB) error {
			return db.View(t.Context(), func(s *kv.Snapshot) error {
				for k := range s.Keys(kv.Range{}) {
					if keys++; len(k) != 41 || !strings.HasPrefix(string(k), "store/store/") {
						t.Errorf("%s: key %q has %d bytes, want 41", op, k, len(k))
					}
				}
				return s.Err()
			})
		})
		if err != nil || keys < 300 {
			t.Errorf("%s: %d keys, error %v", op, keys, err)
		}
	}
}

// TestAWorkerFindsWhatWasLost holds the check of several workers against a store that was changed.
func TestAWorkerFindsWhatWasLost(t *testing.T) {
	w := ownFrom(t, "catalogue.yaml")
	op, _ := w.Op("count-parallel")
	r := ownSetUp(t, op, Env{Engine: "bbolt", Durability: kv.Buffered, Seed: 1}).(*ownRunner)
	ownSlice(t, r, op.Workers, 400)
	key := r.parts[3].plan.steps[0].key
	if err := r.db.Delete(t.Context(), kv.Buffered, key[:]); err != nil {
		t.Fatal(err)
	}
	if err := r.Verify(t.Context()); err == nil {
		t.Error("nobody saw that a record of the last worker was gone")
	}
}

func TestAWrongFileSaysWhere(t *testing.T) {
	const head = "summary: s\noperations:\n"
	for _, c := range []struct{ name, text, where, hint string }{
		{"no YAML", "summary: s\n\toperations: 1", "mine.yaml:2: ", "indent with spaces"},
		{"nothing", "# to be written\n", "mine.yaml: it is empty", "summary: and operations:"},
		{"a field twice", head + "- name: a\n  mix: {read: 100}\n  mix: {read: 50}\n", `mine.yaml:5: mapping key "mix"`,
			"write the field once"},
		{"a number with its unit", head + "- name: a\n  mix: {read: 95%, update: 5}\n",
			`mine.yaml:4: operations.0.mix.read: "95%" is of type string, not integer`, "a whole number from 0 to 100"},
		{"a field without a value", head + "- name: a\n  mix:\n", "mine.yaml:4: operations.0.mix: it is empty",
			"the parts in percent"},
		{"none of several stores", "summary: s\nstores: {b: {}, c: {}}\noperations:\n- {name: a, mix: {read: 100}}\n",
			"mine.yaml:4: operations.0.store: it is missing", "use one of b, c"},
		{"values of a queue", "summary: s\nstores: {b: {queue: {}, values: {to: 20}}}\noperations:\n- {name: a, does: ack}\n",
			"mine.yaml:2: stores.b: it is a queue and more", "leave one"},
		{"a field that is none", head + "- name: a\n  mix: {read: 100}\n  worker: 2\n",
			"mine.yaml:5: operations.0.worker: there is no such field", "choose, compact, does, mix, name"},
		{"a field that is missing", "operations: [{name: a, mix: {read: 100}}]", "mine.yaml: summary: it is missing",
			"write summary: one line"},
		{"another kind", head + "- name: a\n  mix: {read: 100}\n  workers: many\n",
			"mine.yaml:5: operations.0.workers: ", "from 1 to 256"},
		{"none of a list", head + "- name: a\n  mix: {read: 100}\n  choose: fair\n",
			`mine.yaml:5: operations.0.choose: "fair" is none of`, "zipfian, latest or uniform"},
		{"parts that make less", head + "- name: a\n  mix: {read: 50, update: 40}\n",
			"mine.yaml:4: operations.0.mix: the parts make 90 %, not 100", "write every part"},
		{"a phase that does not fit", head + "- name: a\n  phases:\n  - {iterations: 3, mix: {read: 50, update: 50}}\n  - {iterations: 1, mix: {read: 100}}\n",
			"mine.yaml:5: operations.0.phases.0.iterations: 3 do not hold", "a multiple of 2"},
		{"nothing to do", head + "- name: a\n", "mine.yaml:3: operations.0: it needs a mix, or phases", "mix: {read"},
		{"a store that is none", "summary: s\nstores: {b: {}}\noperations:\n- {name: a, store: c, mix: {read: 100}}\n",
			`mine.yaml:4: operations.0.store: "c" is none`, "use one of b"},
		{"two of a name", head + "- {name: a, mix: {read: 100}}\n- {name: a, mix: {read: 100}}\n",
			`mine.yaml:4: operations.1.name: "a" stands there twice`, "of its own"},
		{"scans by several", head + "- {name: a, mix: {scan: 100}, workers: 2}\n",
			"mine.yaml:3: operations.0.workers: ", "scan with one"},
		{"few records", "summary: s\nstores: {b: {keys: {count: 10}}}\noperations:\n- {name: a, mix: {read: 100}}\n",
			"mine.yaml:2: stores.b.keys.count: ", "a number from 100"},
		{"a mix of a queue", "summary: s\nstores: {b: {queue: {}}}\noperations:\n- {name: a, mix: {read: 100}}\n",
			"mine.yaml:4: operations.0.does: it is missing: b is a queue", "publish, claim"},
		{"a log that claims", "summary: s\nstores: {b: {log: {}}}\noperations:\n- {name: a, does: claim}\n",
			"mine.yaml:4: operations.0.does: a log cannot claim", "append, read, first, walk"},
		{"a queue of pairs", "summary: s\nstores: {b: {queue: {}, values: {size: 20}}}\noperations:\n- {name: a, does: ack}\n",
			"mine.yaml:2: stores.b: it is a queue and more", "leave one"},
		{"workers that acknowledge", "summary: s\nstores: {b: {queue: {}}}\noperations:\n- {name: a, does: ack, workers: 2}\n",
			"mine.yaml:4: operations.0.workers: several workers ack", "cycle can have it"},
		{"jobs among pairs", head + "- {name: a, does: ack, mix: {read: 100}}\n",
			"mine.yaml:3: operations.0.does: the store is keys and values", "write a mix"},
		{"a log that is shorter than a batch", "summary: s\nstores: {b: {log: {events: 100}}}\noperations:\n- {name: a, does: read}\n",
			"mine.yaml:2: stores.b.log.events: ", "a number from 1000"},
		{"a feed of long values", "summary: s\nstores: {b: {feed: {messages: 10}}}\noperations:\n- {name: a, does: read, batch: 50}\n",
			"mine.yaml:2: stores.b.feed.messages: ", "a number from 50"},
		{"a command by several at once", "summary: s\nstores: {b: {command: {}}}\noperations:\n- {name: a, does: get, workers: 3}\n",
			"mine.yaml:4: operations.0.open: several workers", "open: once"},
		{"short keys", "summary: s\nstores: {b: {keys: {size: 8}}}\noperations:\n- {name: a, mix: {read: 100}}\n",
			"mine.yaml:2: stores.b.keys.size: ", "from 16 to 1024"},
		{"keys of a queue", "summary: s\nstores: {b: {queue: {}, keys: {size: 20}}}\noperations:\n- {name: a, does: ack}\n",
			"mine.yaml:2: stores.b: it is a queue and more", "leave one"},
		{"values that shrink", "summary: s\nstores: {b: {values: {size: 90, to: 50}}}\noperations:\n- {name: a, mix: {read: 100}}\n", "mine.yaml:2: stores.b.values.to: 50 is less", "the largest size"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := Own("mine", []byte(c.text))
			if !errors.Is(err, kv.Invalid) || !strings.Contains(fmt.Sprint(err), c.where) ||
				!strings.Contains(kv.HintOf(err), c.hint) {
				t.Errorf("got  %v\nhint %s\nwant %s\nhint %s", err, kv.HintOf(err), c.where, c.hint)
			}
		})
	}
}

// TestThePageTellsOfEveryField holds docs/workload.md to the schema.
func TestThePageTellsOfEveryField(t *testing.T) {
	page, err := os.ReadFile("../../docs/workload.md")
	if err != nil {
		t.Fatal(err)
	}
	s, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	for at, fields := range map[string]map[string]*schema.Schema{"": s.Properties,
		"stores.NAME.": s.Defs["store"].Properties, "operations[].": s.Defs["operation"].Properties} {
		for name, field := range fields {
			text := "`" + at + name
			switch name { // whose own fields have rows
			case "operations":
				text += "[]."
			case "stores", "keys", "values":
				text += "."
			default:
				text += "`"
			}
			if !strings.Contains(string(page), text) {
				t.Errorf("the page has no row of %s%s: %s", at, name, field.Description)
			}
		}
	}
}

// TestAnErrorNamesTheFileAsItWasTyped has files whose errors an editor leads to.
func TestAnErrorNamesTheFileAsItWasTyped(t *testing.T) {
	for file, name := range map[string]string{"mine": "mine", "mine.yaml": "mine", "work/mine.yml": "mine"} {
		w, _, err := Own(file, []byte("summary: s\noperations: [{name: a, mix: {read: 100}}]\n"))
		if err != nil || w.Name != name {
			t.Errorf("%s is the workload %q, error %v", file, w.Name, err)
		}
		_, _, err = Own(file, []byte("summary: s\noperations: [{name: a}]\n"))
		where := file
		if file == name {
			where += ".yaml"
		}
		if err == nil || !strings.Contains(err.Error(), where+":2: ") {
			t.Errorf("%s: %v, want it at %s:2", file, err, where)
		}
	}
}

// FuzzOwn holds that no file makes assay panic.
func FuzzOwn(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(examples, "*.yaml"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w, _, err := Own("mine", text)
		if err == nil && (len(w.Ops) == 0 || w.wrong() != "") {
			t.Errorf("%q gives %+v", text, w)
		}
		if err != nil && !errors.Is(err, kv.Invalid) {
			t.Errorf("%q: %v is not Invalid", text, err)
		}
	})
}
