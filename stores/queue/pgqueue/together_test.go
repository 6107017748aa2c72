package pgqueue_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/pgqueue"
)

// deed is an operation on jobs that are named by their payloads.
type deed struct {
	verb  queue.Verb
	jobs  []string // published, or whose receipts are used
	limit int
	after time.Duration
	cause string
}

// outcome is what became of it.
type outcome struct {
	published []bool
	claimed   []string
	attempts  []int
	ready     bool
	err       error
}

// subject is a queue, and the receipts of its jobs: of one that was claimed several times the last.
type subject struct {
	queue    *queue.Queue
	settings queue.Settings
	receipts map[string]queue.Receipt
}

// commit does deeds, so many as a group.
func (s *subject) commit(t *testing.T, now time.Time, deeds []deed, together int) []outcome {
	t.Helper()
	group := make([]*queue.Op, len(deeds))
	for i, d := range deeds {
		op := &queue.Op{Verb: d.verb, Queue: s.queue.Name(), Settings: &s.settings, After: d.after, Limit: d.limit,
			Clock: func() time.Time { return now }, Cause: d.cause}
		for _, job := range d.jobs {
			if d.verb == queue.Publish {
				draft := queue.Draft{Payload: []byte(job), Key: job[:1], Priority: int8(job[0]) % 3}
				op.Drafts = append(op.Drafts, draft)
			} else {
				op.Receipts = append(op.Receipts, s.receipts[job])
			}
		}
		group[i] = op
	}
	for some := range slices.Chunk(group, together) {
		if err := s.queue.Backend().Commit(t.Context(), kv.Synced, some); err != nil {
			t.Fatalf("%+v: %v", deeds, err)
		}
	}
	outcomes := make([]outcome, len(deeds))
	for i, op := range group {
		o := outcome{ready: op.Ready > 0}
		for _, id := range op.IDs {
			o.published = append(o.published, id > 0)
		}
		for _, job := range op.Jobs {
			s.receipts[string(job.Payload)] = job.Receipt
			o.claimed, o.attempts = append(o.claimed, string(job.Payload)), append(o.attempts, job.Attempts)
			if want := now.Add(op.After); !job.VisibleAt.Equal(want) {
				t.Errorf("%+v: the lease of %s ends at %v, want %v", deeds[i], job.Payload, job.VisibleAt, want)
			}
		}
		var stale *queue.StaleError
		if op.Err != nil && !errors.As(op.Err, &stale) {
			t.Fatalf("%+v: %v", deeds[i], op.Err)
		}
		if stale != nil {
			o.err = kv.Conflict
		}
		outcomes[i] = o
	}
	return outcomes
}

// TestAGroupIsAsIfEachCameAlone: operations that are committed together, some with stale receipts
// and some with the same, come to what they come to one after the other.
func TestAGroupIsAsIfEachCameAlone(t *testing.T) {
	_, err := postgrestest.Shared()
	postgrestest.Check(t, err)
	store, pool, err := open(t.Name(), queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	defer store.Close()
	subjectOf := func(name string) *subject {
		q, err := store.Queue(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return &subject{q, queue.Settings{Lease: time.Hour, MaxAttempts: 4}, map[string]queue.Receipt{}}
	}
	together, alone := subjectOf("together"), subjectOf("alone")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	now := time.UnixMilli(1_700_000_000_000).UTC()
	var claimed []string // at any time
	some := func() []string {
		var jobs []string
		for range min(rng.IntN(3), len(claimed)) {
			if job := claimed[len(claimed)-1-rng.IntN(min(8, len(claimed)))]; !slices.Contains(jobs, job) {
				jobs = append(jobs, job)
			}
		}
		return jobs
	}
	serial, stale := 0, 0
	for range 60 {
		now = now.Add(time.Duration(rng.IntN(40)) * time.Millisecond)
		deeds := make([]deed, 1+rng.IntN(6))
		for i := range deeds {
			switch d := &deeds[i]; rng.IntN(8) {
			case 0:
				d.verb = queue.Publish
				for range 1 + rng.IntN(6) {
					d.jobs = append(d.jobs, fmt.Sprintf("%c%d", 'a'+rng.IntN(26), serial))
					serial++
				}
			case 1:
				d.verb, d.jobs = queue.Ack, some()
			case 2:
				d.verb, d.jobs, d.cause = queue.Nack, some(), "tried in vain"
			default:
				d.verb, d.jobs, d.limit, d.after = queue.Claim, some(), 1+rng.IntN(3), time.Hour
			}
		}
		got, want := together.commit(t, now, deeds, len(deeds)), alone.commit(t, now, deeds, 1)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v:\ntogether %+v\nalone    %+v", deeds, got, want)
		}
		for _, o := range got {
			claimed = append(claimed, o.claimed...)
			if o.err != nil {
				stale++
			}
		}
	}
	if got, want := rowsOf(t, pool, "together"), rowsOf(t, pool, "alone"); got != want {
		t.Errorf("together %s are left, alone %s", got, want)
	}
	t.Logf("%d jobs claimed, %d operations with stale receipts", len(claimed), stale)
	if len(claimed) < 10 || stale < 5 {
		t.Error("too little was tried")
	}
}

// rowsOf tells what the tables hold of a queue.
func rowsOf(t *testing.T, pool *pgxpool.Pool, name string) (rows string) {
	t.Helper()
	err := pool.QueryRow(t.Context(), `SELECT format('jobs %s, failures %s, keys %s',
		(SELECT array_agg(state || convert_from(payload, 'utf8') ORDER BY payload) FROM assay_jobs WHERE queue = $1),
		(SELECT count(*) FROM assay_job_failures WHERE queue = $1),
		(SELECT array_agg(convert_from(name, 'utf8') ORDER BY name) FROM assay_job_keys WHERE queue = $1 AND id <> 0))`,
		[]byte(name)).Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// trips counts what is sent and waited for.
type trips struct{ n atomic.Int64 }

// TraceBatchStart implements pgx.BatchTracer.
func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (c *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (c *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceQueryStart implements pgx.QueryTracer.
func (c *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (c *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestAWorkerIsOneRoundTripPerJob: the job that is done, the next one, and the commit.
func TestAWorkerIsOneRoundTripPerJob(t *testing.T) {
	for _, class := range []kv.Durability{kv.Synced, kv.Flushed} {
		t.Run(class.String(), func(t *testing.T) {
			_, err := postgrestest.Shared()
			postgrestest.Check(t, err)
			plain, err := postgrestest.SharedPool(t.Context(), t.Name())
			if err != nil {
				t.Fatal(err)
			}
			config := plain.Config()
			plain.Close()
			var count trips
			config.ConnConfig.Tracer = &count
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			now := time.Now() // stands still: the ends of leases are looked for now and then
			store, err := pgqueue.Open(t.Context(), pool, &queue.Options{Clock: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			q, err := store.Queue("work", nil)
			if err != nil {
				t.Fatal(err)
			}
			const jobs = 20
			if _, err := q.Publish(t.Context(), class, make([]queue.Draft, jobs)...); err != nil {
				t.Fatal(err)
			}
			got, err := q.Claim(t.Context(), class, 1)
			before := count.n.Load()
			for range jobs - 1 {
				if err != nil || len(got) != 1 {
					t.Fatalf("claimed %v, %v", got, err)
				}
				got, err = q.Swap(t.Context(), class, 1, got[0].Receipt)
			}
			if n := count.n.Load() - before; n > jobs-1 {
				t.Errorf("%d round trips for %d jobs", n, jobs-1)
			}
		})
	}
}
