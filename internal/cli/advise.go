package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/advise"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
	"github.com/assaydb/assay/lab/workload"
)

// adviseFlags is the command line of assay advise.
type adviseFlags struct {
	engines, promise, from, dir string
	memory, binary              byteSize
	intact, held, pureGo        bool
	file, sql, proved, json     bool
	processes                   int
	open, budget                time.Duration
	proofs                      []string
	work                        []string // the arguments
	asked                       bool     // the answers are from a terminal: it is told how to ask again
	unknown                     []string // what no run can tell
	needs                       advise.Needs
	selections                  []bench.Selection
}

// adviseBudget is how long a run takes that advice is missing.
const adviseBudget = time.Minute

func (a *app) adviseCommand() *cobra.Command {
	var f adviseFlags
	cmd := &cobra.Command{
		Use:   "advise [WORKLOAD[/OPERATION,...][?PARAM=VALUE,...&...][:WEIGHT]]...",
		Short: "Name the engine that fits a program",
		Long: `Names the engine that fits a program, the runner-up, when another one would be right, and the code that opens it.

The work is what assay run takes, each with a weight behind a colon: how often it is done, beside the others. Flags say
what else the program needs. Engines that cannot do it are removed, each with the reason; the others are ranked by the
measured time of the work. Without arguments, on a terminal, it asks.

The figures are those of --from, or of the newest run that was kept and has them. What they lack is measured, in --budget;
with a budget of 0s it is said to be not known.`,
		Example: `  assay advise
  assay advise hook/put hook/get:10 --processes 14
  assay advise queue/cycle --promise synced --pure-go --binary 5MB
  assay advise 'ycsb?read=95&update=5' --promise flushed --file --memory 60MB
  assay advise events/append1 events/read100:5 --sql --from results/monday --json`,
		ValidArgsFunction: completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.work = args
			if len(args) == 0 && cmd.Flags().NFlag() == 0 && a.canAsk() {
				f.asked = true
				if err := a.ask(cmd.Context(), &f); err != nil {
					return err
				}
			}
			return a.advise(cmd.Context(), &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.promise, "promise", "synced",
		"what commits must survive: synced (power loss), flushed (kill -9) or buffered")
	flags.BoolVar(&f.intact, "intact", false, "a power loss must leave the store whole, whatever the promise")
	flags.IntVar(&f.processes, "processes", 1, "how many processes use the store at the same time")
	flags.BoolVar(&f.held, "held", false, "these processes keep the store open; otherwise each opens it for a moment")
	flags.BoolVar(&f.pureGo, "pure-go", false, "no C compiler")
	flags.BoolVar(&f.file, "file", false, "the store is a file, not a folder")
	flags.BoolVar(&f.sql, "sql", false, "the data can be read with SQL")
	flags.BoolVar(&f.proved, "proved", false, "only engines whose promise was tried by assay prove")
	flags.Var(&f.memory, "memory", "what the process may take at its peak, such as 60MB")
	flags.DurationVar(&f.open, "open", 0, "how long opening may take, such as 5ms")
	flags.Var(&f.binary, "binary",
		"what the engine may add to the program, such as 5MB; it is found by building, in a module that has assay")
	flags.StringVar(&f.engines, "engines", "", "engines to choose from, separated by commas (default: "+
		names(a.defaults())+")")
	flags.StringVar(&f.from, "from", "", "folder of a run's result (default: the newest that has the work)")
	flags.DurationVar(&f.budget, "budget", adviseBudget, "time to measure what is missing; 0s measures nothing")
	flags.StringSliceVar(&f.proofs, "proof", nil,
		"folder of a proof that assay prove --out made, which counts beside the one that is built in")
	flags.StringVar(&f.dir, "dir", "",
		"folder for the data, on the disk to measure (default: in the user's cache folder)")
	flags.BoolVar(&f.json, "json", false, "print the advice as one JSON document")
	_ = cmd.RegisterFlagCompletionFunc("engines", a.completeEngines)
	_ = cmd.RegisterFlagCompletionFunc("promise", cobra.FixedCompletions(classNames[:3],
		cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// advise answers from what is known, measures what is not, and shows the advice.
func (a *app) advise(ctx context.Context, f *adviseFlags) error {
	if err := f.check(); err != nil {
		return cmp.Or(a.engineAmong(f.work), err)
	}
	engines, entries, err := a.advisable(ctx, f)
	if err != nil {
		return err
	}
	left, _ := advise.Remove(f.needs, engines)
	if f.needs.Binary > 0 {
		if err := a.weigh(ctx, left); err != nil {
			return err
		}
		for _, e := range left {
			engines[slices.IndexFunc(engines, func(o advise.Engine) bool { return o.Name == e.Name })].Binary = e.Binary
		}
		left, _ = advise.Remove(f.needs, engines)
	}
	run, err := a.figures(ctx, f, left, entries)
	if err != nil {
		return err
	}
	advice := advise.Advise(f.needs, engines, run)
	advice.Unknown = append(advice.Unknown, f.unknown...)
	if rest, ok := strings.CutPrefix(advice.Next, "assay "); ok {
		advice.Next = Program + " " + rest
	}
	if f.json {
		err = writeJSON(a.stdout, advice)
	} else {
		err = printAdvice(a.stdout, advice, reportOptions(a.stdout))
	}
	if f.asked {
		fmt.Fprintln(a.stderr, "the same without questions:", f.line())
	}
	if err == nil && advice.Pick == nil {
		err = errReported
	}
	return err
}

// classNames are the classes of durability, and all.
var classNames = []string{"synced", "flushed", "buffered", "all"}

// check reads the flags and arguments into needs and selections.
func (f *adviseFlags) check() error {
	class, err := kv.ParseDurability(f.promise)
	switch {
	case err != nil:
		return usage(fmt.Errorf("unknown class %q", f.promise), "%suse synced, flushed or buffered",
			bench.DidYouMean(f.promise, classNames[:3]))
	case len(f.work) == 0:
		return usage(errors.New("there is no work to advise on"),
			"name it: assay advise hook/put hook/get:10; see: assay workloads")
	case f.processes < 1:
		return usage(fmt.Errorf("--processes %d is not a number of processes", f.processes),
			"for example: --processes 14")
	case f.held && f.processes == 1:
		return usage(errors.New("--held says nothing of one process"), "say how many: --processes 4 --held")
	case f.open < 0 || f.budget < 0:
		return usage(errors.New("a time is negative"), "for example: --open 5ms --budget 1m")
	}
	f.needs = advise.Needs{Promise: class, Intact: f.intact, Processes: f.processes, Held: f.held, PureGo: f.pureGo,
		File: f.file,
		SQL:  f.sql, Proved: f.proved, Memory: int64(f.memory), Open: f.open, Binary: int64(f.binary)}
	for _, arg := range f.work {
		if err := f.add(arg); err != nil {
			return err
		}
	}
	return checkDir(f.dir)
}

// add adds the work that an argument names.
func (f *adviseFlags) add(arg string) error {
	spec, weight := arg, 1.0
	if i := strings.LastIndexByte(arg, ':'); i >= 0 {
		w, err := strconv.ParseFloat(arg[i+1:], 64)
		if err != nil || !(w > 0) || w > 1e9 {
			return usage(fmt.Errorf("%q is no weight", arg[i+1:]), "say how often it is done: %s:10", arg[:i])
		}
		spec, weight = arg[:i], w
	}
	selections, err := bench.ParseSelections([]string{spec})
	if err != nil {
		return usageError{err}
	}
	named, _, _ := strings.Cut(spec, "?")
	for _, s := range selections {
		if !strings.Contains(named, "/") && slices.ContainsFunc(s.Ops, func(o workload.Op) bool { return o.Core }) {
			s.Ops = slices.DeleteFunc(slices.Clone(s.Ops), func(o workload.Op) bool { return !o.Core })
		}
		s = f.together(s)
		if err := s.Check(); err != nil {
			return usageError{err}
		}
		for _, op := range s.Ops {
			w := advise.Work{Workload: s.Workload.Name, Operation: op.Name, Params: s.Query(), Weight: weight}
			same := func(o advise.Work) bool { o.Weight = w.Weight; return o == w }
			if i := slices.IndexFunc(f.needs.Work, same); i >= 0 {
				f.needs.Work[i].Weight += weight
				continue
			}
			f.needs.Work = append(f.needs.Work, w)
			one := s
			one.Ops = []workload.Op{op}
			f.selections = append(f.selections, one)
		}
	}
	return nil
}

// manyProcesses is the name of an operation of so many processes. Those that have more in front of
// it keep the store open.
var manyProcesses = regexp.MustCompile(`^(.*)processes_(\d+)$`)

// together returns s with the operation in which as many processes work at the same time as the
// program has, where none such was named: that of just so many, or "processes" with its parameter
// n, or the next number that there is.
func (f *adviseFlags) together(s bench.Selection) bench.Selection {
	many := func(o workload.Op) bool { return manyProcesses.MatchString(o.Name) }
	if f.processes == 1 || slices.ContainsFunc(s.Ops, many) {
		return s
	}
	best, most := -1, 0
	for i, op := range s.Workload.Ops {
		m := manyProcesses.FindStringSubmatch(op.Name)
		if m == nil || f.held && m[1] == "" {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		if best < 0 || most < f.processes && n > most || n >= f.processes && n < most {
			best, most = i, n
		}
	}
	crowd, ok := s.Workload.Op("processes")
	ok = ok && !f.held && slices.ContainsFunc(s.Workload.Params, func(p workload.Param) bool { return p.Name == "n" })
	switch {
	case ok && most != f.processes:
		s.Params = maps.Clone(s.Params)
		s.Params["n"] = strconv.Itoa(f.processes)
		s.Ops = []workload.Op{crowd.With(s.Params)}
		return s
	case best < 0:
		f.unknown = append(f.unknown, fmt.Sprintf("how %d processes fare at %s: it has no operation of several",
			f.processes, s.Workload.Name))
		return s
	}
	op := s.Workload.Ops[best]
	if most != f.processes {
		f.unknown = append(f.unknown, fmt.Sprintf("how %d processes fare: %s/%s is of %d", f.processes, s.Workload.Name,
			op.Name, most))
	}
	s.Ops = []workload.Op{op}
	return s
}

// advisable returns the engines to choose from.
func (a *app) advisable(ctx context.Context, f *adviseFlags) ([]advise.Engine, []bench.Entry, error) {
	proofs, err := proofs(f.proofs)
	if err != nil {
		return nil, nil, err
	}
	entries := a.defaults()
	if f.engines != "" {
		if entries, err = a.parseEngines(f.engines); err != nil {
			return nil, nil, err
		}
	}
	var all []advise.Engine
	for _, entry := range entries {
		c, argument := Contender{Entry: entry}, entry.Name+"="+entry.URL()
		for _, known := range a.catalog {
			if known.Engine == entry.Engine {
				c.Package = known.Package
			}
			if known.Entry == entry {
				argument = entry.Name
			}
		}
		e, err := describe(ctx, c, false, proofs)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, advise.Engine{Name: entry.Name, Argument: argument, URL: entry.URL(), Package: c.Package,
			Caps:     e.Caps,
			Promises: e.Promises, SQL: hasSQL(entry)})
	}
	return all, entries, nil
}

// hasSQL reports whether some workload knows the engine, with some options, in its form sql.
func hasSQL(e bench.Entry) bool {
	for _, w := range workload.All() {
		for _, op := range w.Ops {
			if op.Forms != nil && slices.Contains(op.Forms(e.Engine, ""), "sql") {
				return true
			}
		}
	}
	return false
}

// figures returns a run that has the work on the engines that are left: one that was kept, with
// what it lacks measured now. It is nil where nothing was kept and nothing is to be measured.
func (a *app) figures(ctx context.Context, f *adviseFlags, left []advise.Engine, entries []bench.Entry) (*result.Run,
	error) {
	run, dir, err := keptRun(f, left, versions(entries))
	if err != nil || len(left) == 0 {
		return run, err
	}
	missing := lacking(f, run, left)
	if run != nil && dir != "" {
		fmt.Fprintf(a.stderr, "figures of %s, measured %s\n", dir, run.Started.Local().Format("2006-01-02 15:04"))
	}
	if len(missing) == 0 || f.budget == 0 {
		return run, nil
	}
	o := bench.Options{Selections: missing, Classes: []kv.Durability{f.needs.Promise}, Dir: f.dir, Budget: f.budget,
		Seed:    rand.Uint64N(1 << 32),
		Command: []string{Program, "advise"}, Precision: bench.DefaultPrecision}
	if !f.sql {
		o.Form = "kv" // the other forms double the time, and are what a run is for
	}
	for _, e := range entries {
		if slices.ContainsFunc(left, func(l advise.Engine) bool { return l.Name == e.Name }) {
			o.Entries = append(o.Entries, e)
		}
	}
	if o.Proofs, err = proofs(f.proofs); err != nil {
		return nil, err
	}
	if o.Child, err = self(childName); err != nil {
		return nil, err
	}
	if o.Helper, err = self(helperName); err != nil {
		return nil, err
	}
	more, err := a.measure(ctx, o)
	if err != nil {
		return nil, err
	}
	if more.Interrupted {
		return nil, errInterrupted
	}
	out, err := resultDir("")
	if err == nil {
		err = result.Write(out, more)
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(a.stderr, "measured now, kept in %s; all of it: assay report\n", out)
	if run != nil {
		more.Cells = append(slices.DeleteFunc(slices.Clone(run.Cells),
			func(c result.Cell) bool { return measuredIn(more, c) }), more.Cells...)
	}
	return more, nil
}

// measuredIn reports whether a run has the operation of a cell.
func measuredIn(run *result.Run, c result.Cell) bool {
	return slices.ContainsFunc(run.Cells, func(o result.Cell) bool {
		return o.Workload == c.Workload && o.Operation == c.Operation && o.Params == c.Params
	})
}

// keptRun returns the run of --from, or the newest that has some of the work, and its folder. The
// newest is one of the same versions of the engines, on the disk's own speed. What follows from its
// samples is found again, so that all of the advice is by one estimator, whichever wrote the run.
func keptRun(f *adviseFlags, left []advise.Engine, versions map[string]string) (*result.Run, string, error) {
	if f.from != "" {
		run, err := result.Read(f.from)
		if err == nil && run.Environment.Unranked != "" {
			return nil, "", usage(fmt.Errorf("the timings in %s mean nothing: %s", f.from, run.Environment.Unranked),
				"name another run")
		}
		if err == nil {
			stats.Finish(run)
		}
		return run, f.from, noResult(f.from, err)
	}
	dirs, err := runDirs()
	for _, dir := range dirs {
		run, err := result.Read(dir)
		if err == nil && sameAsNow(run.Environment, versions) && len(lacking(f, run, left)) < len(f.selections) {
			stats.Finish(run)
			return run, dir, nil
		}
	}
	return nil, "", err
}

// sameAsNow reports whether figures from e are what engines of these versions would show now.
func sameAsNow(e result.Environment, versions map[string]string) bool {
	for module, v := range e.Modules {
		if now, ok := versions[module]; ok && now != v {
			return false
		}
	}
	return e.Unranked == "" && e.Storage == ""
}

// lacking returns the selections of which a run does not have every engine that is left.
func lacking(f *adviseFlags, run *result.Run, left []advise.Engine) []bench.Selection {
	if run == nil {
		return f.selections
	}
	var missing []bench.Selection
	for i, w := range f.needs.Work {
		for _, e := range left {
			if !advise.Has(run, e, w, f.needs.Promise) {
				missing = append(missing, f.selections[i])
				break
			}
		}
	}
	return missing
}

// line returns the command line that asks for the same.
func (f *adviseFlags) line() string {
	parts := []string{Program + " advise"}
	for _, w := range f.work {
		parts = append(parts, "'"+w+"'")
	}
	flag := func(set bool, text string) {
		if set {
			parts = append(parts, text)
		}
	}
	flag(true, "--promise "+f.promise)
	flag(f.processes > 1, fmt.Sprintf("--processes %d", f.processes))
	flag(f.held, "--held")
	flag(f.intact, "--intact")
	flag(f.proved, "--proved")
	flag(f.pureGo, "--pure-go")
	flag(f.file, "--file")
	flag(f.sql, "--sql")
	flag(f.memory > 0, "--memory "+f.memory.String())
	flag(f.open > 0, "--open "+f.open.String())
	flag(f.binary > 0, "--binary "+f.binary.String())
	return strings.Join(parts, " ")
}

// byteSize is a flag that takes 60MB, 4.5MB, 500kB or 1GB.
type byteSize int64

func (b byteSize) String() string {
	if b == 0 {
		return ""
	}
	return strings.ReplaceAll(advise.Bytes(int64(b)), " ", "")
}

func (b *byteSize) Set(s string) error {
	for _, u := range []struct {
		name string
		size float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}} {
		if number, ok := strings.CutSuffix(s, u.name); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err != nil || !(v > 0) || v*u.size > 1e15 {
				break
			}
			*b = byteSize(v * u.size)
			return nil
		}
	}
	return fmt.Errorf("%q is not a size such as 60MB", s)
}

func (b *byteSize) Type() string { return "size" }
