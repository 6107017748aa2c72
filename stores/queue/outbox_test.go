package queue_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/frame"
	"github.com/assaydb/assay/stores/internal/outbox"
	"github.com/assaydb/assay/stores/queue"
)

// An outbox: orders are put together with jobs to ship them, and a job is done together with the
// note that its order was shipped. Whatever ends the program, no order is without a job or a
// shipment, and none is shipped twice.

// shop is a store with orders, shipments and jobs.
type shop struct {
	class kv.Durability
	db    *kv.DB
	store *queue.Store
	jobs  *queue.Queue
}

var shops outbox.Open = openShop

func openShop(ctx context.Context, engine, dir string, class kv.Durability) (outbox.Program, error) {
	db, err := kv.Open(ctx, engine+":"+filepath.Join(dir, "shop"), kv.WithWait(frame.Patience))
	if err != nil {
		return nil, err
	}
	o := &shop{class: class, db: db}
	if o.store, err = queue.New(db.Namespace([]byte("jobs/")), nil); err == nil {
		o.jobs, err = o.store.Queue("ship", &queue.Settings{Lease: time.Hour, MaxAttempts: queue.NoLimit})
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return o, nil
}

func (o *shop) Close() error { return errors.Join(o.store.Close(), o.db.Close()) }

// order puts an order and the job to ship it.
func (o *shop) order(ctx context.Context, id string) error {
	return o.db.Update(ctx, o.class, func(tx *kv.Tx) error {
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
func (o *shop) ship(ctx context.Context) error {
	claimed, err := o.jobs.Claim(ctx, o.class, 1)
	if err != nil || len(claimed) == 0 {
		return err
	}
	return o.db.Update(ctx, o.class, func(tx *kv.Tx) error {
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

// Do orders, and ships most of the time.
func (o *shop) Do(ctx context.Context, i int, id string, done func()) error {
	if err := o.order(ctx, id); err != nil {
		return err
	}
	if done(); i%3 == 0 {
		return nil // some are left
	}
	return o.ship(ctx)
}

// Check requires that every order has one job or one shipment, and returns the orders.
func (o *shop) Check(ctx context.Context) (ids []string, err error) {
	waiting := map[string]int{}
	for _, state := range queue.States {
		list, err := o.jobs.List(ctx, state, 1<<20)
		if err != nil {
			return nil, err
		}
		for _, job := range list {
			waiting[string(job.Payload)]++
		}
	}
	err = o.db.View(ctx, func(s *kv.Snapshot) error {
		for key := range s.Scan(kv.Prefix([]byte("order/"))) {
			id := string(key[len("order/"):])
			ids = append(ids, id)
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
	return ids, err
}

func TestOutboxKilled(t *testing.T) { shops.Killed(t, "bbolt", "pebble", "sqlite", "bunt") }

func TestOutboxCrashes(t *testing.T) { shops.Crashes(t, "bbolt", "pebble", "sqlite") }

// TestOutboxInTwoCommits shows what the check finds where order and job, or shipment and
// acknowledgement, are not one.
func TestOutboxInTwoCommits(t *testing.T) {
	ctx := t.Context()
	for what, half := range map[string]func(o *shop) error{
		"an order without a job": func(o *shop) error { return o.db.Put(ctx, kv.Synced, []byte("order/a"), nil) },
		"a job without an order": func(o *shop) error {
			_, err := o.jobs.Publish(ctx, kv.Synced, queue.Draft{Payload: []byte("a")})
			return err
		},
		"a shipment that is not acknowledged": func(o *shop) error {
			return errors.Join(o.order(ctx, "a"), o.db.Put(ctx, kv.Synced, []byte("shipped/a"), []byte("1")))
		},
	} {
		t.Run(what, func(t *testing.T) {
			shops.Objects(t, "bbolt", func(p outbox.Program) error { return half(p.(*shop)) })
		})
	}
}
