package sqllog_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/stores/eventlog"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
)

// An order is put into a table of the program's together with the event that it was placed.
func ExampleIn() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shop.db")
	events, err := sqllog.Open(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT)`); err != nil {
		log.Fatal(err)
	}

	order := func(what string) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO orders (what) VALUES (?)`, what)
		if err == nil {
			var placed *eventlog.Tx
			if placed, err = sqllog.In(tx, events); err == nil {
				_, err = placed.Append("", eventlog.Any, eventlog.Draft{Type: "Placed", Data: []byte(what)})
			}
		}
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
	fmt.Println(order("a book"))

	for e, err := range events.All(ctx, eventlog.Range{}) {
		fmt.Printf("%d %s %s %v\n", e.Position, e.Type, e.Data, err)
	}
	// Output:
	// <nil>
	// 1 Placed a book <nil>
}
