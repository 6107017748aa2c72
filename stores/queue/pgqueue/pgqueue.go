// Package pgqueue keeps job queues in tables of a PostgreSQL server, where programs on several
// machines work on them.
//
//	pool, err := pgxpool.New(ctx, "postgres://app@db.example.com/app")
//	store, err := pgqueue.Open(ctx, pool, nil)
//	mail, err := store.Queue("mail", nil)
//
// The promises are those of package queue. What is committed with class Synced is committed with
// synchronous_commit as the session has it, which is to be on or more; anything else with off: it
// outlives the program, and a crash of the server may take the last of it back.
//
// Workers take jobs with FOR UPDATE SKIP LOCKED: none waits for another, and a job that another
// process is just taking is passed over, whatever its place. Those who wait are woken by NOTIFY;
// that is lost with the connection, and then by [queue.Options].Poll.
//
// It is a module of its own, since few programs want its client (github.com/jackc/pgx).
//
// # Tables
//
//	assay_jobs          queue, id, state (0 ready, 1 delayed, 2 claimed, 3 dead), priority, at, visible_at,
//	                    created_at, attempts, token, extended, max_attempts, key, special, payload
//	assay_job_failures  queue, id, attempt, at, error: the last 10 of each job
//	assay_job_keys      queue, name, id (0 if the job is not there any more), until
//	assay_job_schedules queue, name, last
//	assay_job_queues    name, last: the last id
//
// They lie in the first schema of the search_path. Names, keys and errors are their bytes in UTF-8.
// Times are in milliseconds since 1970. at is since when a job has been ready, or when its delay or
// lease ends, or 0 of a dead one. Other programs may read the tables. They must not write them.
package pgqueue

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/internal/postgres"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/internal/intables"
)

// Open opens the queues in the database of pool, and makes the tables that are not there. The pool
// is the caller's, who closes it after the store. It must have two connections at least; another
// one, which is not counted, listens.
func Open(ctx context.Context, pool *pgxpool.Pool, o *queue.Options) (*queue.Store, error) {
	if err := postgres.Create(ctx, pool, "assay_job_queues", tables); err != nil {
		return nil, postgres.Wrap("open queues", err)
	}
	b := &backend{pool: pool, dues: intables.Dues{}, notified: map[string]time.Time{}}
	store, err := queue.NewStore(b, o)
	if err != nil {
		return nil, err
	}
	var listening context.Context
	listening, b.end = context.WithCancel(context.Background())
	b.ended.Go(func() { postgres.Listen(listening, pool, channel, wake(store)) })
	return store, nil
}

// backend keeps queues in PostgreSQL.
type backend struct {
	pool  *pgxpool.Pool
	end   context.CancelFunc // of the listener
	ended sync.WaitGroup

	// Of Commit alone.
	dues     intables.Dues
	notified map[string]time.Time // when others were last told of jobs, by queue
}

var _ queue.Backend = (*backend)(nil)

// Traits implements queue.Backend.
func (b *backend) Traits() queue.Traits { return queue.Traits{Shared: true, Alike: true} }

// Close implements queue.Backend.
func (b *backend) Close() error {
	b.end()
	b.ended.Wait()
	return nil
}

// retries is how often a transaction is begun again that met another one.
const retries = 20

// Commit implements queue.Backend.
func (b *backend) Commit(ctx context.Context, d kv.Durability, group []*queue.Op) error {
	var err error
	for range retries {
		err = b.commit(ctx, d, group)
		if !postgres.IsState(err, postgres.SerializationFailure, postgres.DeadlockDetected) {
			break
		}
	}
	if err != nil {
		clear(b.dues)
		clear(b.notified)
		return postgres.Wrap(group[0].Verb.String(), err)
	}
	return nil
}

func (b *backend) commit(ctx context.Context, d kv.Durability, group []*queue.Op) error {
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // which closes one that is still in a transaction
	s := &session{ctx: context.WithoutCancel(ctx), on: conn, pool: b.pool, dues: b.dues, notified: b.notified}
	if s.alike(group) == len(group) {
		if done, err := s.commitAtOnce(d, group); done || err != nil {
			return err
		}
	}
	s.begin, s.end = append([]string{"BEGIN"}, postgres.Levels[d]...), nil
	for rest := group; len(rest) > 0; {
		n, done := s.alike(rest), false
		if n > 0 {
			if done, err = s.together(rest[:n]); err != nil {
				return err
			}
		}
		if n = max(n, 1); !done {
			if err := s.alone(rest[:n]); err != nil {
				return err
			}
		}
		rest = rest[n:]
	}
	if err := s.exec("COMMIT"); err != nil {
		return inDoubt(err)
	}
	_ = s.notify(group) // what was done is committed; who waits looks by itself
	return nil
}

// commitAtOnce does and commits operations that are alike, in one round trip, and reports whether
// it did: not if a receipt is stale. PostgreSQL: a statement by itself is a transaction.
func (s *session) commitAtOnce(d kv.Durability, ops []*queue.Op) (bool, error) {
	if level := postgres.Levels[d]; level != nil {
		s.begin, s.end = append([]string{"BEGIN"}, level...), []string{"COMMIT"}
	}
	done, err := s.together(ops)
	if err != nil {
		return false, inDoubt(err)
	}
	return done, nil
}

// inDoubt returns an error of a commit, which is in doubt unless the server has said that it was
// not done.
func inDoubt(err error) error {
	if postgres.Refused(err) {
		return err
	}
	return &kv.Error{Kind: kv.InDoubt, Err: err, Hint: "see whether the server runs, and look for the jobs"}
}
