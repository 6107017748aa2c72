package prove

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/result"

	_ "github.com/assaydb/assay/engines/badgerkv"
	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/buntkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
	_ "github.com/assaydb/assay/engines/sqlitekv"
)

// The test binary is its own child, as assay is.
const (
	role       = "child"
	proverRole = "prover"
)

func TestMain(m *testing.M) {
	registerPlanted()
	registerPlantedLogs()
	driver.Register(wal{})
	if len(os.Args) == 2 && os.Args[1] == role {
		if err := Child(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == proverRole {
		fmt.Fprintln(os.Stderr, runProver(os.Args[2])) // until it is killed
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// plainEntries returns an engine without options.
func plainEntries(engine string) []bench.Entry { return []bench.Entry{{Name: engine, Engine: engine}} }

// options returns options for a short proof of one engine in a folder of its own.
func options(t testing.TB, engine string, class kv.Durability, faults ...string) Options {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(engine, ":") {
		engine += ":"
	}
	entries, err := bench.ParseEntries(engine, nil)
	if err != nil {
		t.Fatal(err)
	}
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	return Options{Entries: entries, Classes: []kv.Durability{class}, Faults: faults, Rounds: rounds, Seed: 7,
		Dir: filepath.Join(t.TempDir(), "data"), Hang: time.Minute, Child: []string{exe, role}}
}

// prove runs o and returns its cells. Nothing may be left behind.
func prove(t *testing.T, o Options) []result.ProofCell {
	t.Helper()
	p, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(o.Dir); err == nil {
		t.Errorf("left behind: %v", left)
	}
	for _, c := range p.Cells {
		t.Logf("%s %s %s %s: rounds %d images %d acked %d lost %d torn %d broken %d %q keeps %s whole %s %s", c.Engine,
			c.Requested, c.Fault,
			c.Rule, c.Rounds, c.Images, c.Acked, c.Lost, c.Torn, c.Broken, c.What, c.Keeps.Verdict, c.Whole.Verdict,
			c.Keeps.Command)
	}
	return p.Cells
}

// proveUntil runs o, and again with other seeds until it is seen, up to ten times, and returns the
// last cell: whether a kill hits the moment in which a fault shows is chance.
func proveUntil(t *testing.T, o Options, seen func(result.ProofCell) bool) (c result.ProofCell) {
	t.Helper()
	for range 10 {
		if c = prove(t, o)[0]; seen(c) {
			break
		}
		o.Seed++
	}
	return c
}
