package pglog_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/engines/postgreskv/postgrestest/wire"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/pglog"
)

// overWire opens a log whose connections may break.
func overWire(t *testing.T) (*wire.Wire, *eventlog.Log) {
	t.Helper()
	w := wire.New(t, postgrestest.Start(t).Socket())
	pool, err := pgxpool.New(t.Context(), w.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	log, err := pglog.Open(t.Context(), pool, &eventlog.Options{Streams: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return w, log
}

// TestLooksForLostCommits: an append whose commit did not arrive, or whose answer was lost, is
// there once, and so is what others append meanwhile.
func TestLooksForLostCommits(t *testing.T) {
	t.Parallel()
	w, log := overWire(t)
	for i, fate := range []wire.Fate{wire.Passes, wire.GetsLost, wire.AnswerLost,
		wire.AnswerLost, wire.GetsLost, wire.Passes} {
		w.Next(fate)
		done, err := log.Append(t.Context(), kv.Synced, "s", eventlog.Any, eventlog.Draft{Type: "T", Data: fmt.Append(nil, i)})
		want := eventlog.Appended{First: uint64(i + 1), Last: uint64(i + 1), Version: uint64(i + 1)}
		if err != nil || done != want {
			t.Errorf("append %d: %+v, %v, want %+v", i, done, err, want)
		}
		events, err := log.LoadStream(t.Context(), "s", eventlog.Range{})
		if err != nil || len(events) != i+1 || string(events[i].Data) != fmt.Sprint(i) {
			t.Fatalf("after append %d there are %+v, %v", i, events, err)
		}
	}
}

// TestACommitStaysInDoubt where nobody answers, and the log goes on when somebody does.
func TestACommitStaysInDoubt(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits as long as the log does: without -short")
	}
	t.Parallel()
	w, log := overWire(t)
	draft := eventlog.Draft{Type: "T", ID: "once"}
	w.Next(wire.CutsOff)
	if _, err := log.Append(t.Context(), kv.Synced, "s", eventlog.Any, draft); !errors.Is(err, kv.InDoubt) || kv.HintOf(err) == "" {
		t.Errorf("got %v, want in doubt with a hint", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Append(ctx, kv.Synced, "s", eventlog.Any, draft); !errors.Is(err, kv.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	w.Next(wire.Passes)
	for range 2 {
		done, err := log.Append(t.Context(), kv.Synced, "s", eventlog.Any, draft)
		if err != nil || done.First != 1 {
			t.Errorf("the append again: %+v, %v", done, err)
		}
	}
}
