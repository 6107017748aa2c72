package queue_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// gets counts what is read within transactions.
type gets struct{ n int }

func (g *gets) Start(ctx context.Context, _ string) context.Context { return ctx }

func (g *gets) End(_ context.Context, e kv.Event) {
	if e.Op == "get" {
		g.n++
	}
}

// Where no other process can change a queue, a Store does not read what it knows.
func TestAStoreThatIsAloneReadsNothing(t *testing.T) {
	for engine, want := range map[string]int{"bbolt": 0, "sqlite": 30} {
		t.Run(engine, func(t *testing.T) {
			var g gets
			db, err := kv.Open(t.Context(), engine+":"+filepath.Join(t.TempDir(), "queue"), kv.WithTracer(&g))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			q := storeOf(t, db)
			work(t, q, 1)
			g.n = 0
			if work(t, q, 10); g.n != want {
				t.Errorf("%d pairs were read, want %d", g.n, want)
			}
		})
	}
}

// What a Store knows of a queue is read anew once another one has changed it: over the same
// opening, over another one of the same handle, or within a transaction of the program's, which may
// be rolled back.
func TestStoresOfOneProcessSeeEachOther(t *testing.T) {
	h, err := bolt.Open(filepath.Join(t.TempDir(), "queue"), 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	var dbs [2]*kv.DB
	var stores []*queue.Queue
	for i := range dbs {
		if dbs[i], err = bboltkv.Wrap(h); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { dbs[i].Close() })
		stores = append(stores, storeOf(t, dbs[i]), storeOf(t, dbs[i]))
	}
	within := func(i int, fails error) error {
		return dbs[i/2].Update(t.Context(), kv.Flushed, func(tx *kv.Tx) error {
			jobs, err := stores[i].In(tx)
			if err == nil {
				_, err = jobs.Publish(queue.Draft{})
			}
			if err == nil {
				err = fails
			}
			return err
		})
	}
	left := 0
	for round := range 200 {
		i := round * 7 % 13 % len(stores)
		switch round % 5 {
		case 0, 1:
			_, err = stores[i].Publish(t.Context(), kv.Flushed, queue.Draft{})
			left++
		case 2:
			err = within(i, nil)
			left++
		case 3:
			if err = within(i, errRolledBack); err == errRolledBack {
				err = nil
			}
		default:
			var jobs []queue.Job
			if jobs, err = stores[i].Claim(t.Context(), kv.Flushed, 2); err == nil {
				left -= len(jobs)
				err = stores[(i+1)%len(stores)].Ack(t.Context(), kv.Flushed, jobs[0].Receipt, jobs[1].Receipt)
			}
		}
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if c := counts(t, stores[i]); c != (queue.Counts{Ready: left}) {
			t.Fatalf("round %d: %+v, want %d ready", round, c, left)
		}
	}
}

var errRolledBack = fmt.Errorf("rolled back")

// storeOf returns a queue of a Store of its own.
func storeOf(t *testing.T, db *kv.DB) *queue.Queue {
	t.Helper()
	store, err := queue.New(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	q, err := store.Queue("work", nil)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// work does n jobs, one after the other.
func work(t *testing.T, q *queue.Queue, n int) {
	t.Helper()
	for range n {
		_, err := q.Publish(t.Context(), kv.Synced, queue.Draft{})
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := q.Claim(t.Context(), kv.Synced, 1)
		if err != nil || len(jobs) != 1 {
			t.Fatal(len(jobs), err)
		}
		if err := q.Ack(t.Context(), kv.Synced, jobs[0].Receipt); err != nil {
			t.Fatal(err)
		}
	}
}
