package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/replay"
	"github.com/assaydb/assay/lab/report"
	"github.com/assaydb/assay/lab/workload"
	"github.com/assaydb/assay/observe/capture"
)

// recordingFlag hands a recording to the processes that measure.
const recordingFlag = "recording"

// mostReplayed is how many transactions of a recording are done where --first does not say.
const mostReplayed = 100_000

// replayFlags is the command line of assay replay.
type replayFlags struct {
	runFlags
	pace, hashKeys string
	first          int
}

func (a *app) replayCommand() *cobra.Command {
	f := replayFlags{runFlags: runFlags{precision: bench.DefaultPrecision, storage: "fast"}}
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Do on every engine what a program did with its store",
		Long: `Does a recording that a program made of its own work (package observe/capture) on engines, again and again, each time on a
store that is filled as the recorded one was at the start. Every read is compared with what the program read, and what is
in the store in the end with what must be there. What is measured and said is that of "assay run".

At the pace "flat" one transaction follows the other; at "recorded" each begins when it did; at "together" those run at the
same time that did, and all of them are one operation.

Commits ask for the classes of the recording. --durability asks for another one at all of them.

--hash-keys makes a recording that can be handed on: with other keys of the same length, in the same order.`,
		Example: `  assay replay day.assay
  assay replay day.assay --engines bbolt,pebble --pace recorded --budget 10m
  assay replay day.assay --first 5000 --durability synced
  assay replay day.assay --hash-keys public.assay`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.hashKeys != "" {
				return hashKeys(args[0], f.hashKeys)
			}
			return a.replay(cmd, f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.pace, "pace", replay.Flat, strings.Join(replay.Paces, ", "))
	flags.IntVar(&f.first, "first", mostReplayed, "so many transactions; 0 is all")
	flags.StringVar(&f.hashKeys, "hash-keys", "", "write the recording with hashed keys to this new file, and replay nothing")
	flags.StringVar(&f.engines, "engines", "", "engines to compare, separated by commas (default: "+names(a.defaults())+
		")")
	flags.StringVar(&f.durability, "durability", "", "synced, flushed, buffered (default: as recorded)")
	flags.StringVar(&f.dir, "dir", "", "folder for the data, on the disk to measure (default: in the user's cache folder)")
	flags.StringVar(&f.storage, "storage", "fast", "as of assay run: fast, "+models()+", or a folder")
	flags.DurationVar(&f.budget, "budget", bench.DefaultBudget, "time for the whole run")
	flags.IntVar(&f.rounds, "rounds", 0, "rounds of each engine, at most (default: as many as are of use)")
	flags.Var(&f.precision, "precision", "a ratio that is known to within this needs no more rounds, decided or not")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of everything random (default: a new one)")
	flags.StringVar(&f.out, "out", "", "folder for the result (default: in the user's cache folder)")
	flags.BoolVar(&f.json, "json", false, "print the result as one JSON document")
	_ = cmd.RegisterFlagCompletionFunc("engines", a.completeEngines)
	_ = cmd.RegisterFlagCompletionFunc("pace", cobra.FixedCompletions(replay.Paces, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// hashKeys makes a recording of another one.
func hashKeys(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return usage(fmt.Errorf("%s exists", to), "name a new file")
	}
	return capture.HashKeys(from, to)
}

// replay measures a recording.
func (a *app) replay(cmd *cobra.Command, f replayFlags, file string) error {
	if !slices.Contains(replay.Paces, f.pace) {
		return usage(fmt.Errorf("unknown pace %q", f.pace), "use one of %s", strings.Join(replay.Paces, ", "))
	}
	if f.first < 0 {
		return usage(fmt.Errorf("--first %d is negative", f.first), "for example: --first 1000")
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	name := recordingName(file)
	t, err := registerRecording(name, path, f.first)
	if err != nil {
		return err
	}
	recorded := f.durability == ""
	if recorded {
		f.durability = t.Strongest.String()
	}
	o, err := a.options(f.runFlags, []string{name + "/" + f.pace}, cmd.Flags().Changed("seed"),
		cmd.Flags().Changed("engines"))
	if err != nil {
		return err
	}
	if len(o.Classes) != 1 {
		return usage(fmt.Errorf("--durability %s is not one class", f.durability), "name one: synced, flushed or buffered")
	}
	o.Child = append(o.Child, "--"+recordingFlag, fmt.Sprintf("%s\n%s\n%d", name, path, f.first))
	o.Hang = max(o.Budget, time.Minute) // a slice is a whole pass
	o.Command = f.command(file, recorded)
	fmt.Fprintln(a.stderr, aboutTrace(file, t))
	err = a.run(cmd.Context(), o, f.runFlags)
	if err == nil && !f.json {
		fmt.Fprintf(a.stdout, "\n%s\n", asRecorded(t, f.pace))
	}
	return err
}

// asRecorded says what was compared where nothing differed.
func asRecorded(t *replay.Trace, pace string) string {
	checked, whole := t.Checked(pace)
	text := fmt.Sprintf("Every read on every engine was as recorded: %s in each pass", plural(t.Reads, "read"))
	if t.Compared < t.Reads {
		others := map[bool]string{true: "alike on all", false: "not compared"}[checked == t.Reads]
		text = fmt.Sprintf("On every engine %s of %s in each pass were as recorded; the others, which have no one answer, "+
			"were %s", report.Grouped(t.Compared), plural(t.Reads, "read"), others)
	}
	if !whole {
		return text + ". The store in the end was not compared: commits at the same time wrote the same keys."
	}
	return text + ". The whole store in the end was compared, too."
}

// command returns the command line as a result keeps it.
func (f replayFlags) command(file string, recorded bool) []string {
	if recorded {
		f.durability = ""
	}
	command := append([]string{Program, "replay", file}, f.runFlags.command(nil)[2:]...)
	if f.pace != replay.Flat {
		command = append(command, "--pace", f.pace)
	}
	if f.first != mostReplayed {
		command = append(command, "--first", strconv.Itoa(f.first))
	}
	return command
}

// registerRecording makes a recording a workload.
func registerRecording(name, path string, first int) (*replay.Trace, error) {
	t, err := replay.Load(path, first)
	if err != nil {
		return nil, err
	}
	if _, taken := workload.Lookup(name); taken {
		return nil, &kv.Error{Kind: kv.Invalid, Err: fmt.Errorf("%s: a workload of that name is there", path),
			Hint: "give the file another name: the workload has it"}
	}
	workload.Register(replay.Workload(name, t))
	return t, nil
}

// registerHanded is registerRecording of what recordingFlag holds.
func registerHanded(spec string) error {
	parts := strings.Split(spec, "\n")
	if len(parts) != 3 {
		return usage(errors.New("a recording is its name, its path and a number"), "processes are started by assay")
	}
	first, err := strconv.Atoi(parts[2])
	if err == nil {
		_, err = registerRecording(parts[0], parts[1], first)
	}
	return err
}

// noName is what cannot stand in the name of a workload.
var noName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// recordingName returns the name of the workload that a file is.
func recordingName(file string) string {
	base := filepath.Base(file)
	name := strings.Trim(noName.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "-"), "-")
	if _, taken := workload.Lookup(name); taken || name == "" {
		name = strings.Trim("recorded-"+name, "-")
	}
	return name
}

// aboutTrace says what a recording holds.
func aboutTrace(file string, t *replay.Trace) string {
	text := fmt.Sprintf("%s: %s in %v on %s, %s, %s at the start; %s, of which %s one answer",
		file, plural(t.Units(), "transaction"), t.Duration.Round(time.Millisecond), t.Info.Engine,
		plural(t.Commits, "commit"), plural(t.Pairs, "pair"), plural(t.Reads, "read"), report.Grouped(t.Compared)+" have")
	if t.AtOnce > 1 {
		text += fmt.Sprintf("; %d at the same time", t.AtOnce)
	}
	if t.Torn {
		text += "; its end is missing"
	}
	return text
}

// plural returns a number of things.
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return report.Grouped(n) + " " + thing
}
