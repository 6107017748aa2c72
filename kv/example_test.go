package kv_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "github.com/assaydb/assay/engines/bboltkv"
	"github.com/assaydb/assay/kv"
)

func Example() {
	dir, err := os.MkdirTemp("", "kv-example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := remember(context.Background(), "bbolt:"+filepath.Join(dir, "state.db")); err != nil {
		log.Fatal(err)
	}
	// Output: user/42 = ada
}

// remember is the example of the README.
func remember(ctx context.Context, url string) error {
	db, err := kv.Open(ctx, url) // "bbolt:state.db"; another engine is another URL
	if err != nil {
		return err
	}
	defer db.Close()
	err = db.Update(ctx, kv.Synced, func(tx *kv.Tx) error { // survives a power loss, or is an error
		return tx.Put([]byte("user/42"), []byte("ada"))
	})
	if err != nil {
		return err
	}
	return db.View(ctx, func(s *kv.Snapshot) error {
		for k, v := range s.Scan(kv.Prefix([]byte("user/"))) {
			fmt.Printf("%s = %s\n", k, v)
		}
		return nil
	})
}
