package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

// queueStore keeps the queue, in one of the forms.
type queueStore interface {
	// create lets load fill a new queue, and opens it again, timed.
	create(ctx context.Context, load func(jobQueue) error) (jobQueue, error)

	// join opens a queue that another process created. Close then releases what it took.
	join(ctx context.Context) (jobQueue, error)

	// shared reports whether several processes may have the queue open, once it is.
	shared() bool

	Describe() Description
	Size() (kv.Size, error)
	Compact(ctx context.Context) error
	Close() error // after the queue was closed
}

var (
	_ queueStore = (*kvQueue)(nil)
	_ queueStore = (*sqlQueue)(nil)
)

// jobQueue is a queue with the durability of its environment.
type jobQueue interface {
	publish(ctx context.Context, payloads ...[]byte) error
	claim(ctx context.Context, limit int) ([]queue.Job, error)
	next(ctx context.Context) ([]queue.Job, error)                         // claims one, and waits for it
	nextAfter(ctx context.Context, done ...queue.Job) ([]queue.Job, error) // acknowledges done first
	ack(ctx context.Context, jobs ...queue.Job) error
	nack(ctx context.Context, job queue.Job) error
	counts(ctx context.Context) (queue.Counts, error)
	list(ctx context.Context, state queue.State, limit int) ([]queue.Job, error)
	close() error
}

var (
	_ jobQueue = (*storeQueue)(nil)
	_ jobQueue = (*publishedQueue)(nil)
)

// newQueueStore returns what keeps the queue in the form of env, of which "" is kv.
func newQueueStore(env Env, op Op) (queueStore, error) {
	switch {
	case env.Form == "kv" || env.Form == "":
		return &kvQueue{newKVStore(env)}, nil
	case env.Form == "sql" && hasTables(env.Engine), slices.Contains(op.Forms(env.Engine, env.Options), env.Form):
		file, err := newSQLEvents(env, sqllog.Options{})
		if err != nil {
			return nil, err
		}
		if env.Engine == cEngine && env.Form == "published" {
			file.driver = cDriver
		}
		return &sqlQueue{sqlEvents: file, published: env.Form != "sql"}, nil
	}
	return nil, &kv.Error{Op: "workload", Engine: env.Engine, Kind: kv.Invalid, Err: fmt.Errorf("form %q", env.Form),
		Hint: "use " + strings.Join(op.Forms(env.Engine, env.Options), " or ")}
}

// kvQueue keeps a queue in an engine of kv.
type kvQueue struct{ kvStore }

func (s *kvQueue) create(ctx context.Context, load func(jobQueue) error) (jobQueue, error) {
	err := s.kvStore.create(ctx, func(db *kv.DB) error {
		q, err := s.queue(db)
		if err != nil {
			return err
		}
		return errors.Join(load(q), q.close())
	})
	if err != nil {
		return nil, err
	}
	return s.queue(s.db)
}

func (s *kvQueue) join(ctx context.Context) (q jobQueue, err error) {
	if s.db, err = s.open(ctx); err != nil {
		return nil, err
	}
	return s.queue(s.db)
}

func (s *kvQueue) shared() bool { return s.db.Mode() == kv.Shared }

func (s *kvQueue) queue(db *kv.DB) (jobQueue, error) {
	store, err := queue.New(db, nil)
	if err != nil {
		return nil, err
	}
	return newStoreQueue(store, s.env.Durability)
}

// sqlQueue keeps a queue in tables of an SQLite database: those of sqlqueue, or the published ones.
// The file is as that of an event log.
type sqlQueue struct {
	*sqlEvents
	published bool
}

func (s *sqlQueue) create(ctx context.Context, load func(jobQueue) error) (jobQueue, error) {
	q, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(load(q), q.close()); err != nil {
		return nil, err
	}
	start := time.Now()
	if q, err = s.open(ctx); err != nil {
		return nil, err
	}
	s.about.Open = time.Since(start)
	// Both commit with synchronous = FULL where Synced was asked for, otherwise with NORMAL, in WAL
	// mode.
	s.about.Promise = kv.Promise{Supported: true, Class: min(s.durability, kv.Flushed), Intact: true}
	if err := s.readSettings(ctx); err != nil {
		return nil, errors.Join(err, q.close())
	}
	return q, nil
}

func (s *sqlQueue) join(ctx context.Context) (jobQueue, error) { return s.open(ctx) }

func (s *sqlQueue) shared() bool { return true }

func (s *sqlQueue) open(ctx context.Context) (jobQueue, error) {
	if s.published {
		return openPublished(ctx, s.driver, s.path, s.durability, s.options.Pragmas)
	}
	store, err := sqlqueue.Open(ctx, s.path, &sqlqueue.Options{Driver: s.options.Driver, Pragmas: s.options.Pragmas})
	if err != nil {
		return nil, err
	}
	return newStoreQueue(store, s.durability)
}

// storeQueue is a queue of a queue.Store, which it closes.
type storeQueue struct {
	store *queue.Store
	queue *queue.Queue
	class kv.Durability
}

func newStoreQueue(store *queue.Store, class kv.Durability) (jobQueue, error) {
	settings := queueSettings
	q, err := store.Queue("work", &settings)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &storeQueue{store, q, class}, nil
}

func (q *storeQueue) publish(ctx context.Context, payloads ...[]byte) error {
	var few [1]queue.Draft
	drafts := few[:0]
	for _, p := range payloads {
		drafts = append(drafts, queue.Draft{Payload: p})
	}
	_, err := q.queue.Publish(ctx, q.class, drafts...)
	return err
}

func (q *storeQueue) claim(ctx context.Context, limit int) ([]queue.Job, error) {
	return q.queue.Claim(ctx, q.class, limit)
}

func (q *storeQueue) next(ctx context.Context) ([]queue.Job, error) {
	return q.queue.Next(ctx, q.class, 1)
}

func (q *storeQueue) nextAfter(ctx context.Context, done ...queue.Job) ([]queue.Job, error) {
	jobs, err := q.queue.Swap(ctx, q.class, 1, receiptsOf(done)...)
	if err != nil || len(jobs) > 0 {
		return jobs, err
	}
	return q.next(ctx)
}

func (q *storeQueue) ack(ctx context.Context, jobs ...queue.Job) error {
	return q.queue.Ack(ctx, q.class, receiptsOf(jobs)...)
}

func receiptsOf(jobs []queue.Job) (receipts []queue.Receipt) {
	for _, job := range jobs {
		receipts = append(receipts, job.Receipt)
	}
	return receipts
}

func (q *storeQueue) nack(ctx context.Context, job queue.Job) error {
	return q.queue.Nack(ctx, q.class, 0, job.Receipt)
}

func (q *storeQueue) counts(ctx context.Context) (queue.Counts, error) { return q.queue.Counts(ctx) }

func (q *storeQueue) list(ctx context.Context, state queue.State, limit int) ([]queue.Job, error) {
	return q.queue.List(ctx, state, limit)
}

func (q *storeQueue) close() error { return q.store.Close() }
