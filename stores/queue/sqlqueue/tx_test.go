package sqlqueue_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

// shop is a file with a queue and a table of the program's.
type shop struct {
	*testing.T
	q  *queue.Queue
	db *sql.DB
}

func openShop(t *testing.T) *shop {
	path := filepath.Join(t.TempDir(), "shop.db")
	store, err := sqlqueue.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	q, err := store.Queue("ship", &queue.Settings{MaxAttempts: 2})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file://"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err == nil {
		_, err = db.Exec(`CREATE TABLE orders (id TEXT PRIMARY KEY, shipped INTEGER NOT NULL DEFAULT 0)`)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &shop{t, q, db}
}

// update runs fn in a transaction, which it commits unless fn fails.
func (s *shop) update(fn func(tx *sql.Tx, jobs *queue.Tx) error) error {
	s.Helper()
	tx, err := s.db.BeginTx(s.Context(), nil)
	if err != nil {
		s.Fatal(err)
	}
	jobs, err := sqlqueue.In(tx, s.q)
	if err != nil {
		s.Fatal(err)
	}
	if err := fn(tx, jobs); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (s *shop) want(orders, shipped int, counts queue.Counts) {
	s.Helper()
	var n, m int
	err := s.db.QueryRow(`SELECT count(*), ifnull(sum(shipped), 0) FROM orders`).Scan(&n, &m)
	got, cerr := s.q.Counts(s.Context())
	if err != nil || cerr != nil || n != orders || m != shipped || got != counts {
		s.Errorf("%d orders, %d shipped, %+v, %v, %v; want %d, %d, %+v", n, m, got, err, cerr, orders, shipped, counts)
	}
}

func order(id string, drafts ...queue.Draft) func(tx *sql.Tx, jobs *queue.Tx) error {
	return func(tx *sql.Tx, jobs *queue.Tx) error {
		_, err := tx.Exec(`INSERT INTO orders (id) VALUES (?)`, id)
		if err == nil {
			_, err = jobs.Publish(drafts...)
		}
		return err
	}
}

func TestJobsAndRowsAreCommittedTogetherOrNotAtAll(t *testing.T) {
	s := openShop(t)
	boom := errors.New("boom")
	err := s.update(func(tx *sql.Tx, jobs *queue.Tx) error {
		return errors.Join(order("lost", queue.Draft{Payload: []byte("lost")})(tx, jobs), boom)
	})
	if !errors.Is(err, boom) {
		t.Error(err)
	}
	s.want(0, 0, queue.Counts{})
	large := make([]byte, 10_000)
	err = s.update(order("a", queue.Draft{Payload: []byte("a"), Key: "a"},
		queue.Draft{Payload: []byte("again"), Key: "a"}, queue.Draft{Payload: large, Priority: 1},
		queue.Draft{Payload: []byte("later"), Delay: time.Hour}))
	if err != nil {
		t.Fatal(err)
	}
	s.want(1, 0, queue.Counts{Ready: 2, Delayed: 1})
	// The queue itself goes on, as do ids.
	if _, err := s.q.Publish(t.Context(), kv.Synced, queue.Draft{Payload: []byte("b"), Priority: 2}); err != nil {
		t.Fatal(err)
	}
	if err := s.update(order("b", queue.Draft{Payload: []byte("c"), Priority: 3})); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.q.Claim(t.Context(), kv.Synced, 10)
	if err != nil || len(jobs) != 4 || string(jobs[0].Payload) != "a" || len(jobs[1].Payload) != len(large) ||
		string(jobs[2].Payload) != "b" || string(jobs[3].Payload) != "c" || jobs[3].ID <= jobs[2].ID {
		t.Fatalf("claimed %d jobs, %v", len(jobs), err)
	}
	ship := func(tx *sql.Tx, q *queue.Tx) error {
		_, err := tx.Exec(`UPDATE orders SET shipped = shipped + 1 WHERE id = 'a'`)
		return errors.Join(err, q.Ack(jobs[0].Receipt))
	}
	if err := s.update(ship); err != nil {
		t.Fatal(err)
	}
	var stale *queue.StaleError
	if err := s.update(ship); !errors.As(err, &stale) {
		t.Errorf("shipped twice: %v", err)
	}
	s.want(2, 1, queue.Counts{Claimed: 3, Delayed: 1})
}

func TestAWholeLifeOfAJobInTransactionsOfSQL(t *testing.T) {
	s := openShop(t)
	if err := s.update(order("a", queue.Draft{Payload: []byte("a")}, queue.Draft{Payload: []byte("b")})); err != nil {
		t.Fatal(err)
	}
	err := s.update(func(_ *sql.Tx, q *queue.Tx) error {
		jobs, err := q.Claim(5)
		if err != nil || len(jobs) != 2 || string(jobs[0].Payload) != "a" || string(jobs[1].Payload) != "b" {
			t.Fatalf("claimed %+v, %v", jobs, err)
		}
		return errors.Join(q.Extend(time.Hour, jobs[0].Receipt), q.Release(jobs[0].Receipt),
			q.Fail(errors.New("bad"), 0, jobs[1].Receipt))
	})
	if err != nil {
		t.Fatal(err)
	}
	s.want(1, 0, queue.Counts{Ready: 2})
	err = s.update(func(_ *sql.Tx, q *queue.Tx) error {
		jobs, err := q.Claim(2)
		if err != nil || len(jobs) != 2 || jobs[0].Attempts+jobs[1].Attempts != 3 {
			t.Fatalf("claimed %+v, %v", jobs, err)
		}
		return errors.Join(q.Fail(queue.Never(errors.New("no way")), 0, jobs[0].Receipt),
			q.Snooze(time.Hour, jobs[1].Receipt))
	})
	if err != nil {
		t.Fatal(err)
	}
	s.want(1, 0, queue.Counts{Delayed: 1, Dead: 1})
}

func TestAnotherTransactionIsRefused(t *testing.T) {
	s, other := openShop(t), openShop(t)
	tx, err := other.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := sqlqueue.In(tx, s.q); !errors.Is(err, kv.Invalid) || kv.HintOf(err) == "" {
		t.Errorf("of another file: %v", err)
	}
	db, err := kv.Open(context.Background(), "mem:", kv.WithWeakest(kv.Buffered))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store, err := queue.New(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	q, err := store.Queue("work", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlqueue.In(tx, q); !errors.Is(err, kv.Unsupported) {
		t.Errorf("a queue over kv: %v", err)
	}
}
