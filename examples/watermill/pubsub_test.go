package watermill_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"

	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/examples/watermill"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

// TestPubSub runs Watermill's universal suite: with groups and without, on a log in a key-value
// store and on one in SQL.
func TestPubSub(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, dir string) (*eventlog.Log, func() error, error){
		"pebble": openKV("pebble:"),
		"sqlite": openKV("sqlite:"),
		"sqllog": func(t *testing.T, dir string) (*eventlog.Log, func() error, error) {
			log, err := sqllog.Open(t.Context(), filepath.Join(dir, "log.db"), nil)
			return log, func() error { return nil }, err
		},
	} {
		for _, c := range []struct {
			name, group string
		}{{"in a group", "group"}, {"without a group", ""}} {
			t.Run(name+" "+c.name, func(t *testing.T) {
				log, closeStore, err := open(t, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := errors.Join(log.Close(), closeStore()); err != nil {
						t.Error(err)
					}
				})
				inGroup := func(_ *testing.T, group string) (message.Publisher, message.Subscriber) {
					return watermill.NewPublisher(log, kv.Flushed), watermill.NewSubscriber(log, kv.Flushed, group)
				}
				features := tests.Features{ConsumerGroups: true, GuaranteedOrder: true, Persistent: true,
					NewSubscriberReceivesOldMessages: c.group == ""}
				tests.TestPubSub(t, features, func(t *testing.T) (message.Publisher, message.Subscriber) {
					return inGroup(t, c.group)
				}, inGroup)
			})
		}
	}
}

func openKV(url string) func(t *testing.T, dir string) (*eventlog.Log, func() error, error) {
	return func(t *testing.T, dir string) (*eventlog.Log, func() error, error) {
		db, err := kv.Open(t.Context(), url+filepath.Join(dir, "store"))
		if err != nil {
			return nil, nil, err
		}
		log, err := eventlog.Open(t.Context(), db, nil)
		if err != nil {
			return nil, nil, errors.Join(err, db.Close())
		}
		return log, db.Close, nil
	}
}

// A message that is published again, because the answer was lost, is one message.
func TestAMessageThatIsPublishedAgainIsOne(t *testing.T) {
	log, closeStore, err := openKV("pebble:")(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(log.Close(), closeStore()); err != nil {
			t.Error(err)
		}
	}()
	publisher := watermill.NewPublisher(log, kv.Flushed)
	for range 3 {
		if err := publisher.Publish("orders", message.NewMessage("17", []byte("paid"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := publisher.Publish("invoices", message.NewMessage("17", []byte("of another topic"))); err != nil {
		t.Fatal(err)
	}
	if last, err := log.LastPosition(t.Context()); last != 2 || err != nil {
		t.Errorf("%d messages, %v, want 2", last, err)
	}
}
