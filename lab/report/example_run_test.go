package report

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// builder makes a run of invented numbers that look like those of a real one.
type builder struct {
	rng *rand.Rand
	run *result.Run
}

func ptr[T any](v T) *T { return &v }

// cell adds what an engine took for an operation, in nanoseconds, in so many rounds.
func (b *builder) cell(workload, operation, engine string, p result.Promise, ns float64, rounds int) *result.Cell {
	c := result.Cell{
		Workload: workload, Operation: operation, Engine: engine, URL: engine + ":", Ranked: engine != "null",
		Promise: p,
		Status:  result.OK, Workers: 1, Items: 1,
		Allocs: ptr(math.Round(4 + ns/40_000)), AllocBytes: ptr(512 + ns/100), RSS: ptr(int64(14<<20 + ns*30)),
		CPU: ptr(ns * 0.4), Size: &result.Size{Loaded: ptr(int64(64 << 10)), Churned: ptr(int64(1<<20 + ns*3))},
	}
	if p.Delivered != "read" {
		c.Written, c.Syncs = ptr(4096+ns/90), ptr(2.0)
	}
	for r := range rounds {
		t := ns * math.Exp(0.02*b.rng.NormFloat64())
		c.Samples = append(c.Samples, result.Sample{Round: r, N: 200, NS: t, Process: 3 * r / rounds})
		c.N += 200
	}
	c.Latency = &result.Latency{P50: int64(ns * 0.97), P90: int64(ns * 1.3), P99: int64(ns * 2.1), P999: int64(ns * 4),
		Max: int64(ns * 17)}
	b.run.Cells = append(b.run.Cells, c)
	return &b.run.Cells[len(b.run.Cells)-1]
}

func (b *builder) fail(workload, operation, engine string, p result.Promise, status result.Status, why, hint string) {
	b.run.Cells = append(b.run.Cells, result.Cell{
		Workload: workload, Operation: operation, Engine: engine, Ranked: true, Promise: p, Status: status, Error: why,
		Hint: hint,
	})
}

// exampleRun is a finished run of two workloads over five engines, with ties, failures and a
// harness floor.
func exampleRun() *result.Run {
	b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{
		Schema: result.Schema, Command: []string{"/usr/local/bin/assay", "run", "hook", "events", "--durability",
			"all"},
		Started: time.Date(2026, 11, 2, 14, 3, 0, 0, time.UTC), Took: 88*time.Second + 412*time.Millisecond, Seed: 42,
		Precision: 0.05,
		Warnings: []result.Warning{{Text: "the machine was busy with other work in 3 of 14 rounds",
			Hint: "close other programs, or measure longer: --budget 5m"}},
		Environment: result.Environment{
			Go: "go1.26.0", OS: "linux", Arch: "amd64", Kernel: "Linux 6.18.4", CPU: "AMD EPYC 7763 64-Core Processor",
			CPUs:   2,
			Memory: 8 << 30, FileSystem: "ext4", Device: "/dev/nvme0n1p2", Assay: "v0.1.0",
			Modules: map[string]string{
				"go.etcd.io/bbolt": "v1.5.0", "github.com/cockroachdb/pebble/v2": "v2.1.7",
				"github.com/dgraph-io/badger/v4": "v4.9.6",
				"github.com/tidwall/buntdb":      "v1.3.0", "modernc.org/sqlite": "v1.60.1",
			},
		},
		Floor: result.Floor{
			AppendSync:    &result.Interval{Lo: 180_000, Mid: 186_000, Hi: 195_000},
			OverwriteSync: &result.Interval{Lo: 150_000, Mid: 152_000, Hi: 160_000},
			OpenClose:     &result.Interval{Lo: 9_000, Mid: 9_400, Hi: 9_900},
		},
	}}
	synced := result.Promise{Requested: "synced", Delivered: "synced", Intact: true, Proof: "proved", Images: 1240}
	torn := result.Promise{Requested: "synced", Delivered: "synced", Proof: "unproved"}
	flushed := result.Promise{Requested: "flushed", Delivered: "flushed", Intact: true, Proof: "unproved"}
	reads := result.Promise{Delivered: "read", Intact: true, Proof: "proved"}

	b.cell("hook", "put", "sqlite", synced, 2_310_000, 14)
	b.cell("hook", "put", "bbolt", synced, 612_000, 14)
	b.cell("hook", "put", "pebble", synced, 4_480_000, 14)
	b.cell("hook", "put", "badger", synced, 21_700_000, 12)
	b.cell("hook", "put", "null", synced, 310, 14)
	b.cell("hook", "put_get", "sqlite", synced, 2_390_000, 14)
	b.cell("hook", "put_get", "bbolt", synced, 633_000, 14)
	b.cell("hook", "put_get", "pebble", synced, 640_000, 14)
	b.fail("hook", "put_get", "badger", synced, result.Failed,
		"hung: no operation ended within 10 s, the process was killed",
		"run it alone: assay run hook/put_get --engines badger")
	b.cell("hook", "put", "buntdb", torn, 690_000, 14)
	waits := b.cell("hook", "put_procs", "bbolt", synced, 1_650_000, 14)
	waits.Workers, waits.Metrics = 14, []result.Metric{{Name: "lock-wait-p99-ns", Value: 23_400_000},
		{Name: "killed", Value: 9}, {Name: "timeouts", Value: 0}}
	b.cell("hook", "get", "sqlite", reads, 318_000, 14)
	b.cell("hook", "get", "bbolt", reads, 41_000, 14)
	b.cell("hook", "get", "buntdb", reads, 41_500, 14)
	b.cell("hook", "get", "null", reads, 290, 14)
	b.fail("hook", "get", "pebble", reads, result.Skipped, "interrupted before its first round", "")

	for _, p := range []struct {
		promise result.Promise
		base    float64
	}{{synced, 190_000}, {flushed, 9_800}} {
		b.cell("events", "append1", "sqlite", p.promise, 1.41*p.base, 14)
		b.cell("events", "append100", "sqlite", p.promise, 2.9*p.base, 14)
		if p.promise == synced {
			b.cell("events", "append1", "pebble", p.promise, 1.02*p.base, 14)
			b.cell("events", "append1", "bbolt", p.promise, 2.3*p.base, 14)
			b.cell("events", "append100", "pebble", p.promise, 1.3*p.base, 4)
			b.cell("events", "append100", "bbolt", p.promise, 3.4*p.base, 4)
		}
	}
	sql := b.cell("events", "append1", "sqlite", synced, 1.2*190_000, 14)
	sql.Form = "sql"
	stats.Finish(b.run)
	return b.run
}
