package queue_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// benchQueue returns an empty queue, with the cheapest class that survives the death of the
// process.
func benchQueue(b *testing.B, engine string) (*queue.Queue, kv.Durability) {
	d := kv.Flushed
	db, err := kv.Open(b.Context(), engine+":"+filepath.Join(b.TempDir(), "queue"), kv.WithWeakest(kv.Buffered))
	if err != nil {
		b.Fatal(err)
	}
	if engine == "pebble" || engine == "mem" {
		d = kv.Buffered
	}
	store, err := queue.New(db, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	q, err := store.Queue("bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	return q, d
}

func BenchmarkCycle(b *testing.B) {
	for _, engine := range []string{"mem", "bbolt", "pebble", "badger", "bunt", "sqlite"} {
		b.Run(engine, func(b *testing.B) {
			q, d := benchQueue(b, engine)
			payload := make([]byte, 256)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				copy(payload, fmt.Sprint(n))
				cycle(b, context.Background(), q, d, payload)
			}
		})
	}
}

// BenchmarkPipeline has a producer up to 8 jobs ahead of a worker, which acknowledges one with the
// claim of the next.
func BenchmarkPipeline(b *testing.B) {
	for _, engine := range []string{"mem", "bbolt", "pebble", "badger", "bunt", "sqlite", "sqlqueue"} {
		b.Run(engine, func(b *testing.B) {
			var q *queue.Queue
			d := kv.Flushed
			if engine == "sqlqueue" {
				q = sqlBenchQueue(b)
			} else {
				q, d = benchQueue(b, engine)
			}
			b.ReportAllocs()
			pipeline(b, q, d)
		})
	}
}

func pipeline(b *testing.B, q *queue.Queue, d kv.Durability) {
	orders := make(chan int, 8)
	done := make(chan error, 1)
	go func() {
		payload := make([]byte, 256)
		var err error
		for n := range orders {
			if err == nil {
				copy(payload, fmt.Sprint(n))
				_, err = q.Publish(b.Context(), d, queue.Draft{Payload: payload})
			}
		}
		done <- err
	}()
	for n := range cap(orders) {
		orders <- n
	}
	var last []queue.Receipt
	for n := cap(orders); b.Loop(); n++ {
		jobs, err := q.Swap(b.Context(), d, 1, last...)
		if err == nil && len(jobs) == 0 {
			jobs, err = q.Next(b.Context(), d, 1)
		}
		if err != nil {
			b.Fatal(err)
		}
		last = append(last[:0], jobs[0].Receipt)
		orders <- n
	}
	close(orders)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

func cycle(b *testing.B, ctx context.Context, q *queue.Queue, d kv.Durability, payload []byte) {
	if _, err := q.Publish(ctx, d, queue.Draft{Payload: payload}); err != nil {
		b.Fatal(err)
	}
	jobs, err := q.Claim(ctx, d, 1)
	if err != nil || len(jobs) != 1 {
		b.Fatal(len(jobs), err)
	}
	if err := q.Ack(ctx, d, jobs[0].Receipt); err != nil {
		b.Fatal(err)
	}
}
