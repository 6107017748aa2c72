package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powertest"
	"github.com/assaydb/assay/stores/internal/crash"
	"github.com/assaydb/assay/stores/queue"
)

// An outbox: orders are put together with jobs to ship them, and a job is done together with the
// note that its order was shipped. Whatever ends the program, no order is without a job or a
// shipment, and none is shipped twice.

// outbox is a store with orders, shipments and jobs.
type outbox struct {
	db    *kv.DB
	store *queue.Store
	jobs  *queue.Queue
}

func openOutbox(ctx context.Context, engine, dir string) (*outbox, error) {
	db, err := kv.Open(ctx, engine+":"+filepath.Join(dir, "shop"))
	if err != nil {
		return nil, err
	}
	o := &outbox{db: db}
	if o.store, err = queue.New(db.Namespace([]byte("jobs/")), nil); err == nil {
		o.jobs, err = o.store.Queue("ship", &queue.Settings{Lease: time.Hour, MaxAttempts: queue.NoLimit})
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return o, nil
}

func (o *outbox) close() error { return errors.Join(o.store.Close(), o.db.Close()) }

// order puts an order and the job to ship it.
func (o *outbox) order(ctx context.Context, id string) error {
	return o.db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
		if err := tx.Put([]byte("order/"+id), []byte("paid")); err != nil {
			return err
		}
		jobs, err := o.jobs.In(tx)
		if err == nil {
			_, err = jobs.Publish(queue.Draft{Payload: []byte(id)})
		}
		return err
	})
}

// ship ships the order of one job, if there is a job.
func (o *outbox) ship(ctx context.Context) error {
	claimed, err := o.jobs.Claim(ctx, kv.Synced, 1)
	if err != nil || len(claimed) == 0 {
		return err
	}
	return o.db.Update(ctx, kv.Synced, func(tx *kv.Tx) error {
		key := []byte("shipped/" + string(claimed[0].Payload))
		before, err := tx.Get(key)
		if err != nil && !errors.Is(err, kv.NotFound) {
			return err
		}
		times, _ := strconv.Atoi(string(before))
		jobs, err := o.jobs.In(tx)
		if err != nil {
			return err
		}
		return errors.Join(tx.Put(key, []byte(strconv.Itoa(times+1))), jobs.Ack(claimed[0].Receipt))
	})
}

// work orders and ships. It tells of each order before and after.
func (o *outbox) work(ctx context.Context, prefix string, n int, trying, done func(id string)) error {
	for i := range n {
		id := fmt.Sprintf("%s-%04d", prefix, i)
		trying(id)
		if err := o.order(ctx, id); err != nil {
			return err
		}
		if done(id); i%3 == 0 {
			continue // some are left
		}
		if err := o.ship(ctx); err != nil {
			return err
		}
	}
	return nil
}

// check requires that all of done are there, and that every order has one job or one shipment.
func (o *outbox) check(ctx context.Context, done []string) error {
	waiting := map[string]int{}
	for _, state := range queue.States {
		list, err := o.jobs.List(ctx, state, 1<<20)
		if err != nil {
			return err
		}
		for _, job := range list {
			waiting[string(job.Payload)]++
		}
	}
	return o.db.View(ctx, func(s *kv.Snapshot) error {
		for _, id := range done {
			if found, err := s.Has([]byte("order/" + id)); err != nil || !found {
				return fmt.Errorf("order %s was acknowledged and is lost: %w", id, err)
			}
		}
		orders := 0
		for key := range s.Scan(kv.Prefix([]byte("order/"))) {
			orders++
			id := string(key[len("order/"):])
			shipped, err := s.Get([]byte("shipped/" + id))
			if err != nil && !errors.Is(err, kv.NotFound) {
				return err
			}
			times, _ := strconv.Atoi(string(shipped))
			if times+waiting[id] != 1 {
				return fmt.Errorf("order %s has %d jobs and was shipped %d times", id, waiting[id], times)
			}
			delete(waiting, id)
		}
		if len(waiting) > 0 {
			return fmt.Errorf("%d jobs are of no order: %v", len(waiting), waiting)
		}
		return s.Err()
	})
}

// killsVariable is how many processes the test of kills kills.
const killsVariable = "ASSAY_KILLS"

type outboxTask struct{ Engine, Dir, Prefix string }

type outboxReport struct{ Done string }

// TestOutboxKilled kills the program again and again, always on the same store.
func TestOutboxKilled(t *testing.T) {
	crash.Work(t, func(job outboxTask) error {
		ctx := context.Background()
		o, err := openOutbox(ctx, job.Engine, job.Dir)
		if err != nil {
			return err
		}
		out := json.NewEncoder(os.Stdout)
		err = o.work(ctx, job.Prefix, 1<<20, func(string) {}, func(id string) { _ = out.Encode(outboxReport{id}) })
		return errors.Join(err, o.close())
	})
	kills := 10
	if n, err := strconv.Atoi(os.Getenv(killsVariable)); err == nil {
		kills = n
	}
	for _, engine := range []string{"bbolt", "pebble", "sqlite", "bunt"} {
		t.Run(engine, func(t *testing.T) {
			dir, seed := t.TempDir(), rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			var done []string
			for n := range kills {
				task := outboxTask{engine, dir, fmt.Sprint(n)}
				for _, r := range crash.AfterReports[outboxReport](t, task, 1+random.IntN(12)) {
					done = append(done, r.Done)
				}
				if n%10 != 9 && n != kills-1 {
					continue
				}
				o, err := openOutbox(t.Context(), engine, dir)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(o.check(t.Context(), done), o.close()); err != nil {
					t.Fatalf("after %d kills: %v", n+1, err)
				}
			}
		})
	}
}

// TestOutboxPower cuts the power.
func TestOutboxPower(t *testing.T) {
	for _, engine := range []string{"bbolt", "pebble", "sqlite"} {
		t.Run(engine, func(t *testing.T) {
			ctx := context.Background()
			powertest.Run(t, powertest.Case[string]{
				Work: func(dir string, log *powertest.Log[string]) error {
					o, err := openOutbox(ctx, engine, dir)
					if err != nil {
						return err
					}
					return errors.Join(o.work(ctx, "p", 12, log.Try, log.Done), o.close())
				},
				Check: func(dir string, h powertest.History[string]) error {
					o, err := openOutbox(ctx, engine, dir)
					if err != nil {
						return err
					}
					err = o.check(ctx, h.Done)
					if err == nil { // it goes on
						err = errors.Join(o.work(ctx, "q", 6, func(string) {}, func(string) {}), o.check(ctx, h.Done))
					}
					return errors.Join(err, o.close())
				},
			})
		})
	}
}

// TestOutboxInTwoCommits shows what the check finds where order and job, or shipment and
// acknowledgement, are not one.
func TestOutboxInTwoCommits(t *testing.T) {
	ctx := t.Context()
	for what, half := range map[string]func(o *outbox) error{
		"an order without a job": func(o *outbox) error { return o.db.Put(ctx, kv.Synced, []byte("order/a"), nil) },
		"a job without an order": func(o *outbox) error {
			_, err := o.jobs.Publish(ctx, kv.Synced, queue.Draft{Payload: []byte("a")})
			return err
		},
		"a shipment that is not acknowledged": func(o *outbox) error {
			return errors.Join(o.order(ctx, "a"), o.db.Put(ctx, kv.Synced, []byte("shipped/a"), []byte("1")))
		},
	} {
		t.Run(what, func(t *testing.T) {
			o, err := openOutbox(ctx, "bbolt", t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer o.close()
			if err := errors.Join(o.order(ctx, "whole"), o.check(ctx, nil)); err != nil {
				t.Fatal(err)
			}
			if err := half(o); err != nil {
				t.Fatal(err)
			}
			if o.check(ctx, nil) == nil {
				t.Error("nobody objects")
			}
		})
	}
}
