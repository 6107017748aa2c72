package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// An interval that was not set is refused, and does not publish a thousand jobs in a second.
func TestAScheduleOfNoIntervalIsRefused(t *testing.T) {
	withQueue(t, func(t *testing.T, db *kv.DB, q *queue.Queue) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		for _, d := range []time.Duration{0, -time.Hour} {
			err := q.RunSchedule(ctx, db.Caps().Cheapest(), queue.Schedule{Name: "s", Ticks: queue.Every(d),
				Draft: func(time.Time) (queue.Draft, error) { return queue.Draft{}, nil }})
			if !errors.Is(err, kv.Invalid) {
				t.Errorf("every %v: %v, want Invalid", d, err)
			}
		}
		if c := counts(t, q); c.Total() != 0 {
			t.Errorf("jobs were published: %+v", c)
		}
	})
}
