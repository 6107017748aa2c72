package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// Two who follow under one name, as an old and a new process may for a while, and those who share
// the work and lose their leases: in transactions each event is counted once, and none is parked.
func TestTwoWhoFollowCountEachEventOnce(t *testing.T) {
	for _, engine := range []string{"mem", "bbolt", "pebble", "sqlite"} {
		for _, partitions := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s/%d", engine, partitions), func(t *testing.T) { testFollowTwice(t, engine, partitions) })
		}
	}
}

func testFollowTwice(t *testing.T, engine string, partitions int) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
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
	const events = 60
	for range events {
		if _, err := log.Append(ctx, class, "", eventlog.Any, eventlog.Draft{Type: "Counted"}); err != nil {
			t.Fatal(err)
		}
	}
	var left atomic.Int64
	left.Store(events)
	handle := func(ctx context.Context, e eventlog.Event) error {
		sub, ok := eventlog.SubscriptionOf(ctx)
		if !ok {
			return errors.New("no subscription")
		}
		count := func(tx *kv.Tx) error {
			key := kv.AppendUint64([]byte("count/"), e.Position)
			text, err := tx.Get(key)
			if err != nil && !errors.Is(err, kv.NotFound) {
				return err
			}
			return errors.Join(tx.Put(key, append(text, 'x')), ackIn(log, tx, sub, e.Position))
		}
		err := db.Update(context.WithoutCancel(ctx), class, count)
		if err == nil && left.Add(-1) == 0 {
			stop()
		}
		return err
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			err := log.Follow(ctx, "counter", handle, &eventlog.FollowOptions{Partitions: partitions, Batch: 7,
				Attempts: 1, Lease: 10 * time.Millisecond, Durability: class})
			if !errors.Is(err, kv.Canceled) {
				t.Errorf("follow: %v", err)
			}
		})
	}
	all.Wait()
	for position := range uint64(events) {
		text, err := db.Get(t.Context(), kv.AppendUint64([]byte("count/"), position+1))
		if string(text) != "x" || err != nil {
			t.Errorf("event %d was counted %d times, %v", position+1, len(text), err)
		}
	}
	for _, name := range []string{"counter", "counter/0", "counter/1"} {
		if parked, err := log.Parked(t.Context(), name); len(parked) > 0 || err != nil {
			t.Errorf("%s: %d events are parked, %v", name, len(parked), err)
		}
	}
}
