package state_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/state"
)

// A hook that an editor calls all the time. Each call of a method opens a file, does its work and closes the file, so that
// many such processes can work at once.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "hook") // a real program says state.Home("hook") instead
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := state.New("bbolt:"+folder, &state.Options{Buckets: []state.Bucket{
		{Name: "checkpoints"},
		{Name: "answers", Kind: state.Cache, TTL: time.Hour},
		{Name: "tokens", Kind: state.Secret},
	}})
	if err != nil {
		log.Fatal(err)
	}

	_, err = store.Get(ctx, "tokens", []byte("github"))
	fmt.Println("before the first login:", err)
	if err := store.Put(ctx, "tokens", []byte("github"), []byte("s3cret")); err != nil {
		log.Fatal(err)
	}

	// Several steps as one: nobody else writes in between.
	for range 3 {
		err := store.Update(ctx, "checkpoints", func(tx *state.Tx) error {
			calls := 0
			value, err := tx.Get([]byte("calls"))
			if err == nil {
				calls, err = strconv.Atoi(string(value))
			}
			if err != nil && !errors.Is(err, kv.NotFound) {
				return err
			}
			return tx.Put([]byte("calls"), []byte(strconv.Itoa(calls+1)))
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	calls, err := store.Get(ctx, "checkpoints", []byte("calls"))
	fmt.Printf("called %s times, %v\n", calls, err)

	for _, question := range []string{"is a.go fine?", "is b.go fine?"} {
		if err := store.Put(ctx, "answers", []byte(question), []byte("yes")); err != nil {
			log.Fatal(err)
		}
	}
	answers, err := store.Scan(ctx, "answers", []byte("is "))
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range answers {
		fmt.Printf("%s %s\n", a.Key, a.Value)
	}
	// Output:
	// before the first login: not found
	// called 3 times, <nil>
	// is a.go fine? yes
	// is b.go fine? yes
}

// A swap decides between processes without holding a lock while they think.
func ExampleStore_CompareAndSwap() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "hook")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := state.New("bbolt:"+folder, &state.Options{Buckets: []state.Bucket{{Name: "leases"}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, process := range []string{"first", "second"} {
		err := store.CompareAndSwap(ctx, "leases", []byte("indexer"), nil, []byte(process)) // only if nobody has it
		fmt.Println(process, "is refused:", errors.Is(err, kv.Conflict))
	}
	// Output:
	// first is refused: false
	// second is refused: true
}
