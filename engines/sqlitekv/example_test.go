package sqlitekv_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/assaydb/assay/engines/sqlitekv"
	"github.com/assaydb/assay/kv"
)

// A program keeps users in a table of its own, and what it remembers by key beside them, in the
// same file.
func ExampleWrap() {
	dir, err := os.MkdirTemp("", "wrap")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	users, err := sql.Open("sqlite", filepath.Join(dir, "app.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer users.Close()
	if _, err := users.Exec("CREATE TABLE users(name TEXT)"); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	db, err := sqlitekv.Wrap(users)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.Put(ctx, kv.Synced, []byte("theme"), []byte("dark")); err != nil {
		log.Fatal(err)
	}

	var theme string
	err = users.QueryRow("SELECT v FROM kv WHERE k = CAST('theme' AS BLOB)").Scan(&theme)
	fmt.Println(theme, err)
	// Output: dark <nil>
}
