//go:build cgo

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/assaydb/assay/sqlite"
)

func Example() {
	ctx := context.Background()
	c, err := sqlite.Open(ctx, ":memory:", &sqlite.Options{ForeignKeys: true})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(ctx, "CREATE TABLE words (word TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT"); err != nil {
		log.Fatal(err)
	}
	insert, err := c.Prepare(ctx, "INSERT INTO words VALUES (?1, ?2)")
	if err != nil {
		log.Fatal(err)
	}
	err = c.Update(ctx, func() error {
		for i, word := range []string{"one", "two", "three"} {
			insert.BindText(1, word)
			insert.BindInt(2, int64(i+1))
			if err := insert.Run(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	insert.BindText(1, "two")
	insert.BindInt(2, 22)
	fmt.Println(errors.Is(insert.Run(ctx), sqlite.ConstraintPrimaryKey))

	query, err := c.Prepare(ctx, "SELECT word, n FROM words WHERE n > ?1 ORDER BY n")
	if err != nil {
		log.Fatal(err)
	}
	query.BindInt(1, 1)
	for {
		ok, err := query.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if !ok {
			break
		}
		fmt.Println(query.Int(1), query.Text(0))
	}
	// Output:
	// true
	// 2 two
	// 3 three
}
