package sqlqueue_test

import (
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

func BenchmarkCycle(b *testing.B) {
	store, err := sqlqueue.Open(b.Context(), filepath.Join(b.TempDir(), "queue.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	q, err := store.Queue("bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	payload := make([]byte, 256)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := q.Publish(ctx, kv.Flushed, queue.Draft{Payload: payload}); err != nil {
			b.Fatal(err)
		}
		jobs, err := q.Claim(ctx, kv.Flushed, 1)
		if err != nil || len(jobs) != 1 {
			b.Fatal(len(jobs), err)
		}
		if err := q.Ack(ctx, kv.Flushed, jobs[0].Receipt); err != nil {
			b.Fatal(err)
		}
	}
}
