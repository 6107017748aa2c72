package queue_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/levelkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	_ "github.com/assaydb/assay/stores/internal/aborts"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/queuetest"
)

// Functions of transactions that meet others run again.
func TestAborts(t *testing.T) { queuetest.Run(t, queuetest.OnKV(t, "mem-aborts", "")) }

func TestMem(t *testing.T)     { queuetest.Run(t, queuetest.OnKV(t, "mem", "")) }
func TestBolt(t *testing.T)    { queuetest.Run(t, queuetest.OnKV(t, "bbolt", "")) }
func TestPebble(t *testing.T)  { queuetest.Run(t, queuetest.OnKV(t, "pebble", "")) }
func TestLevelDB(t *testing.T) { queuetest.Run(t, queuetest.OnKV(t, "leveldb", "")) }
func TestBadger(t *testing.T)  { queuetest.Run(t, queuetest.OnKV(t, "badger", "?durability=flushed")) }
func TestBunt(t *testing.T)    { queuetest.Run(t, queuetest.OnKV(t, "bunt", "")) }
func TestSQLite(t *testing.T)  { queuetest.Run(t, queuetest.OnKV(t, "sqlite", "")) }

// What one store keeps in memory of a queue is void when another has changed it.
func TestTwoStoresOverOneDB(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:two")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var queues [2]*queue.Queue
	for i := range queues {
		store, err := queue.New(db.Namespace([]byte("ns/")), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if queues[i], err = store.Queue("work", nil); err != nil {
			t.Fatal(err)
		}
	}
	publish := func(i int, priority int8, text string) {
		t.Helper()
		if _, err := queues[i].Publish(t.Context(), kv.Buffered,
			queue.Draft{Payload: []byte(text), Priority: priority}); err != nil {
			t.Fatal(err)
		}
	}
	claim := func(i int, want string) {
		t.Helper()
		jobs, err := queues[i].Claim(t.Context(), kv.Buffered, 1)
		if err != nil || len(jobs) != 1 || string(jobs[0].Payload) != want {
			t.Fatalf("claim: got %+v, %v, want %s", jobs, err, want)
		}
	}
	for i := range 20 {
		publish(0, 0, fmt.Sprint("a", i))
	}
	claim(0, "a0")
	claim(1, "a1")
	claim(0, "a2")
	publish(1, -1, "urgent")
	claim(0, "urgent")
	for i := 3; i < 20; i++ {
		claim(i%2, fmt.Sprint("a", i))
	}
	publish(0, 0, "last")
	claim(1, "last")
}

// A head that holds all ready jobs lets go of the last of them when they are many.
func TestMoreJobsThanAreKeptInMemory(t *testing.T) {
	store, closeAll, err := queuetest.OpenKV("mem:many", queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	q, err := store.Queue("work", nil)
	if err != nil {
		t.Fatal(err)
	}
	if jobs, err := q.Claim(t.Context(), kv.Buffered, 1); len(jobs) > 0 || err != nil { // now it is known to be empty
		t.Fatal(jobs, err)
	}
	const n = 10_000
	var want, got []uint64
	for range n / 1000 {
		ids, err := q.Publish(t.Context(), kv.Buffered, make([]queue.Draft, 1000)...)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, ids...)
	}
	for len(got) < n {
		jobs, err := q.Claim(t.Context(), kv.Buffered, 700)
		if err != nil || len(jobs) == 0 {
			t.Fatal(len(got), err)
		}
		for _, job := range jobs {
			got = append(got, job.ID)
		}
	}
	if !slices.Equal(got, want) {
		t.Error("the jobs were not claimed in the order in which they were published")
	}
}

// The keys are a format: they must not change.
func TestKeys(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:keys")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store, err := queue.New(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	q, err := store.Queue("q", &queue.Settings{MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	publish := func(d queue.Draft) {
		if _, err := q.Publish(t.Context(), kv.Buffered, d); err != nil {
			t.Fatal(err)
		}
	}
	claim := func(n int) []queue.Job {
		jobs, err := q.Claim(t.Context(), kv.Buffered, n)
		if err != nil || len(jobs) != n {
			t.Fatal(jobs, err)
		}
		return jobs
	}
	extend := func(job queue.Job) {
		if err := q.Extend(t.Context(), kv.Buffered, 0, job.Receipt); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		publish(queue.Draft{})
	}
	first := claim(4)
	extend(first[0])
	publish(queue.Draft{Payload: []byte("in q")})
	extend(claim(1)[0]) // the other 4 move to 't'
	extend(first[1])
	if err := q.Nack(t.Context(), kv.Buffered, 0, first[2].Receipt); err != nil {
		t.Fatal(err)
	}
	publish(queue.Draft{Delay: 1e9})
	publish(queue.Draft{Payload: []byte("ready")})
	publish(queue.Draft{Priority: -1, Payload: []byte("p")})
	dead := claim(1)
	publish(queue.Draft{Priority: -1})
	if err := q.Nack(t.Context(), kv.Buffered, time.Hour, dead[0].Receipt); err != nil {
		t.Fatal(err)
	}
	if err := q.Requeue(t.Context(), kv.Buffered, dead[0].ID); err != nil {
		t.Fatal(err)
	}
	var got []string
	err = db.View(t.Context(), func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Range{}) {
			if string(k[1:4]) != "q\x00\x01" {
				t.Errorf("key %q is not of the queue", k)
			}
			got = append(got, fmt.Sprintf("%c %d %d", k[0], len(k)-4, len(v)))
		}
		return nil
	})
	want := []string{"d 8 21", "j 17 9", "j 17 8", "j 17 8", "j 17 8", "j 17 8", "j 17 8", "j 17 8", "j 17 12",
		"j 17 13", "q 0 131",
		"r 17 12", "t 16 14", "t 16 22", "t 16 22", "t 16 22", "x 8 8", "x 8 8"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("kinds of key, lengths of the rest and of the value: %q, %v, want %q", got, err, want)
	}
}

// Queues of the format before are read, and become those of this one by the first change.
func TestOldFormat(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem:old")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	format := func(set byte) (was byte) {
		key := kv.AppendString([]byte{'q'}, "work")
		err := db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
			v, err := tx.Get(key)
			if err != nil {
				return err
			}
			if was = v[0]; set != 0 {
				v[0] = set
			}
			return tx.Put(key, v)
		})
		if err != nil {
			t.Fatal(err)
		}
		return was
	}
	use := func(fn func(q *queue.Queue) error) error {
		store, err := queue.New(db, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		q, err := store.Queue("work", nil)
		if err != nil {
			t.Fatal(err)
		}
		return fn(q)
	}
	publish := func(q *queue.Queue) error {
		_, err := q.Publish(t.Context(), kv.Buffered, queue.Draft{Payload: []byte("a job")})
		return err
	}
	claim := func(q *queue.Queue) error {
		jobs, err := q.Claim(t.Context(), kv.Buffered, 2)
		if err == nil && (len(jobs) != 1 || string(jobs[0].Payload) != "a job") {
			err = fmt.Errorf("claimed %+v", jobs)
		}
		return err
	}
	if err := use(publish); err != nil {
		t.Fatal(err)
	}
	format(2)
	if err := use(claim); err != nil || format(0) != 3 {
		t.Errorf("%v, format %d afterwards", err, format(0))
	}
	format(4)
	if err := use(publish); !errors.Is(err, kv.Unsupported) || kv.HintOf(err) == "" {
		t.Errorf("of a newer format: %v, want Unsupported and a hint", err)
	}
}

// A worker that is shut down while another process is in the way has met no failure.
func TestAClaimThatItsContextEndsIsCanceled(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "queue")
	store, closeAll, err := queuetest.OpenKV(url, queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	q, err := store.Queue("work", nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.Begin(t.Context(), kv.Flushed)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	ctx, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	if _, err := q.Claim(ctx, kv.Flushed, 1); kv.KindOf(err) != kv.Canceled {
		t.Errorf("got %v, want canceled", err)
	}
}
