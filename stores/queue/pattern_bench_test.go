package queue_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/drivertest"
	"github.com/assaydb/assay/stores/queue"
)

// pattern is the queue that programs write by hand: one table of SQLite, a statement through
// database/sql for each call, each a transaction of its own. Of the promise it has as much as class
// Flushed.
type pattern struct{ db *sql.DB }

func openPattern(b *testing.B) *pattern {
	db, err := sql.Open("sqlite", "file://"+filepath.Join(b.TempDir(), "pattern.db")+
		"?_journal_mode=WAL&_pragma=synchronous(NORMAL)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`CREATE TABLE jobs (id INTEGER PRIMARY KEY, queue TEXT NOT NULL, payload BLOB NOT NULL,
		visible_at INTEGER NOT NULL, created_at INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0);
		CREATE INDEX jobs_visible ON jobs (queue, visible_at)`)
	if err != nil {
		b.Fatal(err)
	}
	return &pattern{db}
}

// cycles publishes, claims and acknowledges n jobs, one after the other.
func (p *pattern) cycles(n int) error {
	payload := make([]byte, 256)
	for range n {
		now := time.Now()
		_, err := p.db.Exec(`INSERT INTO jobs (queue, payload, visible_at, created_at) VALUES ('work', ?, ?, ?)`,
			payload, now.UnixMilli(), now.UnixMilli())
		if err != nil {
			return err
		}
		var id int64
		var got []byte
		err = p.db.QueryRow(`UPDATE jobs SET visible_at = ?, attempts = attempts + 1 WHERE id = (
			SELECT id FROM jobs WHERE queue = 'work' AND visible_at <= ? ORDER BY visible_at LIMIT 1)
			RETURNING id, payload`, now.Add(time.Minute).UnixMilli(), time.Now().UnixMilli()).Scan(&id, &got)
		if err != nil {
			return err
		}
		if _, err := p.db.Exec(`DELETE FROM jobs WHERE id = ?`, id); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkPattern measures jobs against the pattern: one after the other, on SQLite and on BuntDB
// at the same promise, on bbolt and on Pebble at the strongest below synced; and as a program has
// them, published by as many goroutines as work. The pattern gains nothing by goroutines, as each
// of its statements is a commit. The pairs called commits are what three commits of one pair or row
// cost, and nothing else.
func BenchmarkPattern(b *testing.B) {
	p := openPattern(b)
	var pairs []drivertest.Pair
	for _, engine := range []string{"sqlite", "bunt", "bbolt", "pebble"} {
		q, class := benchQueue(b, engine)
		pairs = append(pairs, drivertest.Pair{Name: "cycle-" + engine, Raw: p.cycles, KV: func(n int) error {
			for range n {
				cycle(b, context.Background(), q, class, make([]byte, 256))
			}
			return nil
		}})
	}
	pairs = append(pairs,
		drivertest.Pair{Name: "commits-kv", Raw: p.cycles, KV: commitsOfPairs(b)},
		drivertest.Pair{Name: "commits-sql", Raw: p.cycles, KV: openPattern(b).commits(b)})
	for _, engine := range []string{"sqlite", "bunt"} {
		for _, crew := range []int{1, 8} {
			name := map[int]string{1: "worker-", 8: "workers8-"}[crew] + engine
			pairs = append(pairs, drivertest.Pair{Name: name, Raw: p.cycles, KV: working(b, engine, crew)})
		}
	}
	drivertest.Thin(b, pairs...)
}

// commitsOfPairs returns what commits one pair three times, through kv on SQLite.
func commitsOfPairs(b *testing.B) func(n int) error {
	db, err := kv.Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "commits"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	ctx, value := context.Background(), make([]byte, 256)
	return func(n int) error {
		for i := range 3 * n {
			value[0]++
			if err := db.Put(ctx, kv.Flushed, kv.AppendUint64(nil, uint64(i%3)), value); err != nil {
				return err
			}
		}
		return nil
	}
}

// commits returns what changes one row three times, by a statement that is prepared.
func (p *pattern) commits(b *testing.B) func(n int) error {
	_, err := p.db.Exec(`INSERT INTO jobs (id, queue, payload, visible_at, created_at) VALUES (1, 'work', '', 0, 0)`)
	if err != nil {
		b.Fatal(err)
	}
	update, err := p.db.Prepare(`UPDATE jobs SET attempts = attempts + 1 WHERE id = 1`)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { update.Close() })
	return func(n int) error {
		for range 3 * n {
			if _, err := update.Exec(); err != nil {
				return err
			}
		}
		return nil
	}
}

// working returns what has n jobs published by so many goroutines, and done by as many.
func working(b *testing.B, engine string, crew int) func(n int) error {
	db, err := kv.Open(b.Context(), engine+":"+filepath.Join(b.TempDir(), "workers"))
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan queue.Result, 1<<10)
	store, err := queue.New(db, &queue.Options{Ended: func(o queue.Outcome) { done <- o.Result }})
	if err != nil {
		b.Fatal(err)
	}
	workers, err := queue.NewWorkers(store, kv.Flushed, nil)
	if err != nil {
		b.Fatal(err)
	}
	kind := queue.Kind[[]byte]{Name: "work"}
	if err := queue.Handle(workers, kind, crew, nil, func(context.Context, []byte) error { return nil }); err != nil {
		b.Fatal(err)
	}
	q, err := store.Queue(kind.Name, nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	ended := make(chan error, 1)
	go func() { ended <- workers.Run(ctx) }()
	b.Cleanup(func() {
		for _, err := range []error{workers.Shutdown(ctx), <-ended, store.Close(), db.Close()} {
			if err != nil {
				b.Error(err)
			}
		}
	})
	draft, err := kind.Draft(make([]byte, 192)) // 256 bytes as JSON
	if err != nil {
		b.Fatal(err)
	}
	return func(n int) error {
		var wg sync.WaitGroup
		errs := make(chan error, crew)
		for p := range crew {
			wg.Go(func() {
				for i := p; i < n; i += crew {
					if _, err := q.Publish(ctx, kv.Flushed, draft); err != nil {
						errs <- err
						return
					}
				}
			})
		}
		for range n {
			select {
			case r := <-done:
				if r != queue.Done {
					b.Errorf("a job was %v", r)
				}
			case err := <-errs:
				return err
			}
		}
		wg.Wait()
		return nil
	}
}
