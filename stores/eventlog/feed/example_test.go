package feed_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/feed"
)

// A feed that is compressed in blocks, with what all messages have in common in a dictionary.
func Example() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:feed") // a program that keeps its data says "bbolt:feed.db"
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	var messages [][]byte
	for i := range 1000 {
		messages = append(messages, fmt.Appendf(nil, `{"author":"@ada","sequence":%d,"text":"note %x"}`, i, i*i*7919))
	}
	dictionary, err := feed.Train(messages[:200], 0)
	if err != nil {
		log.Fatal(err)
	}
	f, err := feed.Open(ctx, db, &feed.Options{Compression: feed.Zstd, Dictionary: dictionary})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	first, err := f.Append(ctx, kv.Buffered, messages...)
	fmt.Println("appended from", first, err)
	err = f.View(ctx, func(s *feed.Snapshot) error {
		message, err := s.Get(500)
		fmt.Printf("%s\n", message)
		for seq, message := range s.Scan(s.Len()-2, s.Len()) {
			fmt.Printf("%d: %s\n", seq, message)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// appended from 0 <nil>
	// {"author":"@ada","sequence":500,"text":"note 76009670"}
	// 998: {"author":"@ada","sequence":998,"text":"note 1d61f7f1c"}
	// 999: {"author":"@ada","sequence":999,"text":"note 1d710cd7f"}
}

// A follower keeps up with a feed, and keeps its place where it keeps what it makes of the
// messages. What every follower is past can be trimmed.
func ExampleFeed_Follow() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:followed")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	f, err := feed.Open(ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for _, message := range []string{"one", "two", "three"} {
		if _, err := f.Append(ctx, kv.Buffered, []byte(message)); err != nil {
			log.Fatal(err)
		}
	}

	next, done := uint64(1), errors.New("done") // after what it has dealt with before
	err = f.Follow(ctx, next, func(seq uint64, message []byte) error {
		fmt.Printf("%d: %s\n", seq, message)
		if next = seq + 1; string(message) == "four" {
			return done // a real one goes on until ctx ends
		}
		if next == 3 {
			_, err := f.Append(ctx, kv.Buffered, []byte("four"))
			return err
		}
		return nil
	})
	fmt.Println(err)

	err = f.Trim(ctx, kv.Buffered, next)
	_, gone := f.Get(ctx, 2)
	n, _ := f.Len(ctx)
	fmt.Println(err, errors.Is(gone, kv.NotFound), n)
	// Output:
	// 1: two
	// 2: three
	// 3: four
	// done
	// <nil> true 4
}

// A note and the message that tells others of it are put together, or not at all.
func ExampleFeed_In() {
	ctx := context.Background()
	db, err := kv.Open(ctx, "mem:joined")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	f, err := feed.Open(ctx, db.Namespace([]byte("feed/")), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	put := func(note string) error {
		return db.Update(ctx, kv.Buffered, func(tx *kv.Tx) error {
			messages, err := f.In(tx)
			if err != nil {
				return err
			}
			seq, err := messages.Append([]byte(note))
			if err != nil {
				return err
			}
			if note == "" {
				return errors.New("nothing was noted")
			}
			return tx.Put([]byte(note), kv.AppendUint64(nil, seq))
		})
	}
	fmt.Println(put("buy bread"))
	fmt.Println(put(""))
	fmt.Println(put("water the plants"))
	n, err := f.Len(ctx)
	fmt.Println(n, err)
	// Output:
	// <nil>
	// nothing was noted
	// <nil>
	// 2 <nil>
}
