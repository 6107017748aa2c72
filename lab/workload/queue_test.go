package workload_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/workload"
)

func TestEveryOperationOfQueueWorksInEveryForm(t *testing.T) {
	w, _ := workload.Lookup("queue")
	for _, engine := range some("mem", "bbolt", "pebble", "sqlite") {
		for _, op := range w.Ops {
			if strings.Contains(op.Name, "processes") {
				continue // these have tests of their own
			}
			for _, form := range op.Forms(engine, "") {
				for _, backlog := range []string{"0", "30"} {
					t.Run(strings.Join([]string{engine, op.Name, form, backlog}, " "), func(t *testing.T) {
						r := start(t, "queue", op.Name, workload.Env{Engine: engine, Form: form,
							Durability: weakest(t, engine),
							Seed:       1, Params: map[string]string{"backlog": backlog, "payload": "40"}})
						for _, n := range []int{1, 12, 3, 40} {
							if err := slice(t.Context(), r, op.Workers, n); err != nil {
								t.Fatalf("slice of %d: %v", n, err)
							}
						}
						describes(t, r, engine != "mem")
					})
				}
			}
		}
	}
}

func TestQueueRunsAtEveryClassThatAnEngineDelivers(t *testing.T) {
	for _, c := range []struct{ engine, form string }{{"bbolt", "kv"}, {"pebble", "kv"}, {"sqlite", "kv"},
		{"sqlite", "sql"}, {"sqlite", "published"}, {"sqlite-c", "published"}} {
		d, ok := driver.Lookup(c.engine)
		if !ok {
			t.Logf("%s was not tried: it needs cgo", c.engine)
			continue
		}
		for _, class := range driver.Durabilities {
			if !d.Info().Caps.Promise(class).Supported {
				continue
			}
			t.Run(strings.Join([]string{c.engine, c.form, class.String()}, " "), func(t *testing.T) {
				r := start(t, "queue", "cycle", workload.Env{Engine: c.engine, Form: c.form, Durability: class,
					Seed: 1})
				if err := slice(t.Context(), r, 1, 24); err != nil {
					t.Fatal(err)
				}
				if got := r.Describe().Promise; got.Class > class {
					t.Errorf("promises %v, want %v or more", got, class)
				}
			})
		}
	}
}

func TestQueueFailsOnAStoreThatLosesOrChangesJobs(t *testing.T) {
	w, _ := workload.Lookup("queue")
	for name, change := range map[string]func(k, v []byte) *driver.Op{
		"a job is damaged": func(k, v []byte) *driver.Op {
			if k[0] != 'j' {
				return nil
			}
			v[len(v)-1] ^= 1
			return &driver.Op{Key: k, Value: v}
		},
		"a job is lost":         func(k, v []byte) *driver.Op { return losing(k, v, 'j') },
		"the counters are lost": func(k, v []byte) *driver.Op { return losing(k, v, 'q') },
	} {
		for _, op := range []string{"claim", "cycle", "cycle_4", "claim_batch100"} {
			o, _ := w.Op(op)
			t.Run(op+" "+name, func(t *testing.T) {
				r := start(t, "queue", op, workload.Env{Engine: "tamper", Form: "kv", Durability: kv.Buffered, Seed: 2,
					Params: map[string]string{"backlog": "300", "payload": "40"}})
				if err := slice(t.Context(), r, o.Workers, 1); err != nil {
					t.Fatal(err)
				}
				changed := 0
				tampered.apply(t, func(k, v []byte) *driver.Op {
					op := change(k, slices.Clone(v))
					if op != nil {
						changed++
					}
					return op
				})
				if changed == 0 {
					t.Fatal("nothing was changed")
				}
				if err := slice(t.Context(), r, o.Workers, 3); err == nil {
					t.Error("no error")
				}
			})
		}
	}
}

func losing(k, v []byte, kind byte) *driver.Op {
	if k[0] != kind {
		return nil
	}
	return lose(k, v)
}

func TestTablesLieInAFolderThatIsNotNamedInFull(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, form := range []string{"sql", "published"} {
		w, _ := workload.Lookup("queue")
		op, _ := w.Op("cycle")
		if err := os.Mkdir(form, 0o700); err != nil {
			t.Fatal(err)
		}
		r, err := op.New(workload.Env{Dir: form, Engine: "sqlite", Form: form, Durability: kv.Flushed, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Setup(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := slice(t.Context(), r, 1, 4); err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestQueueRefusesWhatItDoesNotHave(t *testing.T) {
	w, _ := workload.Lookup("queue")
	cycle, _ := w.Op("cycle")
	for _, params := range []map[string]string{{"backlog": "-1"}, {"backlog": "x"}, {"payload": "15"}} {
		_, err := cycle.New(workload.Env{Dir: t.TempDir(), Engine: "mem", Form: "kv", Params: params})
		if kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
			t.Errorf("%v: error %v, want invalid with a hint", params, err)
		}
	}
	for _, env := range []workload.Env{{Engine: "bbolt", Form: "sql"}, {Engine: "sqlite", Form: "json"},
		{Engine: "bbolt", Form: "published"}} {
		if _, err := cycle.New(env); kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
			t.Errorf("%s as %s: error %v, want invalid with a hint", env.Engine, env.Form, err)
		}
	}
	if forms := cycle.Forms("null", ""); len(forms) != 0 || forms == nil {
		t.Errorf("an engine that keeps nothing has the forms %v", forms)
	}
}
