package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/assaydb/assay/kv"
	_ "github.com/assaydb/assay/kv/memkv"
	"github.com/assaydb/assay/stores/queue"
)

// A worker that sends mail: what fails is tried again, and what fails too often is kept for a human
// to look at.
func Example() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:queue") // a program that keeps its data says "bbolt:app.db"
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	store, err := queue.New(db, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	mail, err := store.Queue("mail", &queue.Settings{Lease: time.Minute, MaxAttempts: 2})
	if err != nil {
		log.Fatal(err)
	}

	_, err = mail.Publish(ctx, kv.Buffered,
		queue.Draft{Payload: []byte("to ada: hello")},
		queue.Draft{Payload: []byte("to nobody: hello")},
		queue.Draft{Payload: []byte("to bob: urgent"), Priority: -1})
	if err != nil {
		log.Fatal(err)
	}

	for range 4 {
		jobs, err := mail.Next(ctx, kv.Buffered, 1) // waits for a job
		if err != nil {
			log.Fatal(err)
		}
		job := jobs[0]
		if string(job.Payload) == "to nobody: hello" {
			fmt.Printf("%s: attempt %d failed\n", job.Payload, job.Attempts)
			err = mail.Nack(ctx, kv.Buffered, 0, job.Receipt) // a real one waits before it tries again
		} else {
			fmt.Printf("%s: sent\n", job.Payload)
			err = mail.Ack(ctx, kv.Buffered, job.Receipt)
		}
		if err != nil {
			log.Fatal(err)
		}
	}

	counts, err := mail.Counts(ctx)
	fmt.Printf("%+v %v\n", counts, err)
	dead, err := mail.List(ctx, queue.Dead, 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, job := range dead {
		fmt.Printf("dead after %d attempts: %s\n", job.Attempts, job.Payload)
	}
	// Output:
	// to bob: urgent: sent
	// to ada: hello: sent
	// to nobody: hello: attempt 1 failed
	// to nobody: hello: attempt 2 failed
	// {Ready:0 Delayed:0 Claimed:0 Dead:1} <nil>
	// dead after 2 attempts: to nobody: hello
}

// A worker that was too slow: its lease ended, another has the job, and its acknowledgement is
// refused.
func ExampleQueue_Ack() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:lease")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	now := time.Now()
	store, err := queue.New(db, &queue.Options{Clock: func() time.Time { return now }})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	work, err := store.Queue("work", nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := work.Publish(ctx, kv.Buffered, queue.Draft{Payload: []byte("a job")}); err != nil {
		log.Fatal(err)
	}
	slow, err := work.Claim(ctx, kv.Buffered, 1)
	if err != nil {
		log.Fatal(err)
	}
	now = now.Add(time.Minute) // the lease is 30 s
	other, err := work.Claim(ctx, kv.Buffered, 1)
	if err != nil {
		log.Fatal(err)
	}
	err = work.Ack(ctx, kv.Buffered, slow[0].Receipt)
	var stale *queue.StaleError
	fmt.Println("the slow one:", errors.As(err, &stale), errors.Is(err, kv.Conflict))
	fmt.Println("the other:", work.Ack(ctx, kv.Buffered, other[0].Receipt))
	// Output:
	// the slow one: true true
	// the other: <nil>
}

// A worker that tries again what fails, until it is told to end.
func ExampleQueue_Work() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := kv.Open(ctx, "mem:work")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	store, err := queue.New(db, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	work, err := store.Queue("work", &queue.Settings{Backoff: queue.Exponential(time.Millisecond, time.Second)})
	if err != nil {
		log.Fatal(err)
	}
	_, err = work.Publish(ctx, kv.Buffered, queue.Draft{Payload: []byte("hard")}, queue.Draft{Payload: []byte("easy")})
	if err != nil {
		log.Fatal(err)
	}
	err = work.Work(ctx, kv.Buffered, func(_ context.Context, job queue.Job) error {
		if string(job.Payload) == "hard" && job.Attempts < 3 {
			return errors.New("too hard") // the queue tries again, after about 1 ms, then 2 ms
		}
		fmt.Printf("%s: done at attempt %d\n", job.Payload, job.Attempts)
		if string(job.Payload) == "hard" {
			cancel()
		}
		return nil
	})
	fmt.Println("ended by its context:", errors.Is(err, kv.Canceled))
	counts, err := work.Counts(context.Background())
	fmt.Println("left:", counts.Total(), err)
	// Output:
	// easy: done at attempt 1
	// hard: done at attempt 3
	// ended by its context: true
	// left: 0 <nil>
}
