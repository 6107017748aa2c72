// Package cli is the assay command: a function of arguments and streams.
//
// One file holds one command. What a command prints on standard output is its result; progress,
// warnings and errors go to standard error. The exit status is 0 when all is well, 1 when something
// failed, 2 for wrong usage, 3 when assay compare found that a limit of --fail-on was crossed, and
// 130 after an interrupt, and 141 where nobody read what it printed.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/workload"
)

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitCrossed     = 3
	exitInterrupted = 130 // 128 + SIGINT, as shells count
	exitUnread      = 141 // 128 + SIGPIPE: nobody read on
)

// Program is the name of the program, which the commands begin with that are printed to be typed.
// It is set before Run, if it is another one.
var Program = "assay"

// app is what all commands share.
type app struct {
	catalog        []Contender
	absent         []Absent
	stdin          io.Reader
	stdout, stderr io.Writer
}

// usageError is a wrong command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// errReported is a failure that the output shows already.
var errReported = errors.New("failed")

// errInterrupted is the end by a signal.
var errInterrupted = errors.New("interrupted")

// Run runs the command with args, without the program's name, and returns the exit status. An
// interrupt or a request to terminate ends it in good order; a second one ends it at once. A nil
// catalog is every engine that is registered; absent lists engines that the binary lacks.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, catalog []Contender,
	absent ...Absent) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	a := &app{absent: absent, stdin: stdin, stdout: stdout, stderr: stderr}
	var err error
	if a.catalog, err = whole(catalog); err != nil {
		return a.status(err)
	}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.status(root.ExecuteContext(ctx))
}

// status prints err, unless it was reported, and returns its exit status.
func (a *app) status(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errReported):
		return exitFailed
	case errors.Is(err, errCrossed):
		return exitCrossed
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		fmt.Fprintln(a.stderr, Program+": interrupted")
		return exitInterrupted
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitUnread
	}
	fmt.Fprintln(a.stderr, Program+":", strings.TrimPrefix(err.Error(), kv.Invalid.Error()+": "))
	if hint := hintOf(err); hint != "" {
		fmt.Fprintln(a.stderr, "  hint:", hint)
	}
	if errors.As(err, &usage) || errors.Is(err, kv.Invalid) || errors.Is(err, kv.Unsupported) {
		return exitUsage
	}
	return exitFailed
}

// hintOf returns how to go on after err: what it says itself, or what its kind does.
func hintOf(err error) string {
	var e *kv.Error
	for cause := err; errors.As(cause, &e); cause = e.Err {
		if strings.HasPrefix(e.Engine, "sqlite") && strings.Contains(e.Hint, "?Table=") {
			return fmt.Sprintf("%s; all its tables are sqltable:%s, some of them are named by --table of assay copy",
				e.Hint, e.Path)
		}
	}
	if hint := cmp.Or(kv.HintOf(err), hints[kv.KindOf(err)]); hint != "" {
		return hint
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return "look what is there with: ls -ld " + path.Path
	}
	return ""
}

// hints are those of errors of a kind that have none of their own.
var hints = map[kv.Kind]string{
	kv.Busy:       "run the same command again when the other process has closed it",
	kv.Conflict:   "look at what is there with: assay inspect STORE scan",
	kv.Corrupt:    "restore a backup; what can be read is shown by: assay inspect STORE scan",
	kv.Full:       "free some space, then run the same command again",
	kv.InDoubt:    "look whether it is there with: assay inspect STORE scan",
	kv.NoStore:    "name a path that exists",
	kv.Permission: "look whose it is and what they allow with: ls -ld PATH",
	kv.Stopped:    "run the same command again: opening the store anew mends it",
}

func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   Program,
		Short: "Find the embedded storage engine that fits your Go program",
		Long: `assay runs embedded storage engines side by side on the work that applications do, each at a promise that it
really makes, and says which are faster, by how much, and which cannot be told apart. It also breaks them, to see whether
they keep what they promise.

Start with:

  assay run                    five engines at eleven operations, in 90 seconds
  assay run hook --budget 3m   one workload, all its operations, more precisely
  assay replay FILE            what your program did, recorded, on every engine
  assay advise                 which engine fits your program, and why
  assay prove                  what commits survive: kill -9, power cuts, failing disks, in 5 minutes
  assay copy SRC DST           a store to another engine, whole and verified
  assay watch TARGET           what the store of a running program does, each second
  assay compare OLD NEW        what changed between two runs, with limits for CI
  assay engines                what is in this binary and what each engine promises
  assay workloads              what the workloads do

NO_COLOR=1 prints without colours, CLICOLOR_FORCE=1 with colours also into a pipe or file; COLUMNS and LINES say how
much room there is.`,
		Version:                    result.Version(), // as results carry it
		SilenceUsage:               true,
		SilenceErrors:              true,
		Args:                       usageArgs(cobra.NoArgs),
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return flagError(cmd, err)
	})
	cmd.AddCommand(a.runCommand(), a.replayCommand(), a.adviseCommand(), a.proveCommand(), a.reportCommand(),
		a.siteCommand(), a.compareCommand(), a.enginesCommand(), a.workloadsCommand(), a.inspectCommand(),
		a.copyCommand(), a.migrateCommand(), a.verifyCommand(), a.switchCommand(), a.watchCommand(), a.childCommand(),
		a.helperCommand(), a.proveChildCommand(), a.proveClientCommand(), a.traitsCommand())
	return cmd
}

// usage makes err a wrong command line with a hint.
func usage(err error, hint string, args ...any) error {
	return usageError{&kv.Error{Kind: kv.Invalid, Err: err, Hint: fmt.Sprintf(hint, args...)}}
}

// flagError makes err, of a flag, a usage error. A value that is none is told with one that is.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		name := value.GetFlag().Name
		switch value.GetFlag().Value.Type() {
		case "duration":
			example := "5m"
			if _, err := strconv.Atoi(value.GetValue()); err == nil && name == "open" {
				example = value.GetValue() + "ms" // nobody waits for minutes
			}
			return usage(fmt.Errorf("--%s %s is not a time", name, value.GetValue()),
				"give it a unit, for example: --%s %s", name, example)
		case "size":
			return usage(fmt.Errorf("--%s %s is not a size", name, value.GetValue()),
				"give it a unit, for example: --%s 60MB", name)
		case "bool":
			return usage(fmt.Errorf("--%s %s is neither true nor false", name, value.GetValue()), "write --%s alone", name)
		case "percent":
			return usage(fmt.Errorf("--%s: %w", name, value.Unwrap()), "for example: --%s 5%%", name)
		case "float64":
			return usage(fmt.Errorf("--%s %s is not a number", name, value.GetValue()), "for example: --%s 1000", name)
		case "uint64", "int":
			return usage(fmt.Errorf("--%s %s is not a whole number", name, value.GetValue()), "for example: --%s 7",
				name)
		}
	}
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return usage(err, "see: %s --help", cmd.CommandPath())
	}
	name := missing.GetSpecifiedName()
	dashes := "--"
	if missing.GetSpecifiedShortnames() != "" {
		dashes = "-"
	}
	return usage(fmt.Errorf("unknown flag %s%s", dashes, name), "%ssee: %s --help", meant(cmd, name),
		cmd.CommandPath())
}

// meant returns "did you mean --out? ", or nothing, of a flag that cmd does not have: a value of
// --format, a parameter of a workload, or a flag that is nearly it.
func meant(cmd *cobra.Command, name string) string {
	if cmd.Flags().Lookup("format") != nil && slices.Contains(formats, name) {
		return fmt.Sprintf("did you mean --format %s? ", name)
	}
	for _, w := range workload.All() {
		for _, p := range w.Params {
			if p.Name == name && cmd.ValidArgsFunction != nil {
				return fmt.Sprintf("parameters stand behind a workload: '%s?%s=%s'; ", w.Name, name, p.Defaults()[0])
			}
		}
	}
	if len(name) == 1 {
		return ""
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	})
	return bench.DidYouMean("--"+name, known)
}

// usageArgs makes what check refuses a usage error, unless it is one already. An unknown command is
// told with those that are alike.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil {
			return nil
		}
		if !cmd.HasParent() && len(args) > 0 {
			err = fmt.Errorf("unknown command %q", args[0])
			if alike := cmd.SuggestionsFor(args[0]); len(alike) > 0 {
				return usage(err, "did you mean: assay %s", strings.Join(alike, ", "))
			}
			if cmd.Flags().Lookup(args[0]) != nil {
				return usage(err, "did you mean: assay --%s", args[0])
			}
		}
		var told usageError
		if errors.As(err, &told) {
			return err
		}
		hint := fmt.Sprintf("see: %s --help", cmd.CommandPath())
		if cmd.HasParent() {
			hint = fmt.Sprintf("type: %s %s; %s", cmd.Parent().CommandPath(), cmd.Use, hint)
		}
		return usage(err, "%s", hint)
	}
}
