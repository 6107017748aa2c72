package sqltable_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
	"github.com/assaydb/assay/transfer/sqltable"
)

// program is the variable that makes the test binary a program that kept three tables in an SQLite
// file before.
const program = "ASSAY_SQLTABLE_PROGRAM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(program); dir != "" {
		if err := start(dir); err != nil {
			fmt.Fprintln(os.Stderr, err, kv.HintOf(err))
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// start opens the store as the program does, and tells what it finds.
func start(dir string) error {
	ctx := context.Background()
	column := func(name string) []sqltable.Column { return []sqltable.Column{{Name: name}} }
	old := sqltable.URL(filepath.Join(dir, "tool.db"),
		sqltable.Table{Prefix: "cache/", Name: "answers", Key: column("hash"), Value: column("body")},
		sqltable.Table{Prefix: "secret/", Name: "tokens", Key: column("name"), Value: column("token")},
		sqltable.Table{Prefix: "state/", Name: "checkpoints"})
	said := "found"
	o := &transfer.MoveOptions{Wait: 5 * time.Minute}
	o.Progress = func(p transfer.Progress) {
		if p.Phase == "copy" {
			said = "moved"
		}
	}
	db, err := transfer.Open(ctx, "bbolt:"+filepath.Join(dir, "tool"), []string{old}, o, kv.WithWait(5*time.Minute))
	if err != nil {
		return err
	}
	keys := []string{"secret/mail", "cache/\x00\xff", "state/" + string(kv.AppendUint64(nil, 1<<63|1000))}
	for _, k := range keys {
		v, err := db.Get(ctx, []byte(k))
		if err != nil {
			return fmt.Errorf("%q: %w", k, err)
		}
		said += fmt.Sprintf(" %s", v)
	}
	fmt.Println(said)
	return db.Close()
}

// TestProcessesFindAFileOfThreeTables: of many processes that start at once one moves it, and all
// read the same, secrets included. ASSAY_PROCESSES=100 starts as many.
func TestProcessesFindAFileOfThreeTables(t *testing.T) {
	processes := 30
	if testing.Short() {
		processes = 12
	}
	if text := os.Getenv("ASSAY_PROCESSES"); text != "" {
		if _, err := fmt.Sscan(text, &processes); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	otherProgram(t, filepath.Join(dir, "tool.db"), "PRAGMA journal_mode = WAL",
		"CREATE TABLE checkpoints(id INTEGER PRIMARY KEY, body TEXT, at REAL)",
		"CREATE TABLE answers(hash BLOB PRIMARY KEY, body TEXT)",
		"CREATE TABLE tokens(name TEXT PRIMARY KEY, token TEXT)",
		"INSERT INTO tokens VALUES('mail', 's3cret'), ('web', 'other')", "INSERT INTO answers VALUES(x'00ff', '42')",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO checkpoints SELECT i, 'body ' || i, i / 2.0 FROM n")
	said := make(chan string)
	for range processes {
		go func() {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), program+"="+dir)
			c.Stderr = os.Stderr
			out, err := c.Output()
			if err != nil {
				out = fmt.Append(out, err)
			}
			said <- strings.TrimSpace(string(out))
		}()
	}
	got := map[string]int{}
	for range processes {
		got[<-said]++
	}
	const answers = ` s3cret 42 {"body":"body 1000","at":500.0}`
	if got["moved"+answers] != 1 || got["found"+answers] != processes-1 {
		t.Errorf("%d processes said %v, want %q of each, moved of one", processes, got, answers)
	}
}
