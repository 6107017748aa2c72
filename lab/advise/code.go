package advise

import (
	"fmt"
	"path"
	"strings"

	"github.com/assaydb/assay/kv"
)

// tables are the packages that keep the stores of a workload in SQLite's own tables.
var tables = map[string]string{"events": "stores/eventlog/sqllog", "queue": "stores/queue/sqlqueue"}

// codeOf returns a program that opens the store of a contender for the work: of its form sql the
// package that the workload measured, where all of the work is of one.
func codeOf(c contender, n Needs) string {
	var pkg string
	for i, w := range n.Work {
		of := tables[w.Workload]
		if cell := c.cells[i]; cell == nil || formOf(*cell) != "sql" || i > 0 && of != pkg {
			of = ""
		}
		pkg = of
	}
	if pkg == "" {
		return Code(c.engine, n.Promise)
	}
	return fmt.Sprintf(`package main

import (
	"context"
	"log"

	"github.com/assaydb/assay/%s"
)

func main() {
	store, err := %s.Open(context.Background(), "app.db", nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Close(); err != nil { // each commit between names its durability: kv.%s
		log.Fatal(err)
	}
}
`, pkg, path.Base(pkg), className(n.Promise))
}

// className returns the name of a class in package kv.
func className(d kv.Durability) string { return strings.ToUpper(d.String()[:1]) + d.String()[1:] }

// Code returns a program that opens a store of the engine and commits in it, with the durability
// that is needed.
func Code(e Engine, d kv.Durability) string {
	class := "kv." + className(d)
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
