package advise

import (
	"fmt"
	"strings"

	"github.com/assaydb/assay/kv"
)

// Code returns a program that opens a store of the engine and commits in it, with the durability
// that is needed.
func Code(e Engine, d kv.Durability) string {
	class := "kv." + strings.ToUpper(d.String()[:1]) + d.String()[1:]
	engine, options, _ := strings.Cut(e.URL, ":")
	weakest := ""
	if d != kv.Synced {
		weakest = ", kv.WithWeakest(" + class + ")"
	}
	return fmt.Sprintf(`package main

import (
	"context"
	"log"

	"github.com/assaydb/assay/kv"

	_ %q // the engine %s
)

func main() {
	ctx := context.Background()
	db, err := kv.Open(ctx, %q%s)
	if err != nil {
		log.Fatal(err)
	}
	if err := db.Put(ctx, %s, []byte("key"), []byte("value")); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
}
`, e.Package, engine, engine+":app.db"+options, weakest, class)
}
