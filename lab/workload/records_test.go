package workload_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/workload"
)

func TestEveryOperationOfRecordsWorksInEveryForm(t *testing.T) {
	w, _ := workload.Lookup("records")
	for _, engine := range some("mem", "bbolt", "pebble", "badger", "bunt", "sqlite") {
		for _, op := range w.Ops {
			for _, form := range op.Forms(engine, "") {
				if engine != "mem" && form != "binary" && (engine != "bbolt" || form != "multikv" && form != "nested") {
					continue // the codecs do not see the engine
				}
				t.Run(strings.Join([]string{engine, op.Name, form}, " "), func(t *testing.T) {
					r := start(t, "records", op.Name, workload.Env{Engine: engine, Form: form,
						Durability: weakest(t, engine), Seed: 1,
						Params: map[string]string{"n": "300"}})
					for _, n := range []int{1, 3} {
						if err := slice(t.Context(), r, op.Workers, n); err != nil {
							t.Fatalf("slice of %d: %v", n, err)
						}
					}
					metrics := r.(workload.Metered).Metrics()
					several := slices.Contains([]string{"write_bulk", "read_many", "field_sum"}, op.Name)
					if (len(metrics) == 1) != several || several &&
						(metrics[0].Name != "record-ns" || metrics[0].Value <= 0) {
						t.Errorf("metrics %v", metrics)
					}
					describes(t, r, engine != "mem")
				})
			}
		}
	}
}

func TestRecordsInsertedOneByOneAreTheSame(t *testing.T) {
	for _, form := range []string{"binary", "nested"} {
		for _, op := range []string{"read_many", "field_sum", "size"} {
			r := start(t, "records", op, workload.Env{Engine: "bbolt", Form: form, Durability: kv.Flushed, Seed: 1,
				Params: map[string]string{"n": "50", "insert": "single"}})
			if err := slice(t.Context(), r, 0, 3); err != nil {
				t.Errorf("%s %s: %v", form, op, err)
			}
		}
	}
}

func TestRecordsAreWrittenAtEveryClassThatAnEngineDelivers(t *testing.T) {
	for _, c := range []struct{ engine, form string }{{"bbolt", "binary"}, {"bbolt", "nested"}, {"pebble", "binary"},
		{"sqlite", "json"}} {
		d, _ := driver.Lookup(c.engine)
		for _, class := range driver.Durabilities {
			if !d.Info().Caps.Promise(class).Supported {
				continue
			}
			for _, op := range []string{"write_single", "update"} {
				r := start(t, "records", op, workload.Env{Engine: c.engine, Form: c.form, Durability: class, Seed: 1,
					Params: map[string]string{"n": "10"}})
				if err := slice(t.Context(), r, 0, 3); err != nil {
					t.Errorf("%s %s %v: %v", c.engine, op, class, err)
				}
				if got := r.Describe().Promise; got.Class > class {
					t.Errorf("%s promises %v, want %v or more", c.engine, got, class)
				}
			}
		}
	}
}

func TestRecordsFailOnAStoreThatLosesOrChangesThem(t *testing.T) {
	isRecord := func(k []byte) bool { return k[0] == 'r' }
	w, _ := workload.Lookup("records")
	for _, op := range w.Ops {
		for name, change := range map[string]func(k, v []byte) *driver.Op{"lost": lose, "damaged": damage} {
			t.Run(op.Name+" "+name, func(t *testing.T) {
				if op.Name == "field_sum" && name == "damaged" {
					t.Skip("what is damaged is the end of a text, which the sum steps over")
				}
				r := start(t, "records", op.Name, workload.Env{Engine: "tamper", Form: "binary",
					Durability: kv.Buffered, Seed: 2,
					Params: map[string]string{"n": "40"}})
				if err := slice(t.Context(), r, 0, 3); err != nil {
					t.Fatal(err)
				}
				tampered.apply(t, func(k, v []byte) *driver.Op {
					if !isRecord(k) {
						return nil
					}
					return change(k, v)
				})
				if err := r.Verify(t.Context()); op.Commits && err == nil {
					t.Error("Verify: no error")
				}
				if err := slice(t.Context(), r, 0, 1); !op.Commits && err == nil {
					t.Error("Do: no error")
				}
			})
		}
	}
}

func TestRecordsOnTheEngineThatKeepsNothing(t *testing.T) {
	w, _ := workload.Lookup("records")
	for _, op := range w.Ops {
		r := start(t, "records", op.Name, workload.Env{Engine: "null", Form: "binary", Durability: kv.Synced, Seed: 1,
			Params: map[string]string{"n": "30"}})
		for range 2 {
			if err := slice(t.Context(), r, 0, 3); err != nil {
				t.Errorf("%s: %v", op.Name, err)
			}
		}
	}
}

func TestRecordsRefuseWrongParametersAndForms(t *testing.T) {
	w, _ := workload.Lookup("records")
	for _, env := range []workload.Env{
		{Engine: "mem", Params: map[string]string{"n": "2"}},
		{Engine: "mem", Params: map[string]string{"insert": "x"}},
		{Engine: "mem", Form: "nested"},
		{Engine: "mem", Form: "single"},
		{Engine: "bbolt", Form: "nested", Options: "PageSize=8192"},
	} {
		env.Dir = t.TempDir()
		if _, err := w.Ops[0].New(env); kv.KindOf(err) != kv.Invalid || kv.HintOf(err) == "" {
			t.Errorf("%+v: error %v, want invalid with a hint", env, err)
		}
	}
	if forms := w.Ops[0].CoreForms; !slices.Equal(forms, []string{"binary"}) {
		t.Errorf("forms of a run without arguments: %v, want binary alone", forms)
	}
}
