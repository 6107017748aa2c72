package workload_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/assaydb/assay/lab/workload"
)

// helperArgument makes the test binary a helper process.
const helperArgument = "assay-helper"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helperArgument {
		if err := workload.Helper(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The race detector lets a process sleep for a second before it exits.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	os.Exit(m.Run())
}

// some returns engines without those that, under -short, are left to the long run: what a workload
// does is the same on them as on others.
func some(engines ...string) []string {
	return slices.DeleteFunc(engines, func(engine string) bool {
		return testing.Short() && slices.Contains([]string{"pebble", "badger", "bunt"}, engine)
	})
}

// self returns the command that makes the test binary a helper process.
func self(t *testing.T) []string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{path, helperArgument}
}
