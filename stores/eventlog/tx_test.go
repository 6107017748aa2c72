package eventlog_test

import (
	"errors"
	"path/filepath"
	"strconv"
	"testing"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// A projection counts events in the store that holds them. However often it fails, each event is
// counted once.
func TestWhatIsMadeOfEventsIsCommittedWithTheirAcknowledgement(t *testing.T) {
	for _, engine := range []string{"mem", "bbolt", "pebble", "sqlite"} {
		t.Run(engine, func(t *testing.T) {
			ctx, total := t.Context(), []byte("total")
			db, err := kv.Open(ctx, engine+":"+filepath.Join(t.TempDir(), "store"), kv.WithWeakest(kv.Buffered))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			class := db.Caps().Cheapest()
			log, err := eventlog.Open(ctx, db.Namespace([]byte("events/")), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			for range 10 {
				if _, err := log.Append(ctx, class, "", eventlog.Any, eventlog.Draft{Type: "Counted"}); err != nil {
					t.Fatal(err)
				}
			}
			sub, err := log.Subscribe(ctx, "counter")
			if err != nil {
				t.Fatal(err)
			}
			boom := errors.New("boom")
			for try := 0; sub.Position() < 10; try++ {
				events, err := sub.Next(ctx, 3)
				if err != nil {
					t.Fatal(err)
				}
				err = db.Update(ctx, class, func(tx *kv.Tx) error {
					text, err := tx.Get(total)
					if err != nil && !errors.Is(err, kv.NotFound) {
						return err
					}
					n, _ := strconv.Atoi(string(text))
					err = errors.Join(tx.Put(total, []byte(strconv.Itoa(n+len(events)))),
						ackIn(log, tx, sub, events[len(events)-1].Position))
					if try%2 == 0 {
						err = boom
					}
					return err
				})
				switch {
				case errors.Is(err, boom):
					sub.Rewind()
				case err != nil:
					t.Fatal(err)
				}
			}
			if text, err := db.Get(ctx, total); string(text) != "10" || err != nil {
				t.Errorf("counted %s, %v, want 10", text, err)
			}
			again, err := log.Subscribe(ctx, "counter")
			if err != nil || again.Position() != 10 {
				t.Errorf("subscribed again at %d, %v", again.Position(), err)
			}
			err = db.Update(ctx, class, func(tx *kv.Tx) error { return ackIn(log, tx, sub, 11) })
			if !errors.Is(err, kv.Invalid) || sub.Position() != 10 {
				t.Errorf("above the last event: %v, position %d", err, sub.Position())
			}
		})
	}
}

func ackIn(log *eventlog.Log, tx *kv.Tx, sub *eventlog.Subscription, position uint64) error {
	events, err := log.In(tx)
	if err != nil {
		return err
	}
	return events.Ack(sub, position)
}

// Two logs that each count positions would overwrite each other's events.
func TestASecondLogOverTheSameKeysIsRefused(t *testing.T) {
	ctx := t.Context()
	db, err := kv.Open(ctx, "mem:second")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	first, err := eventlog.Open(ctx, db.Namespace([]byte("a/")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eventlog.Open(ctx, db.Namespace([]byte("a/")), nil); !errors.Is(err, kv.Invalid) ||
		kv.HintOf(err) == "" {
		t.Errorf("got %v, want invalid with a hint", err)
	}
	beside, err := eventlog.Open(ctx, db.Namespace([]byte("b/")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.Close(), first.Close(), beside.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := eventlog.Open(ctx, db.Namespace([]byte("a/")), nil)
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
