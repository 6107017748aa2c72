// This file belongs into internal/store of a clone of https://github.com/jilio/ebuse, whose stores
// only that module can use: docs/eventlog.md says how to run it.
package store

import (
	"context"
	"fmt"
	"testing"

	_ "github.com/assaydb/assay/engines/pebblekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/stores/eventlog"
)

// BenchmarkBeside measures what ebuse's own benchmarks do, by its store on Pebble and by a log of
// class Buffered, which promises the same, in turns.
func BenchmarkBeside(b *testing.B) {
	ctx := context.Background()
	theirs, err := NewPebbleStore(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer theirs.Close()
	db, err := kv.Open(ctx, "pebble:"+b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	log, err := eventlog.Open(ctx, db, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	data := func(i int) []byte { return fmt.Appendf(nil, `{"index": %d}`, i) }
	save := func(n int) error {
		events := make([]*StoredEvent, n)
		for i := range events {
			events[i] = &StoredEvent{Type: "BenchEvent", Data: data(i)}
		}
		if n == 1 {
			return theirs.Save(ctx, events[0])
		}
		return theirs.SaveBatch(ctx, events)
	}
	add := func(n int) error {
		drafts := make([]eventlog.Draft, n)
		for i := range drafts {
			drafts[i] = eventlog.Draft{Type: "BenchEvent", Data: data(i)}
		}
		_, err := log.Append(ctx, kv.Buffered, "", eventlog.Any, drafts...)
		return err
	}
	if err := save(1000); err != nil {
		b.Fatal(err)
	}
	if err := add(1000); err != nil {
		b.Fatal(err)
	}
	drivertest.Thin(b,
		drivertest.Pair{Name: "append1", Raw: times(func() error { return save(1) }), KV: times(func() error { return add(1) })},
		drivertest.Pair{Name: "append100", Raw: times(func() error { return save(100) }), KV: times(func() error { return add(100) })},
		drivertest.Pair{Name: "read100", Raw: times(func() error {
			events, err := theirs.Load(ctx, 1, 100)
			return count(len(events), err)
		}), KV: times(func() error {
			events, err := log.Load(ctx, eventlog.Range{From: 1}.To(100))
			return count(len(events), err)
		})})
}

func times(once func() error) func(n int) error {
	return func(n int) error {
		for range n {
			if err := once(); err != nil {
				return err
			}
		}
		return nil
	}
}

func count(n int, err error) error {
	if err == nil && n != 100 {
		err = fmt.Errorf("%d events, want 100", n)
	}
	return err
}
