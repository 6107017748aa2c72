package eventlog_test

import (
	"errors"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/internal/doubts"
)

// A server may have done a commit whose answer was lost, and its store goes on. What a transaction
// in doubt has appended and acknowledged is there then, and is not written over.
func TestATransactionInDoubtIsNotWrittenOver(t *testing.T) {
	db, err := kv.Open(t.Context(), "mem-doubts:log")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	log, err := eventlog.Open(t.Context(), db, &eventlog.Options{Streams: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	event := eventlog.Draft{Type: "T"}
	add := func(stream string) {
		t.Helper()
		if _, err := log.Append(t.Context(), kv.Buffered, stream, eventlog.Any, event); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		add("a")
	}
	sub, err := log.Subscribe(t.Context(), "reader")
	if err == nil {
		err = sub.Ack(t.Context(), kv.Buffered, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	doubts.Next()
	err = db.Update(t.Context(), kv.Buffered, func(tx *kv.Tx) error {
		events, err := log.In(tx)
		if err == nil {
			_, err = events.Append("b", eventlog.Any, event)
		}
		if err == nil {
			_, err = events.Append("a", eventlog.Any, event)
		}
		if err == nil {
			err = events.Ack(sub, 3)
		}
		return err
	})
	if !errors.Is(err, kv.InDoubt) {
		t.Fatalf("the transaction: %v, want in doubt", err)
	}
	add("a")
	add("b")
	if err := sub.Ack(t.Context(), kv.Buffered, 2); err != nil {
		t.Error(err)
	}
	if marks, err := log.Subscriptions(t.Context()); err != nil || marks[0].Position != 3 {
		t.Errorf("the subscription is at %+v, %v, want 3", marks, err)
	}
	events, err := log.Load(t.Context(), eventlog.Range{})
	var got string
	for _, e := range events {
		got += e.Stream
	}
	if err != nil || got != "aaabaab" {
		t.Errorf("the log has events of %s, %v, want aaabaab", got, err)
	}
	for stream, want := range map[string]int{"a": 5, "b": 2} {
		if events, err := log.LoadStream(t.Context(), stream, eventlog.Range{}); err != nil || len(events) != want {
			t.Errorf("stream %s has %d events, %v, want %d", stream, len(events), err, want)
		}
	}
}
