// Package assay is the command assay as a function: a program that calls [Main] is an assay of its
// own, with other engines and workloads beside those of this module, or instead of them. It runs,
// proves, ranks and advises as cmd/assay does, which is nothing but this function with the engines
// that it imports.
//
//	package main
//
//	import (
//		"github.com/assaydb/assay"
//
//		_ "example.com/mine/journal" // registers an engine with kv/driver
//		_ "github.com/assaydb/assay/engines/bboltkv"
//		_ "github.com/assaydb/assay/engines/pebblekv"
//	)
//
//	func main() { assay.Main(assay.Config{Workloads: []workload.Workload{sessions}}) }
//
// docs/own.md explains how to write both, and examples/ownassay is such a program.
package assay

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/assaydb/assay/internal/cli"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/prove"
	"github.com/assaydb/assay/lab/workload"
)

// Config says what is in an assay. The zero Config is every engine that the program imports, and
// the workloads of package lab/workload.
type Config struct {
	// Engines are the contenders, in the order in which they are shown. Nil is every engine that is
	// registered with kv/driver, each under its own name with its defaults, all of them taking
	// part.
	Engines []Engine

	// Absent are engines that users may ask for and that are not in the program.
	Absent []Absent

	// Workloads are those of the program's own, beside those of package lab/workload: Main
	// registers them.
	Workloads []workload.Workload
}

// Engine is an engine that is registered with kv/driver, with settings that are worth comparing.
type Engine struct {
	Name     string // in --engines and tables; empty is the engine's own
	Engine   string // the name that it is registered under, the scheme of its URLs
	Options  string // its options, as a URL query without "?"
	Summary  string // one line; empty is the engine's own
	Default  bool   // takes part where nobody named engines
	Prove    bool   // takes part in assay prove all the same: a setting whose losses are known must lose
	Unranked bool   // shown, never ranked: the harness's own cost

	// Plain names another entry: the engine as its own users know it, where this one is more than
	// that. Reports tell what the difference costs.
	Plain string

	// Servers says how assay prove runs servers by itself, of an engine whose stores are on some.
	// Without it such an engine is not proved.
	Servers *prove.Servers

	// Package is the import path of the package that registers the engine, for the code that assay
	// advise prints; empty is that of the driver's type.
	Package string
}

// Absent is an engine that is not in the program.
type Absent struct {
	Name    string // as in --engines and URLs
	Summary string // one line
	How     string // how to get a program that has it
}

// Main runs the command with the arguments of the program and ends the program. It is called once,
// first thing in main: the lab measures in processes that are this same program, started again.
//
// A mistake in c, such as an engine that is not registered, ends the program with status 2; one in
// a workload panics, as [workload.Register] says.
func Main(c Config) {
	cli.Program = strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	for _, w := range c.Workloads {
		workload.Register(w)
	}
	var catalog []cli.Contender
	for _, e := range c.Engines {
		catalog = append(catalog, cli.Contender{Entry: bench.Entry{Name: e.Name, Engine: e.Engine, Options: e.Options,
			Unranked: e.Unranked, Plain: e.Plain},
			Default: e.Default, Prove: e.Prove, Summary: e.Summary, Package: e.Package, Servers: e.Servers})
	}
	absent := make([]cli.Absent, len(c.Absent))
	for i, a := range c.Absent {
		absent[i] = cli.Absent(a)
	}
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, catalog, absent...))
}
