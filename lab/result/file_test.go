package result

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func ptr[T any](v T) *T { return &v }

func example() *Run {
	return &Run{
		Schema: Schema, Command: []string{"assay", "run"}, Started: time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC),
		Took: 90 * time.Second,
		Seed: math.MaxUint64, Precision: 0.05, Warnings: []Warning{{Text: "busy", Hint: "wait"}},
		Environment: Environment{
			Go: "go1.26", OS: "linux", Arch: "amd64", CPU: "Example CPU", CPUs: 2, FileSystem: "ext4",
			Modules: map[string]string{"go.etcd.io/bbolt": "v1.5.0", "github.com/Upper/Case": "v1.0.0"},
		},
		Floor: Floor{AppendSync: &Interval{1, 2, 3}},
		Cells: []Cell{
			{
				Workload: "events", Operation: "append1", Engine: "bbolt", URL: "bbolt:", Ranked: true, Status: OK,
				Workers: 1, Items: 1, N: 30,
				Promise: Promise{Requested: "synced", Delivered: "synced", Intact: true, Proof: "proved"},
				Samples: []Sample{{2, 10, 1300.5, 1}, {0, 10, 1100, 0}, {1, 10, 1200, 0}},
				NS:      &Interval{1100, 1200, 1300.5}, Latency: &Latency{P50: 1000, P99: 9000, Max: 10000},
				Ratio: &Ratio{To: "bbolt", Lo: 1, Mid: 1, Hi: 1}, Allocs: ptr(3.0), AllocBytes: ptr(128.0),
				Written: ptr(4096.0),
				Syncs:   ptr(2.0), RSS: ptr(int64(1 << 20)), Metrics: []Metric{{"lock-wait-p99-ns", 17}},
			},
			{
				Workload: "events", Operation: "read 100", Params: "events=10&x=a/b", Engine: "sqlite", Form: "sql",
				Ranked: true, Status: OK, Workers: 8,
				Promise: Promise{Delivered: "read"}, Samples: []Sample{{0, 1, 5, 0}},
			},
			{Workload: "events", Operation: "append1", Engine: "buntdb", Ranked: true, Status: Failed,
				Error: "wrong answer", Samples: []Sample{{0, 1, 5, 0}}},
		},
		Verdicts: []Verdict{{Workload: "events", Text: "only bbolt was measured.", Best: []string{"bbolt"}}},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	want := example()
	for range 2 { // the second replaces the first
		if err := Write(dir, want); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, DocumentFile)} {
		got, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read %s:\n%+v\nwant\n%+v", path, got, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("the folder holds %v, want the two files alone", entries)
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name, content string
		kind          error
		want, hint    string
	}{
		{"not JSON", "BenchmarkX 1 2 ns/op", ErrNotResult, "not a result: invalid character", ""},
		{"empty", "", ErrNotResult, "not a result: unexpected end", ""},
		{"another document", `{"name": "x"}`, ErrNotResult, `schema "", want "assay.result/1"`, ""},
		{"another document of ours", `{"schema": "assay.prove/1"}`, ErrNotResult, `schema "assay.prove/1", want`, ""},
		{"a newer one", `{"schema": "assay.result/2"}`, ErrNewer,
			`schema "assay.result/2", this program reads "assay.result/1"`, "newer"},
		{"a field of the wrong type", `{"schema": "assay.result/1", "cells": 7}`, ErrNotResult, "cells", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), DocumentFile)
			if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Read(path)
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, c.kind) || e.Path != path ||
				!strings.Contains(err.Error(), c.want) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("got %v (%#v), want %q", err, err, c.want)
			}
		})
	}
	_, err := Read(filepath.Join(t.TempDir(), "nowhere"))
	if e := (*Error)(nil); !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("missing: %v, want not exist and a hint", err)
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	if _, err := Parse([]byte(`{"schema": "assay.result/1", "colour": "blue", "cells": [{"engine": "bbolt", "mood": 3}]}`)); err != nil {
		t.Error(err)
	}
}

func TestWriteRefusesWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	run := example()
	run.Precision = math.NaN()
	if err := Write(dir, run); err == nil {
		t.Error("NaN was written")
	}
	if err := Write(dir, &Run{}); err == nil {
		t.Error("a run without schema was written")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func FuzzParse(f *testing.F) {
	document, err := Marshal(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document)
	f.Add([]byte(`{"schema": "assay.result/1"}`))
	f.Add([]byte(`{"schema": "assay.result/99999999999999999999"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := Parse(data)
		if err != nil {
			if e := (*Error)(nil); !errors.As(err, &e) {
				t.Errorf("%T is not an *Error", err)
			}
			return
		}
		once, err := Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(once)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := json.MarshalIndent(again, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if string(twice)+"\n" != string(once) {
			t.Errorf("written\n%s\nread and written again\n%s", once, twice)
		}
		Samples(run)
		Tables(run.Cells)
	})
}
