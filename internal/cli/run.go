package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/report"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
	"github.com/assaydb/assay/lab/workload"
)

// runFlags is the command line of assay run.
type runFlags struct {
	engines, durability, dir, out string
	storage                       string
	race                          string
	proofs                        []string
	budget                        time.Duration
	precision                     percent
	rounds                        int
	seed                          uint64
	rate                          float64
	json, aa, even, published     bool
}

func (a *app) runCommand() *cobra.Command {
	f := runFlags{precision: bench.DefaultPrecision}
	cmd := &cobra.Command{
		Use:   "run [WORKLOAD|FILE.yaml[/OPERATION,...][?PARAM=VALUE,...&...]]...",
		Short: "Compare engines on real work",
		Long: `Runs workloads on engines, interleaved, in a process each, and ends with its answer: for each promise who is the fastest
at what, by how much, and what is not sure. "assay report --all" shows the tables behind it.

Without arguments, the core operations run on the default engines. A named workload runs all its operations. A parameter
with several values is measured with each, in tables of their own; "assay workloads" lists the parameters.

Commits are measured at synced, which is what a program gets that asks for nothing; --durability all measures every class
that an engine delivers. Engines that promise different things are never ranked in one table.

A file, my.yaml, is a workload of your own, with stores, mixes and phases: docs/workload.md.

An engine is a name that "assay engines" lists, or NAME=ENGINE:?OPTION=VALUE with the engine's own options. It stands in the
same tables as the rest, marked unproved; after "assay prove --engines NAME=ENGINE:?OPTION=VALUE --out DIR", run it with
--proof DIR.

The data lies in a fresh folder under --dir while the run lasts, and is removed at its end. The result is kept in --out:
result.json, samples.txt, which benchstat reads, and report.html, a page with charts. "assay compare" compares two of them.

With --like-published it measures what five published comparisons measured, as they did and then with the same promise for
both, and prints our ratios beside theirs. Arguments then name publications, by the workload that was made from them.
One of them was built with -race, which slows Go and not C: --with-race names a binary of assay that is, and shows by it
what that makes of the same work.`,
		Example: `  assay run
  assay run hook events/append1,append100 --budget 5m
  assay run 'ycsb?records=100k&value=1000' --engines bbolt,pebble --durability synced --budget 10m
  assay run hook --engines 'bbolt,mine=bbolt:?FreelistType=hashmap' --proof proofs/mine
  assay run records --budget 20m
  assay run 'queue/claim?backlog=0,1k,100k' --budget 5m
  assay run 'ycsb?read=60&update=30&scan=10'
  assay run events --storage hdd
  assay run examples/workloads/sessions.yaml
  assay run --like-published
  go build -race -o assay-race ./cmd/assay && assay run --like-published queue --with-race ./assay-race
  assay run ycsb/A,C --even --budget 5m --out results/main
  assay run --json >result.json`,
		ValidArgsFunction: completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.published {
				return a.runPublished(cmd, f, args)
			}
			if f.race != "" {
				return usage(errors.New("--with-race is for --like-published alone"),
					"what is built with -race is never ranked")
			}
			o, err := a.options(f, args, cmd.Flags().Changed("seed"), cmd.Flags().Changed("engines"))
			if err != nil {
				return err
			}
			if f.aa {
				return a.runAA(cmd.Context(), o, cmd.Flags().Changed("budget"))
			}
			return a.run(cmd.Context(), o, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.engines, "engines", "", "engines to compare, separated by commas (default: "+names(a.defaults())+
		")")
	flags.StringVar(&f.durability, "durability", "",
		"synced, flushed, buffered (several with commas) or all (default: synced; flushed in memory)")
	flags.StringVar(&f.dir, "dir", "",
		"folder for the data, on the disk to measure (default: in the user's cache folder)")
	flags.StringVar(&f.storage, "storage", "fast", "fast: the disk of --dir; "+models()+
		": that disk's speed, by a model (Linux); or a folder on the disk to measure")
	flags.DurationVar(&f.budget, "budget", bench.DefaultBudget, "time for the whole run")
	flags.Var(&f.precision, "precision", "a ratio that is known to within this needs no more rounds, decided or not")
	flags.IntVar(&f.rounds, "rounds", 0, "rounds of each operation, at most (default: as many as are of use)")
	flags.BoolVar(&f.even, "even", false,
		"measure all alike until --precision, however sure the order is: for assay compare")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of everything random (default: a new one)")
	flags.Float64Var(&f.rate, "rate", 0,
		"open loop: start this many operations per second, latency from the intended start")
	flags.StringVar(&f.out, "out", "", "folder for the result (default: in the user's cache folder)")
	flags.StringSliceVar(&f.proofs, "proof", nil,
		"folder of a proof that assay prove --out made, which counts beside the one that is built in")
	flags.BoolVar(&f.json, "json", false, "print the result as one JSON document")
	flags.BoolVar(&f.aa, "aa", false,
		"check the harness: compare every engine with itself and count the differences reported")
	flags.BoolVar(&f.published, "like-published", false,
		"measure what others published, as they did and at the same promise, and print ours beside theirs")
	flags.StringVar(&f.race, "with-race", "",
		"with --like-published: a binary of this program that was built with -race, for what was published so")
	_ = cmd.RegisterFlagCompletionFunc("engines", a.completeEngines)
	_ = cmd.RegisterFlagCompletionFunc("storage",
		cobra.FixedCompletions(append([]string{"fast"}, strings.Split(models(), ", ")...),
			cobra.ShellCompDirectiveDefault))
	_ = cmd.RegisterFlagCompletionFunc("durability",
		cobra.FixedCompletions([]string{"synced", "flushed", "buffered", "all"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func names(entries []bench.Entry) string {
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e.Name
	}
	return strings.Join(all, ",")
}

// options checks the command line.
func (a *app) options(f runFlags, args []string, seeded, enginesGiven bool) (bench.Options, error) {
	o := bench.Options{Entries: a.defaults(), Dir: f.dir, Budget: f.budget, Precision: float64(f.precision),
		Even: f.even, Rounds: f.rounds, Seed: f.seed,
		Rate: f.rate, Command: f.command(args)}
	var err error
	if f.engines != "" || enginesGiven {
		if o.Entries, err = a.parseEngines(f.engines); err != nil {
			return o, err
		}
	}
	own, err := ownWorkloads(args)
	if err != nil {
		return o, err
	}
	if len(args) > 0 {
		if o.Selections, err = bench.ParseSelections(own.args); err != nil {
			return o, cmp.Or(a.engineAmong(args), error(usageError{err}))
		}
	}
	f.durability = cmp.Or(f.durability, own.promise)
	if o.Strongest = f.durability == ""; !o.Strongest {
		if o.Classes, err = parseClasses(f.durability); err != nil {
			return o, usageError{err}
		}
	}
	if o.Proofs, err = proofs(f.proofs); err != nil {
		return o, err
	}
	if err := setStorage(&o, f.storage); err != nil {
		return o, err
	}
	if err := checkDir(o.Dir); err != nil {
		return o, err
	}
	switch {
	case f.budget <= 0:
		return o, usage(fmt.Errorf("--budget %v is not a time", f.budget), "for example: --budget 5m")
	case f.rounds < 0:
		return o, usage(fmt.Errorf("--rounds %d is negative", f.rounds), "for example: --rounds 10")
	case f.rate < 0:
		return o, usage(fmt.Errorf("--rate %v is negative", f.rate), "for example: --rate 1000")
	case f.json && f.aa:
		return o, usage(errors.New("--json and --aa do not go together"), "leave one out")
	}
	if !seeded {
		o.Seed = rand.Uint64N(1 << 32) // short enough to type again
	}
	if o.Child, err = self(childName); err != nil {
		return o, err
	}
	o.Child = append(o.Child, own.flags...)
	o.Helper, err = self(helperName)
	return o, err
}

// engineAmong returns an error if one of the arguments that should name workloads names an engine.
func (a *app) engineAmong(args []string) error {
	for _, arg := range args {
		_, known := workload.Lookup(arg)
		if !known && slices.ContainsFunc(a.catalog, func(c Contender) bool { return c.Name == arg }) {
			return usage(fmt.Errorf("%q is an engine, not a workload", arg), "choose engines with: --engines %s", arg)
		}
	}
	return nil
}

// command returns the command line as a result keeps it: with the flags that decide what was
// measured.
func (f runFlags) command(args []string) []string {
	command := append([]string{Program, "run"}, args...)
	flag := func(name, value, usual string) {
		if value != usual {
			command = append(command, "--"+name, value)
		}
	}
	flag("engines", f.engines, "")
	flag("durability", f.durability, "")
	flag("storage", f.storage, "fast")
	flag("dir", f.dir, "")
	flag("proof", strings.Join(f.proofs, ","), "")
	flag("rounds", strconv.Itoa(f.rounds), "0")
	flag("rate", strconv.FormatFloat(f.rate, 'f', -1, 64), "0")
	return command
}

// setStorage says where the data lies: a folder, or a modelled disk.
func setStorage(o *bench.Options, storage string) error {
	if storage == "fast" {
		return nil
	}
	if strings.ContainsAny(storage, `/\.`) {
		if o.Dir != "" {
			return usage(errors.New("--storage and --dir both name a folder"), "leave one out")
		}
		o.Dir = storage
		return nil
	}
	latency, err := powerfs.ParseLatency(storage)
	if err != nil {
		return usage(fmt.Errorf("unknown storage %q", storage), "%suse fast, %s, or a folder with a slash: ./%s",
			bench.DidYouMean(storage, strings.Split("fast, "+models(), ", ")), models(), storage)
	}
	o.Storage = latency
	return nil
}

// checkDir refuses a folder for data whose parent does not exist: a run makes that one folder, and
// removes it again.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		return usage(fmt.Errorf("there is no %s to make the folder for data in", parent), "mkdir -p %s", parent)
	}
	return nil
}

// models returns the names of the disks that are modelled.
func models() string {
	var all []string
	for _, l := range powerfs.Profiles() {
		all = append(all, l.Name)
	}
	return strings.Join(all, ", ")
}

// parseClasses returns the classes asked for; nil is all.
func parseClasses(spec string) ([]kv.Durability, error) {
	if spec == "all" {
		return nil, nil
	}
	var classes []kv.Durability
	for name := range strings.SplitSeq(spec, ",") {
		d, err := kv.ParseDurability(name)
		if err != nil {
			guess := bench.DidYouMean(name, []string{"synced", "flushed", "buffered", "all"})
			return nil, usage(fmt.Errorf("unknown class %q", name), "%suse %s", guess,
				"synced, flushed, buffered or all")
		}
		classes = append(classes, d)
	}
	return classes, nil
}

// run measures, keeps the result and shows it.
func (a *app) run(ctx context.Context, o bench.Options, f runFlags) error {
	dir, err := resultDir(f.out)
	if err != nil {
		return err
	}
	o.Earlier = earlierRuns(dir)
	if o.Elsewhere, err = report.Reference(); err != nil {
		return err
	}
	run, err := a.measure(ctx, o)
	if err != nil {
		return errors.Join(err, removeEmpty(dir))
	}
	if err := result.Write(dir, run); err != nil {
		return err
	}
	if err := keepPage(dir, run); err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, "kept in", dir) // before the report, which is what a terminal shows in the end
	if f.json {
		err = a.show(run, "json", view{})
	} else {
		err = a.show(run, "text", view{dir: f.out})
	}
	return cmp.Or(err, outcome(run, o.Budget))
}

// mostEarlier is how many kept runs are read at most to find one that tells what a run needs.
const mostEarlier = 20

// earlierRuns returns the runs that were kept: in dir, and the newest of those without --out.
func earlierRuns(dir string) iter.Seq[*result.Run] {
	return func(yield func(*result.Run) bool) {
		kept, _ := runDirs() // none is no fault: the run tells it itself
		for _, d := range append([]string{dir}, kept[:min(len(kept), mostEarlier)]...) {
			if run, err := result.Read(d); err == nil && !yield(run) {
				return
			}
		}
	}
}

// resultDir makes the folder for a result, before any time is spent; "" is one in the user's cache
// folder.
func resultDir(out string) (string, error) {
	dir := out
	if dir == "" {
		var err error
		if dir, err = newResultDir(time.Now()); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", &kv.Error{Op: "make a folder for the result", Kind: kv.KindOf(err), Err: err,
			Hint: "name another one with --out"}
	}
	return dir, nil
}

// removeEmpty removes a folder that nothing was written to; one that holds earlier results stays.
func removeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		return err
	}
	return os.Remove(dir)
}

// measure runs the lab under a progress display.
func (a *app) measure(ctx context.Context, o bench.Options) (*result.Run, error) {
	p := newProgress(a.stderr, time.Now(), o.Budget)
	defer p.end()
	o.Progress = p.ofRun()
	var err error
	if o.Proofs == nil {
		if o.Proofs, err = proofs(nil); err != nil {
			return nil, err
		}
	}
	return bench.Run(ctx, o)
}

// outcome is nil if nothing failed and something was measured that says anything.
func outcome(run *result.Run, budget time.Duration) error {
	if run.Interrupted {
		return errInterrupted
	}
	measured, skipped, enough := 0, 0, false
	for _, c := range run.Cells {
		switch c.Status {
		case result.Failed:
			return errReported
		case result.Skipped:
			skipped++
		case result.OK:
			measured++
			enough = enough || len(c.Samples) >= stats.MinRounds
		}
	}
	if enough || skipped == 0 {
		return nil
	}
	err := &kv.Error{Err: fmt.Errorf("nothing was measured in %v", budget),
		Hint: fmt.Sprintf("measure longer: --budget %v", max(20*budget, 20*time.Second))}
	if measured > 0 {
		err.Err = fmt.Errorf("nothing was measured in %v that can be compared: %d of %d figures have a few rounds, the rest has none",
			budget, measured, len(run.Cells))
		err.Hint = "type what the report says behind Open, or fewer operations"
	}
	return err
}

// percent is a flag that takes 5% or 0.05.
type percent float64

func (p percent) String() string { return strconv.FormatFloat(float64(p)*100, 'g', -1, 64) + "%" }

func (p *percent) Set(s string) error {
	number, isPercent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if isPercent {
		v /= 100
	}
	switch {
	case err == nil && !isPercent && v >= 1 && v < 100:
		return fmt.Errorf("write %s%%", s)
	case err != nil || v <= 0 || v >= 1:
		return fmt.Errorf("%q is not between 0%% and 100%%", s)
	}
	*p = percent(v)
	return nil
}

func (p *percent) Type() string { return "percent" }
