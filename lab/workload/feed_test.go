package workload_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/workload"
)

func feedOps(t *testing.T) []workload.Op {
	w, ok := workload.Lookup("feed")
	if !ok {
		t.Fatal("no workload feed")
	}
	return w.Ops
}

// skipForm skips the forms of pebble and sqlite that are tried in memory and on bbolt: what is kept
// in pairs is the same on each engine.
func skipForm(t *testing.T, engine, form string) {
	t.Helper()
	if testing.Short() && form != "kv" && (engine == "pebble" || engine == "sqlite") {
		t.Skip("the form is tried on other engines: without -short")
	}
}

func TestEveryOperationOfFeedWorksInEveryForm(t *testing.T) {
	for _, engine := range some("mem", "bbolt", "pebble", "sqlite", "margaret") {
		for _, op := range feedOps(t) {
			if all := engine == "mem" || engine == "margaret"; !all && op.Name != "append" && op.Name != "read_random" {
				continue // the others differ in a number or a line
			}
			for _, form := range op.Forms(engine, "") {
				t.Run(strings.Join([]string{engine, op.Name, form}, " "), func(t *testing.T) {
					skipForm(t, engine, form)
					params := map[string]string{"messages": "5k", "block": "4000"}
					if op.Sized {
						params["dictionary"] = "trained"
					}
					r := start(t, "feed", op.Name, workload.Env{Engine: engine, Form: form,
						Durability: weakest(t, engine), Seed: 1, Params: params})
					for _, n := range []int{1, 2} {
						if err := slice(t.Context(), r, op.Workers, n); err != nil {
							t.Fatalf("slice of %d: %v", n, err)
						}
					}
					describes(t, r, engine != "mem")
					m := r.(workload.Metered).Metrics()
					if stored := len(m) == 1 && m[0].Name == "message-B" &&
						m[0].Value > 150; stored != (!op.Commits && engine != "mem") {
						t.Errorf("metrics %v", m)
					}
				})
			}
		}
	}
}

func TestFeedWithLittleEndianKeysIsReadInTheOrderOfKeys(t *testing.T) {
	for _, op := range feedOps(t) {
		if testing.Short() && op.Name != "append_100" && op.Name != "read_random" && op.Name != "read_iterate" {
			continue // the others differ in a number or a line
		}
		env := workload.Env{Engine: "bbolt", Form: "kv", Durability: kv.Flushed, Seed: 1,
			Params: map[string]string{"messages": "6k", "variant": "le-keys"}}
		t.Run(op.Name, func(t *testing.T) {
			r := start(t, "feed", op.Name, env)
			for _, n := range []int{1, 3} {
				if err := slice(t.Context(), r, op.Workers, n); err != nil {
					t.Fatalf("slice of %d: %v", n, err)
				}
			}
		})
		t.Run(op.Name+" of Margaret, which has no keys", func(t *testing.T) {
			env := env
			env.Engine, env.Form = "margaret", "margaret"
			if err := slice(t.Context(), start(t, "feed", op.Name, env), op.Workers, 2); err != nil {
				t.Fatal(err)
			}
		})
		env.Form, env.Dir = "zstd", t.TempDir()
		if _, err := op.New(env); kv.KindOf(err) != kv.Unsupported || kv.HintOf(err) == "" {
			t.Errorf("le-keys compressed: %v, want unsupported with a hint", err)
		}
	}
}

func TestFeedIsAppendedAtEveryClassThatAnEngineDelivers(t *testing.T) {
	w, _ := workload.Lookup("feed")
	op, _ := w.Op("append_100")
	for _, engine := range some("bbolt", "pebble", "sqlite", "margaret") {
		d, _ := driver.Lookup(engine)
		for _, class := range driver.Durabilities {
			if !d.Info().Caps.Promise(class).Supported {
				continue
			}
			for _, form := range op.Forms(engine, "") {
				t.Run(strings.Join([]string{engine, form, class.String()}, " "), func(t *testing.T) {
					skipForm(t, engine, form)
					r := start(t, "feed", op.Name, workload.Env{Engine: engine, Form: form, Durability: class, Seed: 1})
					if err := slice(t.Context(), r, 1, 8); err != nil {
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

func TestFeedFailsOnAStoreThatLosesOrChangesMessages(t *testing.T) {
	change := map[string]func(k, v []byte) *driver.Op{
		"lost": func(k, v []byte) *driver.Op { return lose(k, v) },
		"damaged": func(k, v []byte) *driver.Op {
			v = slices.Clone(v)
			v[len(v)/2] ^= 1
			return &driver.Op{Key: k, Value: v}
		},
		"of another number": func(k, v []byte) *driver.Op {
			return &driver.Op{Key: k, Value: bytes.Replace(v, []byte(`"sequence": `), []byte(`"sequence": 1`), 1)}
		},
	}
	for _, name := range []string{"append_100", "read_random", "read_iterate"} {
		for how, change := range change {
			for _, form := range []string{"kv", "zstd"} {
				if form == "zstd" && how == "of another number" {
					continue // it is compressed
				}
				if form == "zstd" && name != "read_random" && testing.Short() {
					continue // blocks are read by the same code
				}
				t.Run(name+" "+how+" "+form, func(t *testing.T) {
					r := start(t, "feed", name, workload.Env{Engine: "tamper", Form: form, Durability: kv.Buffered,
						Seed:   2,
						Params: map[string]string{"messages": "5k"}})
					if err := slice(t.Context(), r, 1, 2); err != nil {
						t.Fatal(err)
					}
					if err := r.Verify(t.Context()); err != nil {
						t.Fatalf("before anything was changed: %v", err)
					}
					tampered.apply(t, func(k, v []byte) *driver.Op {
						if k[0] == 'm' || v == nil {
							return nil
						}
						return change(k, v)
					})
					if name == "append_100" {
						if err := r.Verify(t.Context()); err == nil {
							t.Error("Verify: no error")
						}
						return
					}
					if err := slice(t.Context(), r, 1, 1); err == nil || !strings.HasPrefix(err.Error(), "do: ") {
						t.Errorf("error %v, want one of Do", err)
					}
				})
			}
		}
	}
}

func TestFeedOnTheEngineThatKeepsNothingIsMeasuredWithoutErrors(t *testing.T) {
	for _, op := range feedOps(t) {
		for _, form := range op.Forms("null", "") {
			r := start(t, "feed", op.Name, workload.Env{Engine: "null", Form: form, Durability: kv.Synced, Seed: 1})
			for range 2 {
				if err := slice(t.Context(), r, op.Workers, 3); err != nil {
					t.Fatalf("%s %s: %v", op.Name, form, err)
				}
			}
		}
	}
}

func TestFeedRefusesWhatItCannotDo(t *testing.T) {
	w, _ := workload.Lookup("feed")
	for _, params := range []map[string]string{{"messages": "4999"}, {"messages": "x"}, {"block": "0"},
		{"variant": "be"}, {"dictionary": "1"}} {
		op, _ := w.Op("read_random")
		_, err := op.New(workload.Env{Dir: t.TempDir(), Engine: "mem", Form: "kv", Params: params})
		if kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
			t.Errorf("%v: error %v, want invalid with a hint", params, err)
		}
	}
	for _, env := range []workload.Env{{Engine: "bbolt", Form: "sql"}, {Engine: "bbolt", Form: "margaret"},
		{Engine: "margaret", Form: "kv"}} {
		if _, err := w.Ops[0].New(env); kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
			t.Errorf("%s as %s: error %v, want invalid with a hint", env.Engine, env.Form, err)
		}
	}
}
