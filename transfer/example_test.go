package transfer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
)

// users copies the users of a program to an engine of their own.
func users(ctx context.Context, from, to string) (pairs int64, err error) {
	report, err := transfer.Copy(ctx, from, to, &transfer.Options{
		Range: kv.Prefix([]byte("user/")),
		Change: func(k, v []byte) (key, value []byte, keep bool) {
			return k, v, len(v) > 0 // keys must stay in order
		},
	})
	return report.Pairs, err
}

func ExampleCopy() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	from, to := "bbolt:"+filepath.Join(dir, "app.db"), "pebble:"+filepath.Join(dir, "users")
	db, err := kv.Open(ctx, from)
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"user/ann", "user/bob", "visits"} {
		if err := db.Put(ctx, kv.Synced, []byte(name), []byte("1")); err != nil {
			panic(err)
		}
	}
	if err := db.Close(); err != nil {
		panic(err)
	}
	fmt.Println(users(ctx, from, to))
	// Output: 2 <nil>
}
