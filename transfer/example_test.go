package transfer_test

import (
	"context"
	"errors"
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

// openData opens the data of a program that kept it in bbolt until version 2.
func openData(ctx context.Context, dir string) (*kv.DB, error) {
	old := "bbolt:" + filepath.Join(dir, "app.db")
	return transfer.Open(ctx, "pebble:"+filepath.Join(dir, "data"), []string{old}, nil)
}

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	version2, err := kv.Open(ctx, "bbolt:"+filepath.Join(dir, "app.db"))
	if err != nil {
		panic(err)
	}
	if err := errors.Join(version2.Put(ctx, kv.Synced, []byte("visits"), []byte("41")), version2.Close()); err != nil {
		panic(err)
	}

	db, err := openData(ctx, dir)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	visits, err := db.Get(ctx, []byte("visits"))
	fmt.Println(db.Engine(), string(visits), err)
	// Output: pebble 41 <nil>
}
