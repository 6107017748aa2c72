package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/prove"
	"github.com/assaydb/assay/lab/report"
	"github.com/assaydb/assay/lab/result"
)

// proveFlags is the command line of assay prove.
type proveFlags struct {
	engines, durability, dir, out, ship string
	again, resume                       string
	faults, rules                       []string
	rounds, writers                     int
	seed                                uint64
	budget                              time.Duration
	json                                bool
}

func (a *app) proveCommand() *cobra.Command {
	var f proveFlags
	cmd := &cobra.Command{
		Use:   "prove",
		Short: "Find out what acknowledged commits survive",
		Long: `Crashes engines and looks at what is left: kills the writing process, cuts the power of its disk, cuts it again while
the store recovers, lets every kind of operation fail, fills the disk up. Runs are recorded, so that one run is crashed
before each of its operations, in every way that the rules allow. A second process opens each crashed store, compares all
of it with what had been acknowledged, writes on and compares again.

The table shows, for each engine and class of durability, what was promised and held, what was promised and did not
(the exit status is then 1), and what nobody promised. Each failure comes with the command that shows it again.

Power is cut on a file system of assay's own, which needs Linux and /dev/fuse; elsewhere only kills are tried. Rules
for what remains are ENTRIES/SURVIVORS, such as ordered/sectors: docs/durability.md explains them.

A command with engines in whose stores are on servers starts servers of its own, and kills them and their clients, parts
their nodes and cuts the power of their disk: docs/growing.md tells how.`,
		Example: `  assay prove
  assay prove --engines bbolt,pebble --durability synced --budget 20m
  assay prove --engines 'mine=bbolt:?NoFreelistSync=true' --faults kill,power
  assay prove --engines sqlite-delete-full --faults power --rule ordered/sectors --seed 7 --rounds 1
  assay prove --resume out --budget 1h
  assay prove --again out/evidence/3
  assay prove --json >proof.json`,
		Args: usageArgs(noEngines),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.again != "" {
				return a.proveAgain(cmd.Context(), f.again)
			}
			var earlier *result.Proof
			if f.resume != "" {
				var err error
				if earlier, err = a.resumed(&f, cmd.Flags()); err != nil {
					return err
				}
			}
			o, err := a.proveOptions(f, cmd.Flags().Changed("seed"), cmd.Flags().Changed("engines"))
			if err != nil {
				return err
			}
			o.Earlier, o.Command = earlier, append([]string{Program, "prove"}, given(cmd)...)
			o.Anew = func(engine string, why error) {
				fmt.Fprintf(a.stderr, "%s is proved from the beginning: %v\n", engine, why)
			}
			return a.prove(cmd.Context(), o, f)
		},
	}
	if on := names(a.chosen(func(c Contender) bool { return c.Servers != nil })); on != "" {
		cmd.Example += "\n  assay prove --engines " + on + " --faults kill,server --rounds 12"
	}
	a.proveFlags(&f, cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc("engines", a.completeEngines)
	_ = cmd.RegisterFlagCompletionFunc("faults", cobra.FixedCompletions(allFaults(),
		cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("rule", completeRules)
	_ = cmd.RegisterFlagCompletionFunc("durability",
		cobra.FixedCompletions([]string{"synced", "flushed", "buffered", "all"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// proveFlags makes flags set f.
func (a *app) proveFlags(f *proveFlags, flags *pflag.FlagSet) {
	flags.StringVar(&f.engines, "engines", "", "engines to crash, separated by commas (default: "+names(a.proved())+")")
	flags.StringVar(&f.durability, "durability", "all", "synced, flushed, buffered (several with commas) or all")
	flags.StringSliceVar(&f.faults, "faults", nil, "what to inflict: "+strings.Join(prove.Faults, ", ")+
		"; on servers "+strings.Join(prove.ServerFaults, ", ")+" (default: all)")
	flags.StringSliceVar(&f.rules, "rule", nil,
		"what may remain when power fails, such as ordered/sectors (default: all rules)")
	flags.IntVar(&f.rounds, "rounds", 0,
		"recorded runs, kills and faults of each engine, class and fault (default: as many as fit into the budget)")
	flags.IntVar(&f.writers, "writers", 0,
		"goroutines that commit at the same time, on servers client processes (default: one in some runs, several in others)")
	flags.StringVar(&f.resume, "resume", "",
		"go on with the proof in this folder, for another --budget: what was found counts together; "+
			"engines whose driver or version changed begin anew")
	flags.StringVar(&f.again, "again", "",
		"verify once more a state that broke a promise, from the folder that the report names")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of everything random (default: a new one)")
	flags.DurationVar(&f.budget, "budget", prove.DefaultBudget, "time for the whole proof")
	flags.StringVar(&f.dir, "dir", "", "folder for the data (default: in the user's cache folder)")
	flags.StringVar(&f.out, "out", "", "folder for the proof (default: in the user's cache folder)")
	flags.StringVar(&f.ship, "ship", "",
		"also write the proof to this file in the form that is built into assay; the default is then every engine")
	flags.BoolVar(&f.json, "json", false, "print the proof as one JSON document")
}

// resumed returns the proof in the folder that f goes on with, and takes over its flags.
func (a *app) resumed(f *proveFlags, now *pflag.FlagSet) (*result.Proof, error) {
	var err error
	now.Visit(func(g *pflag.Flag) {
		if err == nil && !slices.Contains([]string{"resume", "budget", "dir", "ship", "json"}, g.Name) {
			err = usage(fmt.Errorf("--%s beside --resume", g.Name), "a proof goes on with what it began with: leave it out")
		}
	})
	if err != nil {
		return nil, err
	}
	p, err := result.ReadProof(f.resume)
	if err == nil {
		p.Seen, err = result.ReadStates(f.resume)
	}
	if err != nil {
		return nil, usage(err, "name the folder of a proof, as assay report lists them")
	}
	var was proveFlags
	flags := pflag.NewFlagSet("prove", pflag.ContinueOnError)
	a.proveFlags(&was, flags)
	if len(p.Command) < 2 {
		return nil, usage(errors.New("the proof does not say what it was of"), "begin a new one, without --resume")
	}
	if err := flags.Parse(p.Command[2:]); err != nil {
		return nil, usage(err, "begin a new one, without --resume")
	}
	was.resume, was.out, was.budget, was.dir, was.ship, was.json = f.resume, f.resume, f.budget, f.dir, f.ship, f.json
	*f = was
	return p, nil
}

func completeRules(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, r := range powerfs.Rules() {
		all = append(all, r.String())
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// given returns the flags of a command that decide what it does, as they were given: not where it
// leaves things.
func given(cmd *cobra.Command) []string {
	var flags []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Value.Type() == "bool" && f.Name != "json":
			flags = append(flags, "--"+f.Name)
		case !slices.Contains([]string{"dir", "out", "ship", "json"}, f.Name):
			flags = append(flags, "--"+f.Name, strings.Trim(f.Value.String(), "[]"))
		}
	})
	return flags
}

// proved returns the contenders that are crashed when nothing was said.
func (a *app) proved() []bench.Entry {
	return a.chosen(func(c Contender) bool { return c.Default || c.Prove })
}

// noEngines refuses arguments, which are taken to be engines.
func noEngines(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage(fmt.Errorf("%q is no flag", args[0]),
		"name engines with: assay prove --engines %s; see: assay prove --help", args[0])
}

// proveOptions checks the command line.
func (a *app) proveOptions(f proveFlags, seeded, enginesGiven bool) (prove.Options, error) {
	o := prove.Options{Entries: a.proved(), Faults: f.faults, Rules: f.rules, Rounds: f.rounds,
		Seed: f.seed, Writers: f.writers, Dir: f.dir, Budget: f.budget}
	if f.ship != "" {
		o.Entries = a.chosen(func(c Contender) bool { return !c.Unranked })
	}
	var err error
	if f.engines != "" || enginesGiven {
		if o.Entries, err = a.parseEngines(f.engines); err != nil {
			return o, err
		}
	}
	if o.Classes, err = parseClasses(f.durability); err != nil {
		return o, usageError{err}
	}
	if err := f.check(); err != nil {
		return o, err
	}
	if err := checkDir(f.dir); err != nil {
		return o, err
	}
	if f.ship != "" && versions(o.Entries) == nil {
		return o, usage(errors.New("this binary does not know the versions of its engines"),
			"use one that go build or go run made")
	}
	if !seeded {
		o.Seed = rand.Uint64N(1 << 32) // short enough to type again
	}
	o.Child, err = self(proveName)
	return o, err
}

// versions returns the versions of the modules of engines, nil if the binary does not know them.
func versions(entries []bench.Entry) map[string]string {
	var modules []string
	for _, e := range entries {
		if d, ok := driver.Lookup(e.Engine); ok {
			modules = append(modules, d.Info().Modules...)
		}
	}
	env, _ := result.CurrentEnvironment(".", modules)
	return env.Modules
}

// check refuses what makes no sense.
func (f proveFlags) check() error {
	for _, fault := range f.faults {
		if known := allFaults(); !slices.Contains(known, fault) {
			return usage(fmt.Errorf("unknown fault %q", fault), "%suse %s", bench.DidYouMean(fault, known),
				strings.Join(known, ", "))
		}
	}
	for _, rule := range f.rules {
		if _, err := powerfs.ParseRule(rule); err != nil {
			return usage(fmt.Errorf("unknown rule %q", rule), "%s", kv.HintOf(err))
		}
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"rounds", f.rounds}, {"writers", f.writers}} {
		if n.value < 0 {
			return usage(fmt.Errorf("--%s %d is negative", n.name, n.value), "for example: --%s 10", n.name)
		}
	}
	if f.budget <= 0 {
		return usage(fmt.Errorf("--budget %v is not a time", f.budget), "for example: --budget 10m")
	}
	return nil
}

// prove crashes engines, keeps the proof and shows it.
func (a *app) prove(ctx context.Context, o prove.Options, f proveFlags) error {
	crash := a.crash
	servers, err := a.servers(o, f)
	if err != nil {
		return err
	}
	if servers != nil {
		crash = func(ctx context.Context, o prove.Options) (*result.Proof, error) { return a.disturb(ctx, o, servers) }
	}
	dir, err := resultDir(f.out)
	if err != nil {
		return err
	}
	o.Evidence = filepath.Join(dir, "evidence")
	o.Keep = func(p *result.Proof) { _ = result.WriteProof(dir, p) } // what keeps it from that will be told at the end
	proof, failure := crash(ctx, o)
	if proof == nil {
		return errors.Join(failure, removeEmpty(dir))
	}
	format := "text"
	if f.json {
		format = "json"
	}
	if err := errors.Join(a.showProof(proof, format), result.WriteProof(dir, proof)); err != nil {
		return err
	}
	if err := ship(f.ship, proof, failure); err != nil {
		return err
	}
	again := "assay report"
	if f.out != "" {
		again += " " + dir
	}
	fmt.Fprintf(a.stderr, "kept in %s; show it again with: %s\n", dir, again)
	switch {
	case proof.Interrupted && servers == nil:
		fmt.Fprintf(a.stderr, "go on with: assay prove --resume %s\n", dir)
		fallthrough
	case proof.Interrupted:
		return errInterrupted
	case failure != nil:
		return failure
	case len(proof.Unkept()) > 0:
		return errReported
	}
	return nil
}

// proveAgain verifies a state of an earlier proof and shows what led to it.
func (a *app) proveAgain(ctx context.Context, dir string) error {
	child, err := self(proveName)
	if err != nil {
		return err
	}
	tells, lacking, err := prove.Again(ctx, dir, child)
	if err != nil {
		return err
	}
	for _, line := range tells {
		fmt.Fprintln(a.stdout, line)
	}
	if lacking == "" {
		fmt.Fprintln(a.stdout, "found: nothing is lacking now")
		return nil
	}
	fmt.Fprintln(a.stdout, "found: "+lacking)
	return errReported
}

// crash runs the lab under a progress display.
func (a *app) crash(ctx context.Context, o prove.Options) (*result.Proof, error) {
	p, step := a.proofProgress(o, "crashes and disk faults verified")
	defer p.end()
	o.Progress = step
	return prove.Run(ctx, o)
}

// proofs returns the proof that is built in and those in the given folders.
func proofs(dirs []string) (result.Proofs, error) {
	shipped, err := result.Shipped()
	if err != nil {
		return nil, err
	}
	all := result.Proofs{shipped}
	for _, dir := range dirs {
		p, err := result.ReadProof(dir)
		if err != nil {
			return nil, usage(err, "make one with: assay prove --engines NAME --out %s", dir)
		}
		all = append(all, p)
	}
	return all, nil
}

// showProof renders proof on standard output as text or json.
func (a *app) showProof(proof *result.Proof, format string) error {
	if format == "text" {
		return report.Proof(a.stdout, proof, reportOptions(a.stdout))
	}
	data, err := result.MarshalProof(proof)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(data)
	return err
}

// ship writes a finished proof to file, without what no reader of it needs.
func ship(file string, proof *result.Proof, failure error) error {
	if file == "" {
		return nil
	}
	if proof.Interrupted || failure != nil {
		return &kv.Error{Op: "ship the proof", Path: file, Kind: kv.Unsupported, Hint: "run it to its end",
			Err: errors.New("it is not whole")}
	}
	return result.ShipProof(file, proof)
}

// proveChildCommand is a writer or verifier process of a proof.
func (a *app) proveChildCommand() *cobra.Command {
	return &cobra.Command{
		Use:    proveName,
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return prove.Child(cmd.Context(), a.stdin, a.stdout)
		},
	}
}
