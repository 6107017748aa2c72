package queue_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// withQueue runs a case on queues that lie beside other data, in several engines.
func withQueue(t *testing.T, run func(t *testing.T, db *kv.DB, q *queue.Queue)) {
	for _, engine := range []string{"mem", "bbolt", "pebble", "badger", "bunt", "sqlite"} {
		t.Run(engine, func(t *testing.T) {
			db, err := kv.Open(t.Context(), engine+":"+filepath.Join(t.TempDir(), "store"), kv.WithWeakest(kv.Flushed))
			if err != nil {
				t.Fatal(err)
			}
			store, err := queue.New(db.Namespace([]byte("jobs/")), nil)
			if err != nil {
				t.Fatal(err)
			}
			q, err := store.Queue("mail", &queue.Settings{MaxAttempts: 2})
			if err != nil {
				t.Fatal(err)
			}
			run(t, db, q)
			if err := errors.Join(store.Close(), db.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func counts(t *testing.T, q *queue.Queue) queue.Counts {
	t.Helper()
	c, err := q.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestJobsAreCommittedWithTheirDataOrNotAtAll(t *testing.T) {
	withQueue(t, func(t *testing.T, db *kv.DB, q *queue.Queue) {
		class, boom := db.Caps().Cheapest(), errors.New("boom")
		order := func(key string, end error) error {
			return db.Update(t.Context(), class, func(tx *kv.Tx) error {
				if err := tx.Put([]byte(key), []byte("order")); err != nil {
					return err
				}
				jobs, err := q.In(tx)
				if err != nil {
					return err
				}
				for range 3 {
					if ids, err := jobs.Publish(queue.Draft{Payload: []byte(key)}); err != nil || len(ids) != 1 {
						t.Errorf("publish: %v, %v", ids, err)
					}
				}
				return end
			})
		}
		if err := order("a", boom); !errors.Is(err, boom) {
			t.Fatal(err)
		}
		if _, err := q.Publish(t.Context(), class, queue.Draft{Payload: []byte("before")}); err != nil {
			t.Fatal(err)
		}
		if err := order("b", nil); err != nil {
			t.Fatal(err)
		}
		if c := counts(t, q); c != (queue.Counts{Ready: 4}) {
			t.Errorf("counts %+v, want 4 ready", c)
		}
		jobs, err := q.Claim(t.Context(), class, 10)
		if err != nil || len(jobs) != 4 || string(jobs[0].Payload) != "before" || string(jobs[3].Payload) != "b" {
			t.Fatalf("claimed %+v, %v", jobs, err)
		}

		// The result of a job, and that it is done, are one.
		finish := func(job queue.Job, end error) error {
			return db.Update(t.Context(), class, func(tx *kv.Tx) error {
				jobs, err := q.In(tx)
				if err != nil {
					return err
				}
				if err := errors.Join(tx.Put([]byte("result"), job.Payload),
					jobs.Ack(job.Receipt, job.Receipt)); err != nil {
					return err
				}
				return end
			})
		}
		if err := finish(jobs[0], boom); !errors.Is(err, boom) {
			t.Fatal(err)
		}
		if _, err := db.Get(t.Context(), []byte("result")); !errors.Is(err, kv.NotFound) || counts(t, q).Claimed != 4 {
			t.Errorf("after a rollback: %v, %+v", err, counts(t, q))
		}
		if err := finish(jobs[0], nil); err != nil {
			t.Fatal(err)
		}
		var stale *queue.StaleError
		if err := finish(jobs[0], nil); !errors.As(err, &stale) || len(stale.Receipts) != 1 {
			t.Errorf("a job was done twice: %v", err)
		}
		if c := counts(t, q); c != (queue.Counts{Claimed: 3}) {
			t.Errorf("counts %+v, want 3 claimed", c)
		}
	})
}

func TestAWholeLifeOfAJobInTransactions(t *testing.T) {
	withQueue(t, func(t *testing.T, db *kv.DB, q *queue.Queue) {
		in := func(fn func(jobs *queue.Tx) error) {
			t.Helper()
			err := db.Update(t.Context(), db.Caps().Cheapest(), func(tx *kv.Tx) error {
				jobs, err := q.In(tx)
				if err != nil {
					return err
				}
				return fn(jobs)
			})
			if err != nil {
				t.Error(err)
			}
		}
		var job queue.Job
		claim := func(attempts int) func(*queue.Tx) error {
			return func(jobs *queue.Tx) error {
				all, err := jobs.Claim(5)
				if err != nil || len(all) != 1 || all[0].Attempts != attempts {
					t.Fatalf("claimed %+v, %v", all, err)
				}
				job = all[0]
				return nil
			}
		}
		in(func(jobs *queue.Tx) error {
			_, err := jobs.Publish(queue.Draft{Payload: []byte("p")})
			return errors.Join(err, claim(1)(jobs)) // it sees its own
		})
		in(func(jobs *queue.Tx) error { return jobs.Extend(time.Hour, job.Receipt) })
		in(func(jobs *queue.Tx) error { return jobs.Nack(0, job.Receipt) })
		in(claim(2))
		in(func(jobs *queue.Tx) error { return jobs.Nack(0, job.Receipt) })
		if c := counts(t, q); c != (queue.Counts{Dead: 1}) {
			t.Errorf("counts %+v, want 1 dead", c)
		}
	})
}

func TestAWorkerIsWokenByTheCommit(t *testing.T) {
	withQueue(t, func(t *testing.T, db *kv.DB, q *queue.Queue) {
		class := db.Caps().Cheapest()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got := make(chan error, 1)
		go func() {
			jobs, err := q.Next(ctx, class, 1)
			if err == nil && string(jobs[0].Payload) != "p" {
				err = errors.New("another job: " + string(jobs[0].Payload))
			}
			got <- err
		}()
		err := db.Update(ctx, class, func(tx *kv.Tx) error {
			jobs, err := q.In(tx)
			if err == nil {
				_, err = jobs.Publish(queue.Draft{Payload: []byte("p")})
			}
			return err
		})
		if err = errors.Join(err, <-got); err != nil {
			t.Error(err)
		}
	})
}

func TestATransactionOfAnotherStoreIsRefused(t *testing.T) {
	withQueue(t, func(t *testing.T, _ *kv.DB, q *queue.Queue) {
		other, err := kv.Open(t.Context(), "mem:other-"+filepath.Base(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		var kept *kv.Tx
		err = other.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
			kept = tx
			_, err := q.In(tx)
			return err
		})
		if !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
			t.Errorf("got %v, want invalid with a hint", err)
		}
		if _, err := q.In(kept); err == nil {
			t.Error("a transaction that has ended was taken")
		}
	})
}

// A call within the function of an Update would wait for that one's end for ever. That is told at
// once, also where another goroutine commits for it.
func TestACallWithinTheFunctionOfAnUpdateIsRefused(t *testing.T) {
	withQueue(t, func(t *testing.T, db *kv.DB, q *queue.Queue) {
		ctx := context.Background() // which does not end
		waited := make(chan error, 1)
		err := db.Update(ctx, kv.Buffered, func(*kv.Tx) error {
			refused := func() {
				_, err := q.Publish(ctx, kv.Buffered, queue.Draft{Payload: []byte("within")})
				if !errors.Is(err, kv.Invalid) || !strings.Contains(kv.HintOf(err), "In(tx)") {
					t.Errorf("publish: %v, hint %q", err, kv.HintOf(err))
				}
			}
			refused()
			began := make(chan struct{})
			go func() {
				close(began)
				_, err := q.Publish(ctx, kv.Buffered, queue.Draft{Payload: []byte("beside")})
				waited <- err
			}()
			<-began
			for range 1000 {
				runtime.Gosched()
			}
			refused() // most likely behind the other, who waits for the turn
			return nil
		})
		if err == nil {
			err = <-waited
		}
		if err != nil {
			t.Fatal(err)
		}
		if c := counts(t, q); c.Total() != 1 {
			t.Errorf("%+v, want the one job that was published beside", c)
		}
	})
}

// What is refused at once ends the transaction, too: the data would be there without its job.
func TestARefusedCallEndsTheTransaction(t *testing.T) {
	withQueue(t, func(t *testing.T, db *kv.DB, q *queue.Queue) {
		for name, call := range map[string]func(*queue.Tx) error{
			"publish": func(tx *queue.Tx) error { _, err := tx.Publish(queue.Draft{Delay: -1}); return err },
			"claim":   func(tx *queue.Tx) error { _, err := tx.Claim(0); return err },
			"ack":     func(tx *queue.Tx) error { return tx.Ack(queue.Receipt{}) },
			"nack":    func(tx *queue.Tx) error { return tx.Nack(-1, queue.Receipt{ID: 1, Token: 1}) },
			"fail":    func(tx *queue.Tx) error { return tx.Fail(nil, 0, queue.Receipt{ID: 1, Token: 1}) },
		} {
			err := db.Update(t.Context(), db.Caps().Cheapest(), func(tx *kv.Tx) error {
				jobs, err := q.In(tx)
				if err != nil {
					return err
				}
				if err := call(jobs); !errors.Is(err, kv.Invalid) {
					t.Errorf("%s: %v, want Invalid", name, err)
				}
				return tx.Put([]byte("order"), nil)
			})
			if _, gerr := db.Get(t.Context(), []byte("order")); err == nil || !errors.Is(gerr, kv.NotFound) {
				t.Errorf("%s: the transaction ended with %v, and what it wrote is there: %v", name, err, gerr)
			}
		}
	})
}
