package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog"
)

// What an account holds is computed from its events. A withdrawal is decided on these, and appended
// only if no other came in between: then it is decided again.
func ExampleLog_LoadStream() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:decide")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	accounts, err := eventlog.Open(ctx, db, &eventlog.Options{Streams: true})
	if err != nil {
		log.Fatal(err)
	}
	defer accounts.Close()
	_, err = accounts.Append(ctx, kv.Buffered, "ada", eventlog.Empty, eventlog.Draft{Type: "Deposited", Data: []byte{5}})
	if err != nil {
		log.Fatal(err)
	}

	withdraw := func(n int) error {
		for {
			events, err := accounts.LoadStream(ctx, "ada", eventlog.Range{})
			if err != nil {
				return err
			}
			holds := 0
			for _, e := range events {
				if e.Type == "Deposited" {
					holds += int(e.Data[0])
				} else {
					holds -= int(e.Data[0])
				}
			}
			if holds < n {
				return fmt.Errorf("the account holds %d", holds)
			}
			_, err = accounts.Append(ctx, kv.Buffered, "ada", eventlog.Version(uint64(len(events))),
				eventlog.Draft{Type: "Withdrawn", Data: []byte{byte(n)}})
			if !errors.Is(err, kv.Conflict) {
				return err
			}
		}
	}
	fmt.Println(withdraw(3))
	fmt.Println(withdraw(3))
	// Output:
	// <nil>
	// the account holds 2
}

// Two programs, here goroutines, share the mails about orders: each order goes to one of them, and
// the events of an order come in turn.
func ExampleFollowOptions_partitions() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	db, err := kv.Open(ctx, "mem:share")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	orders, err := eventlog.Open(ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	for _, kind := range []string{"Placed", "Paid"} {
		for order := range 3 {
			_, err := orders.Append(ctx, kv.Buffered, fmt.Sprint("order-", order), eventlog.Any,
				eventlog.Draft{Type: kind})
			if err != nil {
				log.Fatal(err)
			}
		}
	}

	var mu sync.Mutex
	mails := map[string][]string{}
	n := 0
	mail := func(_ context.Context, e eventlog.Event) error {
		mu.Lock()
		defer mu.Unlock()
		mails[e.Stream] = append(mails[e.Stream], e.Type)
		if n++; n == 6 {
			stop() // programs that serve go on
		}
		return nil
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			err := orders.Follow(ctx, "mailer", mail, &eventlog.FollowOptions{Partitions: 8, Durability: kv.Buffered})
			if !errors.Is(err, kv.Canceled) {
				log.Fatal(err)
			}
		})
	}
	both.Wait()
	for order := range 3 {
		fmt.Println(mails[fmt.Sprint("order-", order)])
	}
	// Output:
	// [Placed Paid]
	// [Placed Paid]
	// [Placed Paid]
}

// The oldest events go; what is left keeps its positions, and so do those who read it.
func ExampleLog_Truncate() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:truncate")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	visits, err := eventlog.Open(ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer visits.Close()
	visit := eventlog.Draft{Type: "Visited"}
	if _, err := visits.Append(ctx, kv.Buffered, "", eventlog.Any, visit, visit, visit, visit); err != nil {
		log.Fatal(err)
	}

	fmt.Println(visits.Truncate(ctx, kv.Buffered, 3))
	for e, err := range visits.All(ctx, eventlog.Range{}) {
		fmt.Println(e.Position, err)
	}
	// Output:
	// <nil>
	// 3 <nil>
	// 4 <nil>
}

// A projection is built anew: it forgets how far it has come, and begins at the first event.
func ExampleLog_Unsubscribe() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:anew")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	orders, err := eventlog.Open(ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	placed := eventlog.Draft{Type: "Placed"}
	if _, err := orders.Append(ctx, kv.Buffered, "", eventlog.Any, placed, placed); err != nil {
		log.Fatal(err)
	}
	count := func() {
		sub, err := orders.Subscribe(ctx, "counter")
		if err != nil {
			log.Fatal(err)
		}
		events, err := sub.Next(ctx, 100)
		if err == nil {
			err = sub.Ack(ctx, kv.Buffered, events[len(events)-1].Position)
		}
		fmt.Println(len(events), "orders, up to", sub.Position(), err)
	}
	count()
	if err := orders.Unsubscribe(ctx, "counter"); err != nil {
		log.Fatal(err)
	}
	count()
	// Output:
	// 2 orders, up to 2 <nil>
	// 2 orders, up to 2 <nil>
}
