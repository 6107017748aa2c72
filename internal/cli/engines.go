package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/report"
	"github.com/assaydb/assay/lab/result"
)

func (a *app) enginesCommand() *cobra.Command {
	var asJSON, probe, markdown, proof, tried, quick bool
	cmd := &cobra.Command{
		Use:   "engines [ENGINE]...",
		Short: "List the engines in this binary and what each promises",
		Long: `Lists the engines in this binary: what a commit of each class of durability delivers, how processes may share a
store, the versions of the engines' modules, and which engines the binary lacks. With names it also lists each engine's
options, which are URL parameters under the engine's own names.

PROVED tells which promises were kept, in how many crashes, when assay prove tried the same engine in the same version and
with the same options: the proof is built into assay. --proof shows all of it.

--probe tries each engine, and tells what was found: who may use a store at the same time, goroutines and memory of an open
one, how long opening takes by size, what a store grows to when its records are written again, the largest key, value and
transaction, what the engine adds to a binary, and whether it builds without cgo. It takes minutes; --quick tries less. With
names it also shows the settings of a fresh store. --traits shows what was found when this assay was made.`,
		Example: `  assay engines
  assay engines --proof
  assay engines --traits
  assay engines sqlite bbolt --probe --quick
  assay engines --json`,
		ValidArgsFunction: a.completeEngines,
		RunE: func(cmd *cobra.Command, args []string) error {
			shipped, err := result.Shipped()
			if err != nil {
				return err
			}
			if proof {
				return a.showShipped(shipped, asJSON, markdown)
			}
			if tried || probe && (len(args) == 0 || asJSON) {
				return a.traits(cmd.Context(), args, tried, quick, asJSON, markdown)
			}
			list, err := a.describeEngines(cmd.Context(), args, probe, shipped)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return writeJSON(a.stdout, list)
			case markdown:
				return printMarkdown(a.stdout, list)
			}
			if err := printEngines(a.stdout, list); err != nil {
				return err
			}
			if len(args) > 0 {
				if err := printDetails(a.stdout, list); err != nil || !probe {
					return err
				}
				fmt.Fprintln(a.stdout)
				return a.traits(cmd.Context(), args, false, quick, false, false)
			}
			return a.printAbsent(a.stdout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print the table of the README")
	cmd.Flags().BoolVar(&proof, "proof", false, "show the proof that is built into assay")
	cmd.Flags().BoolVar(&probe, "probe", false, "try what each is like beside its speed")
	cmd.Flags().BoolVar(&quick, "quick", false, "with --probe: small stores, and no building")
	cmd.Flags().BoolVar(&tried, "traits", false, "show what was found when this assay was made")
	return cmd
}

// showShipped prints the proof that is built into assay.
func (a *app) showShipped(shipped *result.Proof, asJSON, markdown bool) error {
	switch {
	case asJSON:
		return a.showProof(shipped, "json")
	case markdown:
		return report.ProofMarkdown(a.stdout, shipped)
	}
	return a.showProof(shipped, "text")
}

// completeEngines completes the last of a list of names separated by commas.
func (a *app) completeEngines(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	var out []string
	for _, c := range a.catalog {
		out = append(out, before+c.Name+"\t"+c.Summary)
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// engineJSON is an engine in the output of --json.
type engineJSON struct {
	Name     string            `json:"name"`
	URL      string            `json:"url"`
	Summary  string            `json:"summary"`
	Default  bool              `json:"default"`
	Prove    bool              `json:"prove,omitempty"` // takes part in assay prove by default, though not in assay run
	Modules  map[string]string `json:"modules"`
	Caps     kv.Caps           `json:"caps"`
	Promises [3]result.Promise `json:"promises"` // by the class asked for, with what was proved
	Options  []optionJSON      `json:"options"`
	Settings []kv.Setting      `json:"settings,omitempty"`
}

type optionJSON struct {
	Name    string `json:"name"`
	Values  string `json:"values"`
	Default string `json:"default"`
	Usage   string `json:"usage"`
}

// describeEngines returns the contenders with the given names, or all.
func (a *app) describeEngines(ctx context.Context, names []string, probe bool, shipped *result.Proof) ([]engineJSON,
	error) {
	var out []engineJSON
	for _, name := range names {
		if !slices.ContainsFunc(a.catalog, func(c Contender) bool { return c.Name == name }) {
			_, err := a.parseEngines(name)
			if err == nil {
				err = usage(fmt.Errorf("%q has no name", name), "use a name that assay engines lists")
			}
			return nil, err
		}
	}
	for _, c := range a.catalog {
		if len(names) > 0 && !slices.Contains(names, c.Name) {
			continue
		}
		e, err := describe(ctx, c, probe, result.Proofs{shipped})
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// describe returns what is known of a contender, and what proofs tell of its promises.
func describe(ctx context.Context, c Contender, probe bool, proofs result.Proofs) (engineJSON, error) {
	d, ok := driver.Lookup(c.Engine)
	if !ok {
		return engineJSON{}, fmt.Errorf("the engine %q is not in this binary", c.Engine)
	}
	info := d.Info()
	env, _ := result.CurrentEnvironment(".", info.Modules) // the warnings are about timings
	e := engineJSON{Name: c.Name, URL: c.URL(), Summary: c.Summary, Default: c.Default, Prove: c.Prove, Caps: info.Caps,
		Modules: env.Modules, Options: []optionJSON{}}
	for _, o := range info.Options {
		e.Options = append(e.Options, optionJSON(o))
	}
	if err := e.open(ctx, c.Entry, probe); err != nil {
		return e, err
	}
	e.label(proofs, result.Subject{URL: e.URL, OS: runtime.GOOS, Modules: e.Modules,
		Driver: result.DriverDigest(c.Engine),
		Own:    len(info.Modules) == 0})
	return e, nil
}

// label says of each promise what proofs tell of it.
func (e *engineJSON) label(proofs result.Proofs, subject result.Subject) {
	for d, p := range e.Caps.Promises {
		if p.Supported {
			e.Promises[d] = proofs.Label(subject, result.Promise{Requested: kv.Durability(d).String(),
				Delivered: p.Class.String(), Intact: p.Intact})
		}
	}
}

// provedText lists the promises that a proof tells of, in crashes and distinct states: "synced
// 1,240 (600), flushed 600 (200)", "synced BROKEN"; "-" is none.
func (e *engineJSON) provedText() string {
	var parts []string
	for d, p := range e.Promises {
		if e.Caps.Promises[d].Class != kv.Durability(d) { // a stronger one, which is told already
			continue
		}
		switch p.Proof {
		case result.Proved:
			part := p.Delivered + " " + report.Grouped(p.Images)
			if p.States > 0 {
				part += " (" + report.Grouped(p.States) + ")"
			}
			parts = append(parts, part)
		case result.Disproved:
			parts = append(parts, p.Delivered+" BROKEN")
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// open reads capabilities, and settings if asked, from a fresh store: they depend on the entry's
// options.
func (e *engineJSON) open(ctx context.Context, entry bench.Entry, probe bool) (err error) {
	if entry.Options == "" && !probe {
		return nil
	}
	dir, err := os.MkdirTemp("", "assay-probe-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := kv.Open(ctx, fmt.Sprintf("%s:%s?%s", entry.Engine, filepath.ToSlash(filepath.Join(dir, "store")),
		entry.Options))
	if err != nil {
		return err
	}
	e.Caps = db.Caps()
	if probe {
		e.Settings = db.Settings()
	}
	if err := db.Close(); err != nil {
		return err
	}
	e.Caps.Promises, err = bench.Probe(ctx, entry, filepath.Join(dir, "probe"))
	return err
}

func printEngines(out io.Writer, list []engineJSON) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  NAME\tSYNCED\tFLUSHED\tBUFFERED\tPROVED\tPROCESSES\tVERSION")
	for _, e := range list {
		mark := " "
		switch {
		case e.Default:
			mark = "*"
		case e.Prove:
			mark = "+"
		}
		promise := func(d kv.Durability) string { return promiseMark(e.Caps, d) }
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s\t%s\t%s\t%s\n", mark, e.Name, promise(kv.Synced), promise(kv.Flushed),
			promise(kv.Buffered),
			e.provedText(), modesText(e.Caps), versionsText(e.Modules))
	}
	fmt.Fprintln(t)
	for _, e := range list {
		fmt.Fprintf(t, "  %s\t%s\n", e.Name, e.Summary)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(out, `
* takes part in "assay run" and "assay prove" by default
+ takes part in "assay prove" alone: its losses are known, so that they must show up

Under SYNCED, FLUSHED and BUFFERED stands what a commit delivers when that is asked for:
  synced    it survives a power loss
  flushed   it survives the death of the process (kill -9)
  buffered  it survives nothing
  !         a power loss may damage the store; without, it stays whole, though a tail may be lost
PROVED: promises that were kept in so many crashes (distinct states) of "assay prove"; all of it: assay engines --proof
PROCESSES: one alone (exclusive), several that read and write (shared), several that read (ro)
`)
	return err
}

// promiseMark is promiseText in short.
func promiseMark(c kv.Caps, d kv.Durability) string {
	p := c.Promise(d)
	switch {
	case !p.Supported:
		return "-"
	case !p.Intact && c.Persistent:
		return p.Class.String() + " !"
	}
	return p.Class.String()
}

// printMarkdown prints the table that stands in the README.
func printMarkdown(out io.Writer, list []engineJSON) error {
	fmt.Fprint(out, "| engine | synced | flushed | buffered | proved in crashes (distinct states) | processes | on disk | version |\n"+
		"|---|---|---|---|---|---|---|---|\n")
	for _, e := range list {
		if !e.Caps.Persistent {
			continue
		}
		kind := "a file"
		if e.Caps.Folder {
			kind = "a folder"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", e.Name, promiseText(e.Caps, kv.Synced),
			promiseText(e.Caps, kv.Flushed),
			promiseText(e.Caps, kv.Buffered), e.provedText(), modesText(e.Caps), kind, versionsText(e.Modules))
	}
	return nil
}

func modesText(c kv.Caps) string {
	var modes []string
	for _, m := range c.Modes {
		modes = append(modes, m.String())
	}
	return strings.Join(modes, ", ")
}

func versionsText(modules map[string]string) string {
	return strings.Join(slices.Sorted(maps.Values(modules)), " ")
}

// promiseText says what asking for d gives.
func promiseText(c kv.Caps, d kv.Durability) string {
	p := c.Promise(d)
	switch {
	case !p.Supported:
		return "-"
	case !p.Intact:
		return p.Class.String() + ", may break"
	case p.DiskMayBreak:
		return p.Class.String() + ", unless the disk fails"
	case p.Class == kv.Synced:
		return "synced"
	}
	return p.Class.String() + ", intact"
}

// printDetails prints the settings of a fresh store, where they were asked for, and what the
// options are.
func printDetails(out io.Writer, list []engineJSON) error {
	for _, e := range list {
		fmt.Fprintf(out, "\n%s  %s\n", e.Name, e.URL)
		t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, s := range e.Settings {
			fmt.Fprintf(t, "  %s\t= %s\n", s.Name, s.Value)
		}
		for _, o := range e.Options {
			fmt.Fprintf(t, "  ?%s\t%s\t%s\t%s\n", o.Name, o.Values, o.Default, o.Usage)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
