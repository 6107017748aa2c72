package live_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer/live"
)

// toPebble goes on with the bbolt store of a program in Pebble, while the program works with db.
func toPebble(ctx context.Context, db *kv.DB) error {
	s, err := live.Of(db)
	if err != nil {
		return err
	}
	if err := s.Move(ctx, live.Flipped); err != nil { // when the new store is filled, and equal
		return err
	}
	if st := s.Status(); st.Differing > 0 {
		log.Printf("%d pairs differed, the first: %v", st.Differing, st.First)
		return s.Move(ctx, live.Shadowed) // the way back
	}
	return nil // later, when nobody wants to go back any more: s.Move(ctx, live.Dropped)
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := live.Open(ctx, filepath.Join(dir, "switch"), "bbolt:"+filepath.Join(dir, "app.db"),
		"pebble:"+filepath.Join(dir, "data"))
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if err := db.Put(ctx, kv.Synced, []byte("greeting"), []byte("hello")); err != nil {
		panic(err)
	}
	if err := toPebble(ctx, db); err != nil {
		panic(err)
	}
	value, err := db.Get(ctx, []byte("greeting"))
	s, _ := live.Of(db)
	fmt.Printf("%s %v, %v, in step: %v\n", value, err, s.Status().Phase, s.Status().InStep)
	// Output: hello <nil>, flipped, in step: true
}
