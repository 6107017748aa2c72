package queue_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

// TestAKeyIsTakenAsDurablyAsItIsAsked publishes a job with a key, and one with the same key again,
// with a stronger class, and cuts the power: who was told that there is a job with the key, as
// synced, can rely on it.
func TestAKeyIsTakenAsDurablyAsItIsAsked(t *testing.T) {
	for name, open := range map[string]func(string) (*queue.Store, func() error, error){
		"bbolt": openKV("bbolt"), "pebble": openKV("pebble"), "sqlite": openKV("sqlite"), "sqlqueue": openSQLAtOneTime} {
		t.Run(name, func(t *testing.T) {
			disk := powertest.NewDisk(t, nil)
			store, closeAll, err := open(disk.Dir())
			if err != nil {
				t.Fatal(err)
			}
			q, err := store.Queue("work", nil)
			for _, key := range []string{"", "", "key"} { // in SQL the first takes ids for the others
				if err == nil {
					_, err = q.Publish(t.Context(), kv.Buffered, queue.Draft{Key: key})
				}
			}
			if err == nil {
				_, err = q.Publish(t.Context(), kv.Synced, queue.Draft{Key: "key"})
			}
			left := disk.Cut(t)
			if err != nil || closeAll() != nil {
				t.Fatal(err)
			}
			if store, closeAll, err = open(left); err != nil {
				t.Fatal(err)
			}
			if q, err = store.Queue("work", nil); err != nil {
				t.Fatal(err)
			}
			counts, err := q.Counts(t.Context())
			if err != nil || counts.Ready != 3 || closeAll() != nil {
				t.Errorf("after the power cut there is %+v, %v; three jobs were acknowledged as synced", counts, err)
			}
		})
	}
}

// openSQLAtOneTime opens queues whose clock stands still: ids are then taken seldom.
func openSQLAtOneTime(dir string) (*queue.Store, func() error, error) {
	store, err := sqlqueue.Open(context.Background(), filepath.Join(dir, "queue"),
		&sqlqueue.Options{Options: queue.Options{Clock: func() time.Time { return time.Unix(1e9, 0) }}})
	if err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}
