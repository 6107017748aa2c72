package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// An account whose events are the truth: what it holds is computed from them, and a decision is
// appended only if nobody else decided in the meantime.
func Example() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:example") // a program that keeps its data says "bbolt:app.db"
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	accounts, err := eventlog.Open(ctx, db, &eventlog.Options{Streams: true})
	if err != nil {
		log.Fatal(err)
	}
	defer accounts.Close()

	_, err = accounts.Append(ctx, kv.Buffered, "account-1", eventlog.Empty,
		eventlog.Draft{Type: "Opened", Data: []byte(`{"owner":"Ada"}`)},
		eventlog.Draft{Type: "Deposited", Data: []byte(`{"cents":500}`)})
	fmt.Println("opened:", err)

	// Two decisions on the same knowledge, version 2: the second one is refused.
	for _, kind := range []string{"Closed", "Withdrawn"} {
		done, err := accounts.Append(ctx, kv.Buffered, "account-1", eventlog.Version(2), eventlog.Draft{Type: kind})
		var conflict *eventlog.ConflictError
		if errors.As(err, &conflict) {
			fmt.Printf("%s: refused, the account is at version %d\n", kind, conflict.Actual)
			continue
		}
		fmt.Printf("%s: position %d, version %d, %v\n", kind, done.First, done.Version, err)
	}

	for event, err := range accounts.All(ctx, eventlog.Range{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s %s %s\n", event.Position, event.Stream, event.Type, event.Data)
	}
	// Output:
	// opened: <nil>
	// Closed: position 3, version 3, <nil>
	// Withdrawn: refused, the account is at version 3
	// 1 account-1 Opened {"owner":"Ada"}
	// 2 account-1 Deposited {"cents":500}
	// 3 account-1 Closed
}

// The last events are read backwards; a handler is given those that its filter selects.
func ExampleLog_Follow() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := kv.Open(ctx, "mem:follow")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	orders, err := eventlog.Open(ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	for _, kind := range []string{"Placed", "Paid", "Placed", "Paid"} {
		if _, err := orders.Append(ctx, kv.Buffered, "order", eventlog.Any, eventlog.Draft{Type: kind}); err != nil {
			log.Fatal(err)
		}
	}
	newest, err := orders.Load(ctx, eventlog.Range{Reverse: true, Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the newest is", newest[0].Position)

	mail := func(_ context.Context, e eventlog.Event) error {
		fmt.Println("mail about", e.Position)
		if e.Position == newest[0].Position {
			cancel() // a program that serves goes on
		}
		return nil
	}
	err = orders.Follow(ctx, "mailer", mail, &eventlog.FollowOptions{
		Filter: eventlog.Filter{Types: []string{"Paid"}}, Durability: kv.Buffered})
	fmt.Println(errors.Is(err, kv.Canceled))
	// Output:
	// the newest is 4
	// mail about 2
	// mail about 4
	// true
}

// A subscription remembers, durably, how far a reader has come.
func ExampleLog_Subscribe() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:subscribe")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	orders, err := eventlog.Open(ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	for i := range 3 {
		_, err := orders.Append(ctx, kv.Buffered, "", eventlog.Any,
			eventlog.Draft{Type: "OrderPlaced", Data: fmt.Appendf(nil, `{"order":%d}`, i+1)})
		if err != nil {
			log.Fatal(err)
		}
	}

	mailer, err := orders.Subscribe(ctx, "mailer")
	if err != nil {
		log.Fatal(err)
	}
	events, err := mailer.Next(ctx, 2) // waits for at least one
	if err != nil {
		log.Fatal(err)
	}
	for _, event := range events {
		fmt.Printf("mail about %s\n", event.Data)
	}
	if err := mailer.Ack(ctx, kv.Buffered, events[len(events)-1].Position); err != nil {
		log.Fatal(err)
	}

	mailer, err = orders.Subscribe(ctx, "mailer") // as after a restart
	if err != nil {
		log.Fatal(err)
	}
	events, err = mailer.Next(ctx, 2)
	fmt.Printf("goes on after %d with %s, %v\n", mailer.Position(), events[0].Data, err)
	// Output:
	// mail about {"order":1}
	// mail about {"order":2}
	// goes on after 2 with {"order":3}, <nil>
}

// An order and the event that it was placed are committed together, and so are the number of orders
// and how far the counting has come: whatever ends the program, no order is without its event, and
// none is counted twice.
func ExampleLog_In() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:in")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	events, err := eventlog.Open(ctx, db.Namespace([]byte("events/")), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()

	err = db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		placed, err := events.In(tx)
		if err != nil {
			return err
		}
		_, err = placed.Append("order-17", eventlog.Any, eventlog.Draft{Type: "Placed"})
		return errors.Join(err, tx.Put([]byte("order-17"), []byte("two books")))
	})
	if err != nil {
		log.Fatal(err)
	}

	counter, err := events.Subscribe(ctx, "counter")
	if err != nil {
		log.Fatal(err)
	}
	some, err := counter.Next(ctx, 100)
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		counted, err := events.In(tx)
		if err != nil {
			return err
		}
		return errors.Join(tx.Put([]byte("orders"), fmt.Append(nil, len(some))),
			counted.Ack(counter, some[len(some)-1].Position))
	})
	orders, getErr := db.Get(ctx, []byte("orders"))
	fmt.Printf("%s order, counted up to %d, %v\n", orders, counter.Position(), errors.Join(err, getErr))
	// Output:
	// 1 order, counted up to 1, <nil>
}

// A program that had no answer tries again: with an id for each event, that is the same append.
func ExampleDraft_id() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:id")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	events, err := eventlog.Open(ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	for range 2 {
		done, err := events.Append(ctx, kv.Buffered, "order-17", eventlog.Any,
			eventlog.Draft{Type: "Paid", ID: "payment-4711", Meta: map[string]string{"user": "ada"}})
		fmt.Println(done.First, err)
	}
	// Output:
	// 1 <nil>
	// 1 <nil>
}

// Money goes from one account to another: both streams change, or neither.
func ExampleLog_AppendParts() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:parts")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	accounts, err := eventlog.Open(ctx, db, &eventlog.Options{Streams: true})
	if err != nil {
		log.Fatal(err)
	}
	defer accounts.Close()
	for range 2 {
		done, err := accounts.AppendParts(ctx, kv.Buffered,
			eventlog.Part{Stream: "ada", Expected: eventlog.Version(0), Events: []eventlog.Draft{{Type: "Withdrawn"}}},
			eventlog.Part{Stream: "bob", Expected: eventlog.Any, Events: []eventlog.Draft{{Type: "Deposited"}}})
		fmt.Println(len(done), errors.Is(err, kv.Conflict))
	}
	// Output:
	// 2 false
	// 0 true
}

// What a handler makes of an event is committed with the place that it has come to. An old and a
// new process that both follow, as for a while after a deployment, count no order twice.
func ExampleSubscriptionOf() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	db, err := kv.Open(ctx, "mem:once")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	events, err := eventlog.Open(ctx, db.Namespace([]byte("events/")), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	placed := eventlog.Draft{Type: "Placed"}
	if _, err := events.Append(ctx, kv.Buffered, "", eventlog.Any, placed, placed, placed); err != nil {
		log.Fatal(err)
	}

	err = events.Follow(ctx, "counter", func(ctx context.Context, e eventlog.Event) error {
		counter, _ := eventlog.SubscriptionOf(ctx)
		if e.Position == 3 {
			defer stop() // a real one goes on
		}
		return db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
			in, err := events.In(tx)
			if err != nil {
				return err
			}
			orders, err := tx.Get([]byte("orders"))
			if err != nil && !errors.Is(err, kv.NotFound) {
				return err
			}
			return errors.Join(tx.Put([]byte("orders"), append(orders, '|')), in.Ack(counter, e.Position))
		})
	}, nil)
	orders, getErr := db.Get(context.Background(), []byte("orders"))
	fmt.Printf("%s %v %v\n", orders, errors.Is(err, kv.Canceled), getErr)
	// Output:
	// ||| true <nil>
}
