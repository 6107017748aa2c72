package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/advise"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/traits"
	"github.com/assaydb/assay/lab/workdir"
)

// traitsName is the command that measures the traits of one engine. It is not for users.
const traitsName = "lab-traits"

// traitsCommand is the process in which traits are measured.
func (a *app) traitsCommand() *cobra.Command {
	return &cobra.Command{
		Use:    traitsName,
		Hidden: true,
		Args:   usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return traits.Child(cmd.Context(), args[0], os.Stdout)
		},
	}
}

// Of the stores and pairs that are tried.
var (
	traitsRecords = []int{1_000, 10_000, 100_000}
	shortRecords  = []int{100, 1_000} // of --quick
)

const (
	traitsLargest = 64 << 20
	shortLargest  = 1 << 20
)

// measureTraits tries the contenders with the given names, or all that are listed for ranking.
func (a *app) measureTraits(ctx context.Context, names []string, quick bool) (all *result.Traits, err error) {
	entries, err := a.probed(names)
	if err != nil {
		return nil, err
	}
	base, err := workdir.Default()
	if err != nil {
		return nil, err
	}
	dir, err := workdir.New(base)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	env, _ := result.CurrentEnvironment(dir.Path, modulesOf(entries))
	all = &result.Traits{Schema: result.TraitsSchema, Started: time.Now().UTC(), Environment: env}
	o := traits.Options{Records: traitsRecords, Largest: traitsLargest}
	if quick {
		o.Records, o.Largest = shortRecords, shortLargest
	}
	if o.Child, err = self(traitsName); err != nil {
		return nil, err
	}
	for i, c := range entries {
		fmt.Fprintf(a.stderr, "trying %s (%d of %d)\n", c.Name, i+1, len(entries))
		own := filepath.Join(dir.Path, fmt.Sprint(i))
		if err := os.Mkdir(own, 0o700); err != nil {
			return nil, err
		}
		all.Engines = append(all.Engines, traits.Probe(ctx, c.Entry, own, o))
		if err := errors.Join(ctx.Err(), os.RemoveAll(own)); err != nil {
			return nil, err
		}
	}
	if !quick {
		err = a.weighTraits(ctx, entries, all.Engines)
	}
	return all, err
}

// probed returns the contenders that are named; without names those that hold pairs.
func (a *app) probed(names []string) (out []Contender, err error) {
	for _, name := range names {
		if _, err := a.parseEngines(name); err != nil {
			return nil, err
		}
	}
	for _, c := range a.catalog {
		if len(names) == 0 && !c.Unranked && c.Name != "margaret" || slices.Contains(names, c.Name) {
			out = append(out, c)
		}
	}
	return out, nil
}

// modulesOf returns the modules of engines.
func modulesOf(all []Contender) (modules []string) {
	for _, c := range all {
		if d, ok := driver.Lookup(c.Engine); ok {
			modules = append(modules, d.Info().Modules...)
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// weighTraits builds a program with each engine, with and without cgo, where there is Go and a
// module that has assay.
func (a *app) weighTraits(ctx context.Context, entries []Contender, into []result.EngineTraits) error {
	engines := make([]advise.Engine, len(entries))
	for i, c := range entries {
		engines[i] = advise.Engine{Name: c.Name, URL: c.URL(), Package: c.Package}
	}
	if err := a.weigh(ctx, engines); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "assay-build-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	without := map[string]bool{}
	for i, e := range engines {
		if into[i].Binary = e.Binary; e.Binary == nil {
			continue
		}
		if _, tried := without[e.Package]; !tried {
			without[e.Package] = runsWithoutC(ctx, dir, e)
		}
		builds := without[e.Package]
		into[i].BuildsNoC = &builds
	}
	return ctx.Err()
}

// runsWithoutC reports whether a program that is built without cgo opens a store of e. That it
// builds is not enough: a package that needs cgo may be empty without.
func runsWithoutC(ctx context.Context, dir string, e advise.Engine) bool {
	if _, err := buildSize(ctx, dir, advise.Code(e, kv.Buffered), "CGO_ENABLED=0"); err != nil {
		return false
	}
	at, err := os.MkdirTemp(dir, "run-*")
	if err != nil {
		return false
	}
	program := exec.CommandContext(ctx, filepath.Join(dir, builtProgram))
	program.Dir = at
	return program.Run() == nil
}

// traits shows what engines were found to be like: when assay was made if shipped is set, and now
// otherwise.
func (a *app) traits(ctx context.Context, names []string, shipped, quick, asJSON, markdown bool) error {
	t, err := result.ShippedTraits()
	if !shipped {
		t, err = a.measureTraits(ctx, names, quick)
	}
	if err != nil {
		return err
	}
	return a.showTraits(t, asJSON, markdown)
}

// showTraits prints traits.
func (a *app) showTraits(t *result.Traits, asJSON, markdown bool) error {
	switch {
	case asJSON:
		return writeJSON(a.stdout, t)
	case markdown:
		return printTraits(a.stdout, t, func(out io.Writer, rows [][]string) error {
			for i, r := range rows {
				fmt.Fprintf(out, "| %s |\n", strings.Join(r, " | "))
				if i == 0 {
					fmt.Fprintf(out, "|%s\n", strings.Repeat("---|", len(r)))
				}
			}
			return nil
		})
	}
	return printTraits(a.stdout, t, func(out io.Writer, rows [][]string) error {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, r := range rows {
			fmt.Fprintf(w, "  %s\n", strings.Join(r, "\t"))
		}
		return w.Flush()
	})
}

// printTraits prints three tables, of those that have been tried.
func printTraits(out io.Writer, t *result.Traits, table func(io.Writer, [][]string) error) error {
	tables := []struct {
		title string
		head  []string
		row   func(e *result.EngineTraits) []string
	}{
		{"A second process, while a first one has the store open", []string{"engine", "reads", "writes", "waits",
			"reads beside a transaction", "writes beside it", "waits for it"}, besideRow},
		{"An open store, and a program with the engine", openHead(t), openRow},
		{"What size does", sizeHead(t), sizeRow},
	}
	for i, tb := range tables {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s:\n\n", tb.title)
		rows := [][]string{tb.head}
		for j := range t.Engines {
			if e := &t.Engines[j]; e.Error == "" {
				rows = append(rows, tb.row(e))
			}
		}
		if err := table(out, rows); err != nil {
			return err
		}
	}
	for _, e := range t.Engines {
		if e.Error != "" {
			fmt.Fprintf(out, "\n%s was not tried: %s\n", e.Name, e.Error)
		}
	}
	return nil
}

func besideRow(e *result.EngineTraits) []string {
	row := []string{e.Name}
	for _, b := range []*result.Beside{e.BesideIdle, e.BesideWriter} {
		if b == nil {
			b = &result.Beside{Reads: "-", Writes: "-", Waits: "-"}
		}
		row = append(row, b.Reads, b.Writes, b.Waits)
	}
	return row
}

func openHead(t *result.Traits) []string {
	head := []string{"engine", "goroutines", "left after Close", "memory"}
	for _, at := range longest(t) {
		head = append(head, "opens "+recordsText(at.Records)+" records")
	}
	return append(head, "adds to a binary", "builds without cgo")
}

// longest returns the openings of the engine that has the most.
func longest(t *result.Traits) (most []result.At) {
	for _, e := range t.Engines {
		if len(e.Opens) > len(most) {
			most = e.Opens
		}
	}
	return most
}

func openRow(e *result.EngineTraits) []string {
	row := []string{e.Name, fmt.Sprint(e.Goroutines), fmt.Sprint(e.Left), megabytes(&e.Memory)}
	for _, at := range e.Opens {
		row = append(row, shortTime(at.NS))
	}
	builds := "-"
	if e.BuildsNoC != nil {
		builds = map[bool]string{true: "yes", false: "no"}[*e.BuildsNoC]
	}
	return append(row, megabytes(e.Binary), builds)
}

func sizeHead(t *result.Traits) []string {
	head := []string{"engine", "data", "loaded", "written again", "opened again", "compacted", "largest key",
		"largest value", "largest transaction"}
	for _, e := range t.Engines {
		if c := e.Churned; c != nil {
			head[1] = recordsText(c.Records) + " records"
			head[3] = fmt.Sprintf("written %d times again", c.Times)
		}
	}
	return head
}

func sizeRow(e *result.EngineTraits) []string {
	row := []string{e.Name}
	if c := e.Churned; c != nil {
		for _, n := range []int64{c.Data, c.Loaded, c.After, c.Reopened, c.Compacted} {
			row = append(row, kilobytes(n))
		}
	} else {
		row = append(row, "-", "-", "-", "-", "-")
	}
	for _, m := range []result.Most{e.Key, e.Value, e.Txn} {
		text := kilobytes(m.Bytes)
		if m.Refused == "" {
			text = "≥ " + text
		}
		row = append(row, text)
	}
	return row
}

// recordsText is a number of records: 500, 10k.
func recordsText(n int) string {
	if n >= 1000 && n%1000 == 0 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

func shortTime(ns int64) string {
	if ns < int64(10*time.Millisecond) {
		return fmt.Sprintf("%.2f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.0f ms", float64(ns)/1e6)
}

func megabytes(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f MB", float64(*n)/1e6)
}

func kilobytes(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}
