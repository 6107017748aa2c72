package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// Letter is what the jobs of a kind are about.
type Letter struct{ To, Text string }

// letters is a kind: publishers and workers share it.
var letters = queue.Kind[Letter]{Name: "mail"}

// exampleStore opens queues in memory. A program that keeps its data says "bbolt:app.db".
func exampleStore(name string, opts *queue.Options) (db *kv.DB, store *queue.Store) {
	db, err := kv.Open(context.Background(), "mem:"+name)
	if err == nil {
		store, err = queue.New(db, opts)
	}
	if err != nil {
		log.Fatal(err)
	}
	return db, store
}

// Several kinds of jobs, each with a function of its own; what a function returns says what becomes
// of the job.
func ExampleWorkers() {
	ctx := context.Background()
	idle := make(chan struct{}, 3)
	db, store := exampleStore("workers", &queue.Options{Ended: func(o queue.Outcome) {
		fmt.Println(o.Queue, o.Result, o.Err)
		idle <- struct{}{}
	}})
	defer db.Close()
	defer store.Close()
	w, err := queue.NewWorkers(store, kv.Buffered, &queue.WorkersOptions{Total: 8})
	if err != nil {
		log.Fatal(err)
	}
	err = queue.Handle(w, letters, 1, nil, func(ctx context.Context, l Letter) error {
		if l.To == "nobody" {
			return queue.Never(errors.New("there is no such person"))
		}
		fmt.Printf("%s gets %q\n", l.To, l.Text)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()

	mail, err := store.Queue(letters.Name, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range []Letter{{"ada", "hello"}, {"nobody", "hello"}} {
		draft, err := letters.Draft(l)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := mail.Publish(ctx, kv.Buffered, draft); err != nil {
			log.Fatal(err)
		}
		<-idle
	}

	// When the program ends: what runs may go on for a minute.
	deadline, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	fmt.Println(w.Shutdown(deadline), <-ended)
	dead, err := mail.List(ctx, queue.Dead, 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("dead:", string(dead[0].Payload), "because", dead[0].Failures()[0].Error)
	// Output:
	// ada gets "hello"
	// mail done <nil>
	// mail buried there is no such person
	// <nil> <nil>
	// dead: {"To":"nobody","Text":"hello"} because there is no such person
}

// An outbox: an order and the job to ship it are committed together, or not at all.
func ExampleQueue_In() {
	ctx := context.Background()
	db, store := exampleStore("outbox", nil)
	defer db.Close()
	defer store.Close()
	ship, err := store.Queue("ship", nil)
	if err != nil {
		log.Fatal(err)
	}
	orders := db.Namespace([]byte("orders/"))
	err = orders.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		if err := tx.Put([]byte("17"), []byte("two books")); err != nil {
			return err
		}
		jobs, err := ship.In(tx)
		if err == nil {
			_, err = jobs.Publish(queue.Draft{Payload: []byte("17")})
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}

	// The other way round, what a job did is committed with its end: exactly once.
	jobs, err := ship.Next(ctx, kv.Buffered, 1)
	if err != nil {
		log.Fatal(err)
	}
	err = orders.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
		order, err := tx.Get(jobs[0].Payload)
		if err != nil {
			return err
		}
		if err := tx.Put(jobs[0].Payload, append(order, ", shipped"...)); err != nil {
			return err
		}
		in, err := ship.In(tx)
		if err != nil {
			return err
		}
		return in.Ack(jobs[0].Receipt)
	})
	if err != nil {
		log.Fatal(err)
	}
	order, err := orders.Get(ctx, []byte("17"))
	fmt.Printf("%s %v\n", order, err)
	// Output:
	// two books, shipped <nil>
}

// A job that is to be there once, however often it is asked for.
func ExampleDraft_unique() {
	ctx := context.Background()
	db, store := exampleStore("unique", nil)
	defer db.Close()
	defer store.Close()
	reports, err := store.Queue("reports", nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		ids, err := reports.Publish(ctx, kv.Buffered, queue.Draft{Key: "report of ada", KeyFor: time.Hour})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("published:", ids[0] != 0)
	}
	// Output:
	// published: true
	// published: false
}

// A job each night, whichever of the program's processes is up.
func ExampleWorkers_Schedule() {
	db, store := exampleStore("schedule", nil)
	defer db.Close()
	defer store.Close()
	w, err := queue.NewWorkers(store, kv.Buffered, nil)
	if err != nil {
		log.Fatal(err)
	}
	nightly, err := queue.Cron("CRON_TZ=Europe/Berlin 30 4 * * *")
	if err != nil {
		log.Fatal(err)
	}
	err = w.Schedule(letters.Name, queue.Schedule{Name: "nightly", Ticks: nightly, Missed: queue.MissedOnce,
		Draft: func(tick time.Time) (queue.Draft, error) {
			return letters.Draft(Letter{To: "all", Text: "good night of " + tick.Format(time.DateOnly)})
		}})
	fmt.Println(err)
	fmt.Println(nightly.Next(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)).UTC())
	// Output:
	// <nil>
	// 2026-07-02 02:30:00 +0000 UTC
}

// A job that looks whether something is ready, and costs no attempt if it is not.
func ExampleLater() {
	ctx, cancel := context.WithCancel(context.Background())
	db, store := exampleStore("later", nil)
	defer db.Close()
	defer store.Close()
	polls, err := store.Queue("polls", &queue.Settings{MaxAttempts: 1})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := polls.Publish(ctx, kv.Buffered, queue.Draft{Timeout: time.Minute}); err != nil {
		log.Fatal(err)
	}
	looks := 0
	err = polls.Work(ctx, kv.Buffered, func(_ context.Context, job queue.Job) error {
		if looks++; looks < 3 {
			return queue.Later(time.Millisecond)
		}
		fmt.Println("ready at the third look, attempt", job.Attempts)
		cancel()
		return nil
	})
	stats := polls.Stats()
	fmt.Println(errors.Is(err, kv.Canceled), stats.Snoozed, "snoozed,", stats.Done, "done")
	// Output:
	// ready at the third look, attempt 1
	// true 2 snoozed, 1 done
}
