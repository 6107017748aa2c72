package queuetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// Worker is a producer or consumer that reports what it does, for a [Ledger]. It is used by one
// goroutine at a time.
type Worker struct {
	Queue  *queue.Queue
	Lease  time.Duration // of the queue's settings; 0 is the default
	Class  kv.Durability
	Tag    string       // no two workers have the same
	Report func(Record) // is called before and after each call

	serial int
}

// Publish publishes n jobs together.
func (w *Worker) Publish(ctx context.Context, n int) error {
	batch := fmt.Sprintf("%s/%d", w.Tag, w.serial)
	var drafts []queue.Draft
	for i := range n {
		payload := padded(fmt.Sprintf("%s/%d", batch, i), w.serial+i)
		drafts = append(drafts, queue.Draft{Payload: []byte(payload), Priority: int8(w.serial % 3)})
		w.report(Record{Event: Publishing, Payload: payload, Batch: batch})
	}
	w.serial++
	ids, err := w.Queue.Publish(ctx, w.Class, drafts...)
	if err != nil {
		return err
	}
	for i, id := range ids {
		w.report(Record{Event: Published, ID: id, Payload: string(drafts[i].Payload)})
	}
	return nil
}

// padded makes some payloads as long as those that a backend keeps in another place, or just not.
func padded(payload string, serial int) string {
	want := map[int]int{3: 1024, 5: 1025, 7: 5000}[serial%8]
	return payload + strings.Repeat(".", max(0, want-len(payload)))
}

// Work waits for up to limit jobs, acknowledges most of them, gives every fifth back, and returns
// how many it acknowledged.
func (w *Worker) Work(ctx context.Context, limit int) (acked int, err error) {
	jobs, err := w.Queue.Next(ctx, w.Class, limit)
	if err != nil {
		return 0, err
	}
	lease := w.Lease
	if lease == 0 {
		lease = queue.DefaultLease
	}
	for _, job := range jobs {
		w.reportJob(Claimed, job, job.VisibleAt.Add(-lease))
	}
	for _, job := range jobs {
		w.serial++
		if w.serial%5 == 0 && job.Attempts < 3 {
			w.reportJob(Nacking, job, time.Now())
			err = w.Queue.Nack(context.WithoutCancel(ctx), w.Class, 0, job.Receipt)
		} else {
			w.reportJob(Acking, job, time.Now())
			if err = w.Queue.Ack(context.WithoutCancel(ctx), w.Class, job.Receipt); err == nil {
				w.reportJob(Acked, job, time.Now())
				acked++
			}
		}
		if err != nil && kv.KindOf(err) != kv.Conflict { // its lease ended: another worker has it
			return acked, err
		}
	}
	return acked, nil
}

func (w *Worker) report(r Record) {
	r.At, r.Class = time.Now(), w.Class
	w.Report(r)
}

func (w *Worker) reportJob(event Event, job queue.Job, at time.Time) {
	w.Report(Record{Event: event, At: at, Until: job.VisibleAt, Given: time.Now(), ID: job.ID, Token: job.Receipt.Token,
		Payload: string(job.Payload), Class: w.Class})
}
