package pgqueue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/pgqueue"
	"github.com/assaydb/assay/stores/queue/queuetest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

func open(schema string, o queue.Options) (*queue.Store, *pgxpool.Pool, error) {
	pool, err := postgrestest.SharedPool(context.Background(), schema)
	if err != nil {
		return nil, nil, err
	}
	store, err := pgqueue.Open(context.Background(), pool, &o)
	if err != nil {
		pool.Close()
	}
	return store, pool, err
}

func TestConformance(t *testing.T) {
	_, err := postgrestest.Shared()
	postgrestest.Check(t, err)
	queuetest.Run(t, queuetest.Target{
		Open: func(dir string, o queue.Options) (*queue.Store, func() error, error) {
			store, pool, err := open(dir, o)
			if err != nil {
				return nil, nil, err
			}
			return store, func() error {
				defer pool.Close()
				return store.Close()
			}, nil
		},
		Delivers: map[kv.Durability]kv.Durability{kv.Synced: kv.Synced, kv.Flushed: kv.Flushed,
			kv.Buffered: kv.Flushed},
		Processes: true,
		Settle:    postgrestest.Settle,
	})
}

// TestJobsAndRowsTogether: a job that is published in a transaction of the program's is there if
// that is committed, and wakes who waits in another store.
func TestJobsAndRowsTogether(t *testing.T) {
	_, err := postgrestest.Shared()
	postgrestest.Check(t, err)
	ctx := t.Context()
	open := func() (*queue.Queue, *pgxpool.Pool) {
		store, pool, err := open(t.Name(), queue.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			pool.Close()
		})
		q, err := store.Queue("ship", nil)
		if err != nil {
			t.Fatal(err)
		}
		return q, pool
	}
	q, pool := open()
	other, _ := open()
	if _, err := pool.Exec(ctx, "CREATE TABLE orders (what text)"); err != nil {
		t.Fatal(err)
	}
	next := make(chan string, 1)
	go func() {
		jobs, err := other.Next(ctx, kv.Synced, 1)
		if err != nil || len(jobs) != 1 {
			next <- fmt.Sprint(jobs, err)
			return
		}
		next <- string(jobs[0].Payload)
	}()
	order := func(what string, end func(pgx.Tx) error) {
		t.Helper()
		tx, err := pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(ctx, "INSERT INTO orders (what) VALUES ($1)", what)
		jobs, jerr := pgqueue.In(ctx, tx, q)
		if err = errors.Join(err, jerr); err == nil {
			_, err = jobs.Publish(queue.Draft{Payload: []byte(what)})
		}
		if err = errors.Join(err, end(tx)); err != nil {
			t.Fatal(err)
		}
	}
	order("a mistake", func(tx pgx.Tx) error { return tx.Rollback(ctx) })
	order("a book", func(tx pgx.Tx) error { return tx.Commit(ctx) })
	if got := <-next; got != "a book" {
		t.Errorf("got %q", got)
	}
	var orders int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM orders").Scan(&orders); err != nil || orders != 1 {
		t.Errorf("%d orders, %v", orders, err)
	}
}
