package queue_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

// BenchmarkClaimAtBacklog claims from a queue of 1,000 jobs and from one of 100,000 by turns, so
// that whatever else the machine does hits both, and tells the quotient of the medians.
func BenchmarkClaimAtBacklog(b *testing.B) {
	for _, engine := range []string{"mem", "bbolt", "pebble", "badger", "bunt", "sqlite", "sqlqueue"} {
		b.Run(engine, func(b *testing.B) {
			var queues [2]*queue.Queue
			d := kv.Flushed
			for i, backlog := range []int{1000, 100_000} {
				if testing.Short() {
					backlog /= 100
				}
				if engine == "sqlqueue" {
					queues[i] = sqlBenchQueue(b)
				} else {
					queues[i], d = benchQueue(b, engine)
				}
				for n := 0; n < backlog; n += min(1000, backlog) {
					if _, err := queues[i].Publish(b.Context(), d, drafts(min(1000, backlog))...); err != nil {
						b.Fatal(err)
					}
				}
			}
			var took [2][]time.Duration
			for b.Loop() {
				for i, q := range queues {
					if _, err := q.Publish(b.Context(), d, drafts(1)...); err != nil {
						b.Fatal(err)
					}
					start := time.Now()
					jobs, err := q.Claim(b.Context(), d, 1)
					took[i] = append(took[i], time.Since(start))
					if err != nil || len(jobs) != 1 {
						b.Fatal(len(jobs), err)
					}
				}
			}
			for i := range took {
				slices.Sort(took[i])
			}
			short, long := took[0][len(took[0])/2], took[1][len(took[1])/2]
			b.ReportMetric(float64(short), "ns/claim-1k")
			b.ReportMetric(float64(long), "ns/claim-100k")
			b.ReportMetric(float64(long)/float64(short), "100k/1k")
		})
	}
}

func drafts(n int) (all []queue.Draft) {
	for i := range n {
		all = append(all, queue.Draft{Payload: fmt.Appendf(nil, "%0256d", i)})
	}
	return all
}

func sqlBenchQueue(b *testing.B) *queue.Queue {
	store, err := sqlqueue.Open(b.Context(), filepath.Join(b.TempDir(), "queue.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	q, err := store.Queue("bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	return q
}
