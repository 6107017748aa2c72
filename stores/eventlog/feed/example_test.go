package feed_test

import (
	"context"
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
	f, err := feed.New(db, &feed.Options{Compression: feed.Zstd, Dictionary: dictionary})
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
