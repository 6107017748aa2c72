package pairs_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
	"github.com/assaydb/assay/transfer"
)

// openQueues opens the queues at a place. What it returns closes all.
func openQueues(t *testing.T, p place) (*queue.Store, func()) {
	t.Helper()
	var db *kv.DB
	var s *queue.Store
	var err error
	if p.form == "sql" {
		s, err = sqlqueue.Open(t.Context(), p.path, nil)
	} else {
		db = p.engine(t)
		s, err = queue.New(db.Namespace([]byte(p.prefix)), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, func() {
		t.Helper()
		err := s.Close()
		if db != nil {
			err = errors.Join(err, db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// mail opens the queue that the tests look at.
func mail(t *testing.T, s *queue.Store) *queue.Queue {
	t.Helper()
	q, err := s.Queue("mail \x00", &queue.Settings{MaxAttempts: 3, Lease: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// often is ticks that come at once.
type often struct{}

func (often) Next(after time.Time) time.Time { return after.Add(time.Millisecond) }

// left is what fillQueues left in the hands of workers.
type left struct {
	claims, extended []queue.Receipt
	dead             uint64
}

// fillQueues leaves jobs in all states.
func fillQueues(t *testing.T, p place, n int) (held left) {
	t.Helper()
	ctx := t.Context()
	s, end := openQueues(t, p)
	defer end()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	q := mail(t, s)
	claim := func(n int) (receipts []queue.Receipt) {
		t.Helper()
		jobs, err := q.Claim(ctx, kv.Synced, n)
		must(err)
		for _, job := range jobs {
			receipts = append(receipts, job.Receipt)
		}
		if len(receipts) != n {
			t.Fatalf("%d of %d jobs were claimed", len(receipts), n)
		}
		return receipts
	}
	var drafts []queue.Draft
	for i := range n {
		d := queue.Draft{Payload: fmt.Appendf(nil, "{\"n\":%d}\n\x00\xff", i), Priority: int8(i%3 - 1)}
		switch i % 10 {
		case 3:
			d.Delay = time.Duration(i+1) * time.Hour
		case 4:
			d.Payload = bytes.Repeat([]byte("large"), 1000)
		case 5:
			d.Payload = nil
		case 6:
			d.MaxAttempts, d.Timeout = queue.NoLimit, time.Minute
		case 7:
			d.Key, d.KeyFor = fmt.Sprint("key ", i), time.Duration(i%2)*time.Hour
		}
		drafts = append(drafts, d)
	}
	_, err := q.Publish(ctx, kv.Synced, drafts...)
	must(err)
	must(q.Fail(ctx, kv.Synced, errors.New("no such mailbox"), 0, claim(4)...)) // ready again, with a failure
	must(q.Fail(ctx, kv.Synced, errors.New("full <é>"), time.Hour, claim(3)...))
	must(q.Fail(ctx, kv.Synced, queue.Never(errors.New("broken")), 0, claim(3)...)) // dead
	must(q.Release(ctx, kv.Synced, claim(2)...))
	must(q.Ack(ctx, kv.Synced, claim(5)...))
	dead, err := q.List(ctx, queue.Dead, 10)
	must(err)
	held.dead = dead[0].ID
	held.claims = claim(9)
	held.extended = claim(4)
	must(q.Extend(ctx, kv.Synced, 48*time.Hour, held.extended...))
	// one whose key is kept by its period alone
	_, err = q.Publish(ctx, kv.Synced, queue.Draft{Key: "done", KeyFor: time.Hour, Priority: -128})
	must(err)
	must(q.Ack(ctx, kv.Synced, claim(1)...))
	// one that failed more often than failures are kept, not each time with a reason
	ids, err := q.Publish(ctx, kv.Synced, queue.Draft{Payload: []byte("often"), MaxAttempts: queue.NoLimit, Priority: -127})
	must(err)
	for i := range 25 {
		r := claim(1)
		if r[0].ID != ids[0] {
			t.Fatal("another job came first")
		}
		if i%3 == 0 {
			must(q.Nack(ctx, kv.Synced, 0, r...))
		} else {
			must(q.Fail(ctx, kv.Synced, fmt.Errorf("attempt %d", i), 0, r...))
		}
	}
	other, err := s.Queue("other", nil)
	must(err)
	ticking, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() {
		ended <- other.RunSchedule(ticking, kv.Synced, queue.Schedule{Name: "each ms", Ticks: often{},
			Draft: func(time.Time) (queue.Draft, error) { return queue.Draft{Payload: []byte("tick")}, nil }})
	}()
	_, err = other.Next(ctx, kv.Synced, 1)
	must(err)
	stop()
	<-ended
	return held
}

// showQueues is what queues say that they hold.
func showQueues(t *testing.T, p place) string {
	t.Helper()
	ctx := t.Context()
	s, end := openQueues(t, p)
	defer end()
	var text bytes.Buffer
	tell := func(err error, values ...any) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&text, values...)
	}
	names, err := s.Queues(ctx)
	tell(err, fmt.Sprintf("%q", names))
	for _, name := range names {
		q, err := s.Queue(name, nil)
		tell(err)
		counts, err := q.Counts(ctx)
		tell(err, counts)
		for _, state := range queue.States {
			jobs, err := q.List(ctx, state, 10_000)
			tell(err)
			for _, j := range jobs {
				key, until := j.Key()
				tell(nil, j.ID, j.State, j.Priority, j.Attempts, j.CreatedAt, j.VisibleAt, j.Receipt, key, until,
					j.MaxAttempts(), j.Timeout(), fmt.Sprintf("%.50q %d %+v", j.Payload, len(j.Payload), j.Failures()))
			}
		}
	}
	return text.String()
}

// queuesGoOn goes on with the queues that fillQueues filled, as with the first ones.
func queuesGoOn(t *testing.T, p place, held left) {
	t.Helper()
	ctx := t.Context()
	s, end := openQueues(t, p)
	defer end()
	q := mail(t, s)
	if err := q.Ack(ctx, kv.Synced, append(held.claims[1:], held.extended...)...); err != nil {
		t.Errorf("the receipts of before: %v", err)
	}
	wrong := held.claims[0]
	wrong.Token++
	if err := q.Ack(ctx, kv.Synced, wrong); err == nil {
		t.Error("a receipt with another token was taken")
	}
	for _, d := range []queue.Draft{{Key: "done"}, {Key: "key 97"}} {
		if ids, err := q.Publish(ctx, kv.Synced, d); err != nil || ids[0] != 0 {
			t.Errorf("a job whose key %s is taken: %v, %v", d.Key, ids, err)
		}
	}
	if err := q.Requeue(ctx, kv.Synced, held.dead); err != nil {
		t.Error(err)
	}
	last := held.dead
	ids, err := q.Publish(ctx, kv.Synced, queue.Draft{Payload: []byte("new")})
	if err != nil || ids[0] <= last {
		t.Errorf("a new job has the id %v, %v, after %d", ids, err, last)
	}
	// all that is ready comes out, in the order that the list told
	ready, err := q.List(ctx, queue.Ready, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := q.Claim(ctx, kv.Synced, len(ready)+1)
	if err != nil || len(claimed) != len(ready) {
		t.Fatalf("%d of %d jobs were claimed, %v", len(claimed), len(ready), err)
	}
	for i := range claimed {
		if claimed[i].ID != ready[i].ID || !bytes.Equal(claimed[i].Payload, ready[i].Payload) {
			t.Errorf("claim %d is job %d, want %d", i, claimed[i].ID, ready[i].ID)
		}
		if err := q.Ack(ctx, kv.Synced, claimed[i].Receipt); err != nil {
			t.Error(err)
		}
	}
	if n, err := q.Purge(ctx, kv.Synced, queue.Delayed, queue.Claimed, queue.Dead); err != nil || n == 0 {
		t.Errorf("%d others were purged, %v", n, err)
	}
	if counts, err := q.Counts(ctx); err != nil || counts.Total() != 0 {
		t.Errorf("at last there are %+v, %v", counts, err)
	}
}

// TestQueuesMove moves queues through their forms: each says the same of itself, and goes on where
// the first was.
func TestQueuesMove(t *testing.T) {
	t.Parallel()
	places := chain(t)
	held := fillQueues(t, places[0], 200)
	moved(t, "queue", places, showQueues)
	for _, p := range places[1:] {
		queuesGoOn(t, p, held)
		check(t, p.URL("queue"))
	}
}

// TestQueuesKilled kills processes that copy queues.
func TestQueuesKilled(t *testing.T) {
	dir := t.TempDir()
	from := place{form: "leveldb", path: filepath.Join(t.TempDir(), "from")}
	fillQueues(t, from, 1000)
	killed(t, "queue", from, place{form: "sql", path: filepath.Join(dir, "to")})
	killed(t, "queue", place{form: "sql", path: filepath.Join(dir, "to-first")},
		place{form: "bbolt", path: filepath.Join(dir, "back")})
}

// TestQueuesDamaged: reading queues whose own records contradict each other is Corrupt.
func TestQueuesDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := place{form: "bbolt", path: filepath.Join(dir, "first")}
	fillQueues(t, first, 100)
	removeFirst := func(prefix string) func(tx *kv.Tx) error {
		return func(tx *kv.Tx) error {
			for key := range tx.Keys(kv.Prefix([]byte(prefix))) {
				first := bytes.Clone(key)
				defer func() { _ = tx.Delete(first) }()
				break
			}
			return tx.Err()
		}
	}
	for name, damage := range map[string]func(tx *kv.Tx) error{
		"a job is lost":         removeFirst("j"),
		"a ready job is lost":   removeFirst("r"),
		"a delayed job is lost": removeFirst("t"),
		"a dead job is lost":    removeFirst("d"),
	} {
		t.Run(name, func(t *testing.T) {
			p := place{form: "bbolt", path: filepath.Join(t.TempDir(), "copy")}
			if _, err := transfer.Copy(t.Context(), first.URL("queue"), p.URL("queue"), nil); err != nil {
				t.Fatal(err)
			}
			db := p.engine(t)
			if err := errors.Join(db.Update(t.Context(), kv.Synced, damage), db.Close()); err != nil {
				t.Fatal(err)
			}
			_, err := transfer.Copy(t.Context(), p.URL("queue"), "queue:"+filepath.Join(t.TempDir(), "to")+"?form=sql", nil)
			if !errors.Is(err, kv.Corrupt) {
				t.Errorf("a copy of it: %v", err)
			}
		})
	}
	t.Run("a payload of a table is lost", func(t *testing.T) {
		p := place{form: "sql", path: filepath.Join(t.TempDir(), "copy")}
		if _, err := transfer.Copy(t.Context(), first.URL("queue"), p.URL("queue"), nil); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", p.path)
		if err == nil {
			_, err = db.ExecContext(t.Context(), "DELETE FROM payloads WHERE id IN (SELECT id FROM payloads LIMIT 1)")
		}
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		_, err = transfer.Copy(t.Context(), p.URL("queue"), "queue:"+filepath.Join(t.TempDir(), "to")+"?form=pebble", nil)
		if !errors.Is(err, kv.Corrupt) {
			t.Errorf("a copy of it: %v", err)
		}
	})
}
