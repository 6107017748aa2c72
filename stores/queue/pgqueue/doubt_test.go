package pgqueue_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/engines/postgreskv/postgrestest/wire"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/pgqueue"
)

// TestALostCommitIsInDoubt: who claims and has no answer is told that nobody knows what became of
// it, and not that it was not done.
func TestALostCommitIsInDoubt(t *testing.T) {
	w := wire.New(t, postgrestest.Start(t).Socket())
	pool, err := pgxpool.New(t.Context(), w.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	store, err := pgqueue.Open(t.Context(), pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	q, err := store.Queue("work", nil)
	if err == nil {
		_, err = q.Publish(t.Context(), kv.Flushed, queue.Draft{})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Next(wire.AnswerLost)
	if _, err := q.Claim(t.Context(), kv.Flushed, 1); !errors.Is(err, kv.InDoubt) {
		t.Errorf("a claim whose answer was lost: %v, want in doubt", err)
	}
	if c, err := q.Counts(t.Context()); err != nil || c.Claimed != 1 {
		t.Errorf("there are %+v, %v", c, err)
	}
}
