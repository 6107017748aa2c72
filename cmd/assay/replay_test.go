package main

import (
	"errors"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/replay"
	"github.com/assaydb/assay/lab/workload"
)

// withoutReplay are engines of the catalog that no recording can be done on, and why.
var withoutReplay = map[string]string{
	"margaret": "it keeps messages by number and has no keys",
	"null":     "it keeps nothing, so that there is nothing to read",
}

// TestARecordedProgramIsTheSameOnEveryEngine does the recording of examples/shortener on every
// engine in the command, one transaction after the other and those together that ran together, and
// so with every setting that the catalog has. Every read must have the recorded result, and the
// store the recorded contents in the end.
func TestARecordedProgramIsTheSameOnEveryEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("every engine twice; not in a short run")
	}
	trace, err := replay.Load("../../examples/shortener/day.assay", 0)
	if err != nil {
		t.Fatal(err)
	}
	if trace.Compared < 500 {
		t.Fatalf("%d reads have one answer", trace.Compared)
	}
	t.Logf("%d transactions, %d reads, of which %d have one answer", trace.Units(), trace.Reads, trace.Compared)
	for _, engine := range catalog {
		if why := withoutReplay[engine.Name]; why != "" {
			t.Run(engine.Name, func(t *testing.T) { t.Skip("NOT TESTED: " + why) })
			continue
		}
		for _, pace := range []string{replay.Flat, replay.Together} {
			t.Run(engine.Name+" "+pace, func(t *testing.T) {
				if engine.Options != "" && pace == replay.Flat {
					t.Skip("the engine without this setting is tried so")
				}
				t.Parallel()
				err := replayed(t, trace, pace, engine.Engine, engine.Options, trace.Strongest)
				if kv.KindOf(err) == kv.Unsupported { // a setting that cannot keep the recorded promise
					err = replayed(t, trace, pace, engine.Engine, engine.Options, kv.Flushed)
				}
				if err != nil {
					t.Error(errors.Join(err, errors.New(kv.HintOf(err))))
				}
			})
		}
	}
	for _, engine := range absent {
		t.Run(engine.Name, func(t *testing.T) { t.Skip("NOT TESTED: it is not in this binary: " + engine.How) })
	}
	if _, ok := driver.Lookup("sqlite"); !ok || len(catalog) < 15 {
		t.Errorf("only %d engines are in the catalog", len(catalog))
	}
}

// replayed does a recording twice on an engine, each time on a new store.
func replayed(t *testing.T, trace *replay.Trace, pace, engine, options string, class kv.Durability) (err error) {
	op, ok := replay.Workload("day", trace).Op(pace)
	if !ok {
		t.Fatal("no such pace")
	}
	r, err := op.New(workload.Env{Dir: t.TempDir(), Engine: engine, Options: options, Form: "kv", Durability: class})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.Setup(t.Context()); err != nil {
		return err
	}
	for range 2 {
		if err := r.Prepare(op.Cycle); err != nil {
			return err
		}
		for i := range op.Cycle {
			if err := r.Do(t.Context(), 0, i); err != nil {
				return err
			}
		}
		if err := r.Verify(t.Context()); err != nil {
			return err
		}
	}
	return nil
}
