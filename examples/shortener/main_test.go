package main

import (
	"errors"
	"path/filepath"
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/sqlitewasmkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/replay"
	"github.com/assaydb/assay/lab/workload"
)

// TestWhatWasRecordedIsTheSameOnEveryEngine records the program on engines that differ in who waits
// for whom, and does it again on all engines.
func TestWhatWasRecordedIsTheSameOnEveryEngine(t *testing.T) {
	for _, on := range []string{"bbolt", "pebble", "sqlite"} {
		t.Run("recorded on "+on, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "day.assay")
			if err := run(t.Context(), on+":"+filepath.Join(dir, "links"), "", file, 400); err != nil {
				t.Fatal(err)
			}
			trace, err := replay.Load(file, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d transactions, %d at the same time, %d reads of which %d have one answer", trace.Units(),
				trace.AtOnce, trace.Reads, trace.Compared)
			if trace.Units() < 400 || trace.Compared < trace.Reads/4 {
				t.Error("too little was recorded, or can be compared")
			}
			for _, engine := range []string{"badger", "bbolt", "bunt", "leveldb", "pebble", "sqlite", "sqlite-wasm"} {
				for _, pace := range []string{replay.Flat, replay.Together} {
					t.Run(engine+" "+pace, func(t *testing.T) { again(t, trace, engine, pace) })
				}
			}
		})
	}
}

// again does a trace twice on an engine, each time on a new store.
func again(t *testing.T, trace *replay.Trace, engine, pace string) {
	op, ok := replay.Workload("day", trace).Op(pace)
	if !ok {
		t.Fatal("no such pace")
	}
	r, err := op.New(workload.Env{Dir: t.TempDir(), Engine: engine, Form: "kv", Durability: trace.Strongest})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	err = r.Setup(t.Context())
	for pass := 0; pass < 2 && err == nil; pass++ {
		err = r.Prepare(op.Cycle)
		for i := 0; i < op.Cycle && err == nil; i++ {
			err = r.Do(t.Context(), 0, i)
		}
		if err == nil {
			err = r.Verify(t.Context())
		}
	}
	if err != nil {
		t.Error(errors.Join(err, errors.New(kv.HintOf(err))))
	}
}
