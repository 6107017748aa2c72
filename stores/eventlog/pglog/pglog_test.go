package pglog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/logtest"
	"github.com/assaydb/assay/stores/eventlog/pglog"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// pools holds the connections of each log that was opened.
var pools sync.Map

func open(schema string, o *eventlog.Options) (log *eventlog.Log, closeAll func() error, err error) {
	pool, err := postgrestest.SharedPool(context.Background(), schema)
	if err != nil {
		return nil, nil, err
	}
	if log, err = pglog.Open(context.Background(), pool, o); err != nil {
		pool.Close()
		return nil, nil, err
	}
	pools.Store(log, pool)
	return log, func() error {
		defer pool.Close()
		pools.Delete(log)
		return log.Close()
	}, nil
}

func poolOf(log *eventlog.Log) *pgxpool.Pool {
	pool, _ := pools.Load(log)
	return pool.(*pgxpool.Pool)
}

// begun returns a log of the test's own, opened twice as by two programs.
func begun(t *testing.T, o *eventlog.Options) (log, other *eventlog.Log) {
	t.Helper()
	_, err := postgrestest.Shared()
	postgrestest.Check(t, err)
	var logs [2]*eventlog.Log
	for i := range logs {
		log, closeAll, err := open(t.Name(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := closeAll(); err != nil {
				t.Error(err)
			}
		})
		logs[i] = log
	}
	return logs[0], logs[1]
}

// join runs fn in a transaction of a program's own.
func join(ctx context.Context, log *eventlog.Log, d kv.Durability, fn func(tx *eventlog.Tx) error) error {
	return pgx.BeginFunc(ctx, poolOf(log), func(tx pgx.Tx) error {
		if d != kv.Synced {
			if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
				return err
			}
		}
		events, err := pglog.In(ctx, tx, log)
		if err != nil {
			return err
		}
		return fn(events)
	})
}

// lose does what a crash of the server may do: it takes events back, and empties what is unlogged.
func lose(schema string, position uint64) error {
	ctx := context.Background()
	pool, err := postgrestest.SharedPool(ctx, schema)
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.Exec(ctx, fmt.Sprintf(`DELETE FROM assay_log_events WHERE position > %d; UPDATE assay_log SET last = %[1]d;
		TRUNCATE assay_log_alive`, position))
	return err
}

func TestConformance(t *testing.T) {
	_, err := postgrestest.Shared()
	postgrestest.Check(t, err)
	logtest.Run(t, logtest.Target{
		Open: func(dir string, o eventlog.Options) (*eventlog.Log, func() error, error) { return open(dir, &o) },
		Join: join,
		Lose: lose,
		Delivers: map[kv.Durability]kv.Durability{kv.Synced: kv.Synced, kv.Flushed: kv.Flushed,
			kv.Buffered: kv.Flushed},
		Processes: true,
		Settle:    postgrestest.Settle,
	})
}

// TestEventsAndRowsTogether: an event that is appended in a transaction of the program's is there
// if that is committed, with its rows, and comes to who waits in another program.
func TestEventsAndRowsTogether(t *testing.T) {
	ctx := t.Context()
	log, other := begun(t, &eventlog.Options{Streams: true})
	pool := poolOf(log)
	if _, err := pool.Exec(ctx, "CREATE TABLE orders (what text)"); err != nil {
		t.Fatal(err)
	}
	sub, err := other.Subscribe(ctx, "shipping")
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan string, 1)
	go func() {
		events, err := sub.Next(ctx, 1)
		if err != nil || len(events) != 1 {
			next <- fmt.Sprint(events, err)
			return
		}
		next <- string(events[0].Data)
	}()
	order := func(what string, end func(pgx.Tx) error) {
		t.Helper()
		tx, err := pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(ctx, "INSERT INTO orders (what) VALUES ($1)", what)
		events, jerr := pglog.In(ctx, tx, log)
		if err = errors.Join(err, jerr); err == nil {
			_, err = events.Append("orders", eventlog.Empty, eventlog.Draft{Type: "Ordered", Data: []byte(what)})
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

// TestNobodySeesAPositionBeforeTheOneBelow: one appends and does not commit, another is told to
// append, and must not come first.
func TestNobodySeesAPositionBeforeTheOneBelow(t *testing.T) {
	ctx := t.Context()
	log, other := begun(t, nil)
	tx, err := poolOf(log).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	events, err := pglog.In(ctx, tx, log)
	if err != nil {
		t.Fatal(err)
	}
	first, err := events.Append("", eventlog.Any, eventlog.Draft{Type: "first"})
	if err != nil || first.First != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	second := make(chan eventlog.Appended, 1)
	go func() {
		done, err := other.Append(ctx, kv.Synced, "", eventlog.Any, eventlog.Draft{Type: "second"})
		if err != nil {
			t.Error(err)
		}
		second <- done
	}()
	const waiting = `SELECT count(*) FROM pg_locks WHERE NOT granted
		AND pid = ANY (SELECT pid FROM pg_stat_activity WHERE query LIKE '%assay_log FOR UPDATE%')`
	for n := 0; n == 0; { // until the other waits for the lock
		if err := poolOf(log).QueryRow(ctx, waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	if last, err := other.LastPosition(ctx); err != nil || last != 0 {
		t.Errorf("the log is at %d, %v, before the first commit", last, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if done := <-second; done.First != 2 {
		t.Errorf("the second is at %+v", done)
	}
}

// TestOthersAreTold: an append, and one in a transaction, is said on the channel that a log listens
// on.
func TestOthersAreTold(t *testing.T) {
	ctx := t.Context()
	log, _ := begun(t, nil)
	conn, err := poolOf(log).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "LISTEN assay_log"); err != nil {
		t.Fatal(err)
	}
	var id string
	if err := conn.QueryRow(ctx, "SELECT 'assay_log'::regclass::oid::text").Scan(&id); err != nil {
		t.Fatal(err)
	}
	draft := eventlog.Draft{Type: "T"}
	for name, appends := range map[string]func() error{
		"alone": func() error {
			_, err := log.Append(ctx, kv.Flushed, "", eventlog.Any, draft)
			return err
		},
		"in a transaction": func() error {
			return join(ctx, log, kv.Synced, func(tx *eventlog.Tx) error {
				_, err := tx.Append("", eventlog.Any, draft)
				return err
			})
		},
	} {
		if err := appends(); err != nil {
			t.Fatal(name, err)
		}
		for payload := ""; payload != id; { // other tests' logs are on the same server
			n, err := conn.Conn().WaitForNotification(ctx)
			if err != nil {
				t.Fatal(name, err)
			}
			payload = n.Payload
		}
	}
}
