package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
)

func TestMain(m *testing.M) {
	driver.Register(crashing{})
	driver.Register(lying{})
	testscript.Main(m, map[string]func(){"assay": main})
}

// TestCommand runs the scripts in testdata on the real command, with real engines.
func TestCommand(t *testing.T) {
	stored, err := filepath.Abs("../../lab/advise/testdata/run")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := filepath.Abs("../../examples/shortener/day.assay")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("STORED", stored)
			e.Setenv("DAY", recorded)
			e.Setenv("SIX", "bbolt,pebble,badger,bunt,sqlite,sqlite-delete") // of which STORED tells
			e.Setenv("COLUMNS", "100")
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "store": store},
	})
}

// status runs a command and holds it to an exit status: status 2 assay run --engines nosuch.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s: exit status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// store makes a store: store bbolt:app.db KEY=VALUE...
func store(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: store URL KEY=VALUE...")
	}
	scheme, path, _ := strings.Cut(args[0], ":")
	db, err := kv.Open(context.Background(), scheme+":"+ts.MkAbs(path))
	ts.Check(err)
	var b kv.Batch
	for _, pair := range args[1:] {
		key, value, _ := strings.Cut(pair, "=")
		b.Put([]byte(key), []byte(value))
	}
	ts.Check(errors.Join(db.Write(context.Background(), kv.Synced, &b), db.Close()))
}
