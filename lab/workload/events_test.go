package workload_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	_ "github.com/assaydb/assay/engines/nullkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/workload"
)

func TestEveryOperationOfEventsWorksInEveryForm(t *testing.T) {
	w, _ := workload.Lookup("events")
	for _, engine := range some("mem", "bbolt", "pebble", "sqlite") {
		for _, op := range w.Ops {
			for _, form := range op.Forms(engine, "") {
				for _, index := range []string{"none", "stream"} {
					slices := []int{1, 12, 3}
					if op.Items == 10_000 {
						if index == "stream" || engine == "pebble" {
							continue // what this adds to the shorter reads is only time
						}
						slices = []int{2}
					}
					t.Run(strings.Join([]string{engine, op.Name, form, index}, " "), func(t *testing.T) {
						r := start(t, "events", op.Name, workload.Env{Engine: engine, Form: form,
							Durability: weakest(t, engine),
							Seed:       1, Params: map[string]string{"events": "1k", "index": index}})
						for _, n := range slices {
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

// describes checks what a Runner says of its store, which is on disk or not.
func describes(t *testing.T, r workload.Runner, onDisk bool) {
	t.Helper()
	d := r.Describe()
	if !d.Promise.Supported || (len(d.Settings) > 0) != onDisk || (d.Open > 0) != onDisk {
		t.Errorf("described as %+v", d)
	}
	if err := r.Compact(t.Context()); err != nil {
		t.Error(err)
	}
	if size, err := r.Size(); err != nil || (size.Allocated > 0) != onDisk {
		t.Errorf("size %+v, error %v", size, err)
	}
}

func TestEventsAreAppendedAtEveryClassThatAnEngineDelivers(t *testing.T) {
	for _, c := range []struct{ engine, form string }{{"bbolt", "kv"}, {"pebble", "kv"}, {"sqlite", "kv"},
		{"sqlite", "sql"}} {
		d, _ := driver.Lookup(c.engine)
		for _, class := range driver.Durabilities {
			if !d.Info().Caps.Promise(class).Supported {
				continue
			}
			for name, workers := range map[string]int{"append1": 1, "append_parallel": 8} {
				t.Run(strings.Join([]string{c.engine, c.form, name, class.String()}, " "), func(t *testing.T) {
					r := start(t, "events", name, workload.Env{Engine: c.engine, Form: c.form, Durability: class,
						Seed: 1})
					if err := slice(t.Context(), r, workers, 24); err != nil {
						t.Fatal(err)
					}
					if got := r.Describe().Promise; got.Class > class {
						t.Errorf("promises %v, want %v or more", got, class)
					}
				})
			}
		}
	}
}

func TestAsManyWritersAppendAsAreAskedFor(t *testing.T) {
	for params, want := range map[string]int{"": 8, "1": 1, "16": 16} {
		env := workload.Env{Engine: "pebble", Form: "kv", Durability: kv.Buffered, Seed: 1}
		if params != "" {
			env.Params = map[string]string{"writers": params}
		}
		r := start(t, "events", "append_parallel", env)
		crowd, ok := r.(workload.Crowd)
		if !ok || crowd.Workers() != want {
			t.Fatalf("writers=%s: %d at once, want %d", params, crowd.Workers(), want)
		}
		if err := slice(t.Context(), r, want, 3*want); err != nil {
			t.Errorf("writers=%s: %v", params, err)
		}
	}
}

func TestEventsFailOnALogThatLosesOrChangesEvents(t *testing.T) {
	event := func(k []byte) bool { return k[0] == 'e' } // the keys of events, after which their positions follow
	change := map[string]func(k, v []byte) *driver.Op{
		"lost": func(k, v []byte) *driver.Op {
			if !event(k) || k[len(k)-1] != 20 {
				return nil
			}
			return lose(k, v)
		},
		"of another index": func(k, v []byte) *driver.Op {
			if !event(k) || k[len(k)-1] != 20 {
				return nil
			}
			return &driver.Op{Key: k, Value: bytes.Replace(v, []byte(`"index": `), []byte(`"index": 1`), 1)}
		},
		"of another type": func(k, v []byte) *driver.Op {
			if !event(k) || k[len(k)-1] != 20 {
				return nil
			}
			return &driver.Op{Key: k, Value: bytes.Replace(v, []byte("BenchEvent"), []byte("OtherEvent"), 1)}
		},
	}
	w, _ := workload.Lookup("events")
	for _, name := range []string{"append1", "append100", "append_parallel", "read100", "stream10k"} {
		op, _ := w.Op(name)
		for name, change := range change {
			t.Run(op.Name+" "+name, func(t *testing.T) {
				r := start(t, "events", op.Name, workload.Env{Engine: "tamper", Form: "kv", Durability: kv.Buffered,
					Seed: 2})
				if err := slice(t.Context(), r, op.Workers, 25); err != nil {
					t.Fatal(err)
				}
				changed := 0
				tampered.apply(t, func(k, v []byte) *driver.Op {
					op := change(k, slices.Clone(v))
					if op != nil && !bytes.Equal(op.Value, v) {
						changed++
					}
					return op
				})
				if changed == 0 {
					t.Fatal("nothing was changed")
				}
				if err := r.Verify(t.Context()); op.Commits && err == nil {
					t.Error("Verify: no error")
				}
				if err := slice(t.Context(), r, op.Workers, 1); !op.Commits && err == nil {
					t.Error("Do: no error")
				}
			})
		}
	}
}

func TestTheEngineThatKeepsNothingIsMeasuredWithoutErrors(t *testing.T) {
	for _, name := range []string{"ycsb", "events"} {
		w, _ := workload.Lookup(name)
		for _, op := range w.Ops {
			t.Run(name+" "+op.Name, func(t *testing.T) {
				r := start(t, name, op.Name, workload.Env{Engine: "null", Form: "kv", Durability: kv.Synced, Seed: 1})
				for range 2 {
					if err := slice(t.Context(), r, op.Workers, 200); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

func TestEventsAreKeptInThePublishedVariant(t *testing.T) {
	for _, c := range []struct{ engine, form string }{{"pebble", "kv"}, {"sqlite", "kv"}, {"sqlite", "sql"}} {
		for _, op := range []string{"append1", "append100", "read100", "size"} {
			t.Run(strings.Join([]string{c.engine, c.form, op}, " "), func(t *testing.T) {
				r := start(t, "events", op, workload.Env{Engine: c.engine, Form: c.form, Durability: kv.Buffered,
					Seed:   1,
					Params: map[string]string{"events": "1k", "variant": "ebuse"}})
				if err := slice(t.Context(), r, 0, 4); err != nil {
					t.Fatal(err)
				}
				describes(t, r, true)
			})
		}
	}
}

// TestPublishedEventsHaveThreeIndexes compares sizes: indexes take space.
func TestPublishedEventsHaveThreeIndexes(t *testing.T) {
	sizes := map[string]int64{}
	for _, variant := range []string{"none", "ebuse"} {
		r := start(t, "events", "size", workload.Env{Engine: "sqlite", Form: "sql", Durability: kv.Buffered, Seed: 1,
			Params: map[string]string{"events": "10k", "variant": variant}})
		if err := r.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		size, err := r.Size()
		if err != nil {
			t.Fatal(err)
		}
		sizes[variant] = size.Allocated
	}
	if 2*sizes["ebuse"] < 3*sizes["none"] {
		t.Errorf("%d B with the published indexes, %d B without", sizes["ebuse"], sizes["none"])
	}
}

func TestEventsRefusesWrongParameters(t *testing.T) {
	w, _ := workload.Lookup("events")
	for _, params := range []map[string]string{{"events": "999"}, {"events": "x"}, {"index": "ebuse"},
		{"variant": "published"}} {
		_, err := w.Ops[0].New(workload.Env{Dir: t.TempDir(), Engine: "mem", Form: "kv", Params: params})
		if kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
			t.Errorf("%v: error %v, want invalid with a hint", params, err)
		}
	}
}

func TestEventsInTablesTakeOnlyOptionsThatTheyKeep(t *testing.T) {
	w, _ := workload.Lookup("events")
	for options, want := range map[string]kv.Kind{
		"page_size=8192&journal_mode=wal&mode=shared": driver.Other,
		"journal_mode=DELETE":                         kv.Unsupported,
		"synchronous=OFF":                             kv.Unsupported,
		"a%zz":                                        kv.Invalid,
	} {
		r, err := w.Ops[0].New(workload.Env{Dir: t.TempDir(), Engine: "sqlite", Form: "sql", Options: options})
		if kv.KindOf(err) != want || (err == nil) != (want == driver.Other) || err != nil && kv.HintOf(err) == "" {
			t.Errorf("%q: error %v, want %v", options, err, want)
		}
		if err != nil {
			continue
		}
		err = slice(t.Context(), setUp(t, r), 1, 5)
		page := kv.Setting{Name: "page_size", Value: "8192"}
		if err != nil || !slices.Contains(r.Describe().Settings, page) {
			t.Errorf("error %v, settings %v, want %v among them", err, r.Describe().Settings, page)
		}
	}
}

func TestEventsRefuseAFormThatAnEngineDoesNotHave(t *testing.T) {
	w, _ := workload.Lookup("events")
	for _, env := range []workload.Env{{Engine: "bbolt", Form: "sql"}, {Engine: "sqlite", Form: "json"}} {
		if _, err := w.Ops[0].New(env); kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
			t.Errorf("%s as %s: error %v, want invalid with a hint", env.Engine, env.Form, err)
		}
	}
}
