//go:build cgo

package sqlite_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/sqlite"
)

// TestMain has SQLite's memory counted, except where time is measured.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		if err := sqlite.CountMemory(); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestMemoryDoesNotGrow runs statements of many kinds, with callbacks, rings, contexts and errors,
// on several connections. ASSAY_SQLITE_STATEMENTS=10000000 runs so many of them, for -race and
// -asan.
func TestMemoryDoesNotGrow(t *testing.T) {
	total := 20_000
	if s := os.Getenv("ASSAY_SQLITE_STATEMENTS"); s != "" {
		var err error
		total, err = strconv.Atoi(s)
		check(t, err)
	}
	const workers, rounds = 4, 10
	path := filepath.Join(t.TempDir(), "a.db")
	exec(t, open(t, path, &sqlite.Options{Journal: "wal"}), queueSchema)
	ring := sqlite.NewRing(256)
	defer ring.Close()
	var memory, heap []int64
	ran := 0
	for range rounds {
		var wg sync.WaitGroup
		var mu sync.Mutex
		for w := range workers {
			wg.Go(func() {
				n, err := work(t.Context(), path, ring, w, total/workers/rounds)
				mu.Lock()
				defer mu.Unlock()
				if ran += n; err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		ring.Take(nil)
		now, _ := sqlite.Memory()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		memory, heap = append(memory, now), append(heap, int64(m.HeapAlloc))
	}
	t.Logf("%d statements; SQLite's memory %v, Go's %v", ran, memory, heap)
	if ran < total*9/10 {
		t.Errorf("%d statements of %d ran", ran, total)
	}
	if first, last := memory[1], memory[rounds-1]; last > first+64<<10 {
		t.Errorf("SQLite's memory grew from %d to %d bytes", first, last)
	}
	if first, last := heap[1], heap[rounds-1]; last > first+8<<20 {
		t.Errorf("Go's memory grew from %d to %d bytes", first, last)
	}
}

// work runs about n statements on a connection of its own.
func work(ctx context.Context, path string, ring *sqlite.Ring, worker, n int) (ran int, err error) {
	c, err := sqlite.Open(ctx, path, &sqlite.Options{Sync: sqlite.SyncOff, Ring: ring, Wait: 10 * time.Minute})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	q := &queueDB{c: c, payload: make([]byte, 256)}
	for s, text := range map[**sqlite.Stmt]string{&q.publish: publishSQL, &q.claim: claimSQL, &q.ack: ackSQL} {
		if *s, err = c.Prepare(ctx, text); err != nil {
			return 0, err
		}
	}
	if worker%2 == 0 {
		err = errors.Join(c.OnTrace(sqlite.TraceStatement|sqlite.TraceProfile|sqlite.TraceRow, func(sqlite.Event) {}),
			c.OnUpdate(func(sqlite.Change) {}), c.OnCommit(func() error { return nil }), c.OnWAL(func(string, int) {}))
		if err != nil {
			return 0, err
		}
	}
	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := 0; ran < n; i++ {
		// Each in a transaction: other workers claim jobs, too.
		err := c.Update(ending, func() error { return q.cycle(ending, fmt.Sprintf("w%d-%09d", worker, i)) })
		if err != nil {
			return ran, err
		}
		ran += 5
		switch i % 100 {
		case 0:
			if err := oddities(ctx, c, q); err != nil {
				return ran, err
			}
			ran += 8
		case 50: // a context of its own, that ends
			if err := ended(ctx, q); err != nil {
				return ran, err
			}
			ran++
		}
	}
	return ran, nil
}

// ended runs a statement with a context of its own, and once more when that has ended.
func ended(ctx context.Context, q *queueDB) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q.ack.BindText(1, "none")
	if err := q.ack.Run(ctx); err != nil {
		return err
	}
	cancel()
	if err := q.put(ctx, "never"); !errors.Is(err, kv.Canceled) {
		return fmt.Errorf("a context that has ended: %w", err)
	}
	return nil
}

// oddities are what does not happen in each cycle: errors, large values, statements made anew,
// blobs.
func oddities(ctx context.Context, c *sqlite.Conn, q *queueDB) error {
	for _, text := range []string{"SELECT * FROM none", "SELECT count(*) FROM jobs; SELECT randomblob(100000)", "PRAGMA wal_checkpoint"} {
		if err := c.Exec(ctx, text); err != nil && !errors.Is(err, kv.Invalid) && !errors.Is(err, kv.Busy) {
			return err
		}
	}
	return c.Update(ctx, func() error {
		if err := c.Exec(ctx, "INSERT INTO jobs VALUES ('odd', 'odd', zeroblob(200000), 1, 1, 1)"); err != nil {
			return err
		}
		row, err := c.Prepare(ctx, "SELECT rowid, payload FROM jobs WHERE id = 'odd'")
		if err != nil {
			return err
		}
		defer row.Close()
		if ok, err := row.Next(ctx); !ok || len(row.Bytes(1)) != 200_000 {
			return fmt.Errorf("a large row: %v, %w", ok, err)
		}
		b, err := c.OpenBlob(ctx, "main", "jobs", "payload", row.Int(0), sqlite.WriteBlob)
		if err != nil {
			return err
		}
		_, err = b.WriteAt(q.payload, 1000)
		if err := errors.Join(err, b.Close()); err != nil {
			return err
		}
		return c.Save(ctx, func() error { return c.Exec(ctx, "DELETE FROM jobs WHERE id = 'odd'") })
	})
}
