package report

import (
	"time"

	"github.com/assaydb/assay/lab/result"
)

// examplePublished is two publications with a line of every kind.
func examplePublished() *result.Published {
	run := exampleRun()
	synced := result.Promise{Requested: "synced", Delivered: "synced", Intact: true}
	flushed := result.Promise{Requested: "flushed", Delivered: "flushed"}
	reads := result.Promise{Delivered: "read"}
	timed := func(name string, p result.Promise, ns float64) result.Side {
		return result.Side{Name: name, Promise: p, NS: &result.Interval{Lo: 0.9 * ns, Mid: ns, Hi: 1.1 * ns},
			Allocs: ptr(ns / 1000)}
	}
	pair := func(first, second result.Side, rounds int) *result.Measurement {
		mid := second.NS.Mid / first.NS.Mid
		return &result.Measurement{Part: "published", Operation: "put", First: first, Second: &second, Rounds: rounds,
			Ratio: &result.Interval{Lo: 0.8 * mid, Mid: mid, Hi: 1.25 * mid}}
	}
	also := pair(timed("bbolt", synced, 1.1e6), timed("sqlite-delete", synced, 2e6), 12)
	also.What = "against SQLite's rollback journal"
	nearest := pair(timed("sqlite/sql", flushed, 7e4), timed("sqlite/published", flushed, 9e4), 3)
	nearest.What, nearest.Hint = "the nearest there is here", "sqlite-c is not in this binary: build with CGO_ENABLED=1"
	small, large := 246.4, 810.0
	size := &result.Measurement{Part: "published", Operation: "read_iterate",
		First:  result.Side{Name: "badger-zstd", Promise: reads, Bytes: &small},
		Second: &result.Side{Name: "bbolt", Promise: reads, Bytes: &large},
		Ratio:  &result.Interval{Lo: 3.287, Mid: 3.287, Hi: 3.287}}
	return &result.Published{
		Schema: result.PublishedSchema, Command: []string{"assay", "run", "--like-published", "--budget", "8m0s",
			"--seed", "42"},
		Started: run.Started, Took: 7*time.Minute + 58*time.Second, Budget: 8 * time.Minute, Seed: 42,
		Interrupted: true,
		Warnings:    run.Warnings, Environment: run.Environment, Floor: run.Floor,
		Publications: []result.Publication{
			{Name: "hook", System: "zenable", Summary: "bbolt instead of SQLite for a command",
				Setup: "Published: an open and a close for each operation | on a laptop.",
				Parts: []result.Part{{Name: "published", Engines: []string{"bbolt", "sqlite"},
					Work: []string{"hook/put,get"}, Failures: 1}},
				Lines: []result.Line{
					{Engine: "bbolt", Operation: "put", Outcome: result.More, Why: "bbolt was spared its two syncs",
						Figure: result.Figure{Value: 51, Unit: "us", Baseline: "sqlite-modernc", Against: 352,
							Ratio: ptr(6.9), Note: "71 against 75 allocations"},
						Published: pair(timed("bbolt", flushed, 66e3), timed("sqlite", synced, 3.2e6), 14),
						Matched:   pair(timed("bbolt", synced, 1.1e6), timed("sqlite", synced, 3.2e6), 14), Also: also},
					{Engine: "bbolt", Operation: "get", Outcome: result.Agrees, Why: "a read",
						Figure: result.Figure{Value: 27, Unit: "us", Baseline: "sqlite-modernc", Against: 90,
							Ratio: ptr(3.3)},
						Published: pair(timed("bbolt", reads, 27e3), timed("sqlite", reads, 81e3), 14)},
					{Engine: "bbolt", Operation: "binary_read", Why: "one descent",
						Figure:    result.Figure{Value: 2, Unit: "us"},
						Published: &result.Measurement{Part: "published", First: timed("bbolt/binary", reads, 6400)}},
				}},
			{Name: "queue", System: "squeueHA", Summary: "SQLite through C", Setup: "Published: an own driver.",
				Parts: []result.Part{
					{Name: "published", Engines: []string{"sqlite-c", "sqlite"}, Work: []string{"queue/publish"}},
					{Name: "race", Engines: []string{"sqlite-c", "sqlite"}, Work: []string{"queue/publish"}, Race: true},
					{Name: "slow", Engines: []string{"bbolt"}, Work: []string{"feed/append"}, Missing: "no /dev/fuse",
						Hint: "load the module fuse"},
				},
				Lines: []result.Line{
					{Engine: "sqlite-cgo", Operation: "publish", Why: "-race",
						Figure: result.Figure{Value: 7.265, Unit: "us", Baseline: "sqlite-modernc", Against: 15.3,
							Ratio: ptr(2.1)},
						Published: nearest, Matched: &result.Measurement{Part: "slow", Missing: "not measured"},
						Race: pair(timed("sqlite-c/published-sqldriver", flushed, 7e4),
							timed("sqlite/published", flushed, 3e5), 12)},
					{Engine: "badger-zstd", Operation: "size", Outcome: result.Agrees, Why: "pages are half full",
						Figure: result.Figure{Value: 0.3, Unit: "rel", Baseline: "bbolt", Against: 1,
							Ratio: ptr(3.33)},
						Published: size},
				}},
		},
	}
}
