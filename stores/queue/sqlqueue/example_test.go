package sqlqueue_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
	"github.com/assaydb/assay/stores/queue/sqlqueue"
)

// An order is put into a table of the program's together with the job to ship it.
func ExampleIn() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shop.db")
	store, err := sqlqueue.Open(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ship, err := store.Queue("ship", nil)
	if err != nil {
		log.Fatal(err)
	}
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
			var jobs *queue.Tx
			if jobs, err = sqlqueue.In(tx, ship); err == nil {
				_, err = jobs.Publish(queue.Draft{Payload: []byte(what)})
			}
		}
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
	fmt.Println(order("a book"))

	jobs, err := ship.Claim(ctx, kv.Synced, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", jobs[0].Payload)
	// Output:
	// <nil>
	// a book
}
