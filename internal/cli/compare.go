package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/report"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// errCrossed is that a limit of --fail-on was crossed; the output shows it.
var errCrossed = errors.New("a limit was crossed")

// compareFlags is the command line of assay compare.
type compareFlags struct {
	failOn, beside string
	all, json      bool
}

func (a *app) compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Tell what changed between two runs",
		Long: `Compares what "assay run --out" kept in two folders, for a change of one's own code, settings or versions.

A machine is never the same twice. So no time is compared with a time of the other run: within each run an engine is
taken beside the others that took part, in the same rounds, and these ratios are compared. An engine counts as changed if
it changed beside most of the others, so run at least two others that did not change; --beside names one that did not.

assay run lets who is surely slower leave early, and of such a ratio little is known: run both with --even, for as long
as it takes.

Each time is faster, slower, equivalent (the whole interval within 10 %), or open. Of the same program twice at most 1 in
100 is called different. A change that an engine's operations share is seen sooner in all of them together: a line for
each engine.

Syncs, writes and bytes written are compared where they are exact: the same whole number at each operation of one worker.
Allocations are not, they differ by a few from run to run.

--fail-on makes limits, separated by commas, of which any that is crossed ends the command with status 3:
  time>10%     a time that is slower for sure, by more than 10 %
  syncs>0      an operation that syncs more often; also writes and written, and by a part: written>20%
An operation that failed, or promises something else now, has no figure to hold to a limit, and crosses all of them.`,
		Example: `  assay run ycsb/A,C --even --budget 5m --out results/main
  assay compare results/main results/branch
  assay compare main.json branch.json --fail-on 'time>10%,syncs>0'
  assay compare main branch --beside bbolt --json`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error { return a.compareKept(args, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.failOn, "fail-on", "",
		"limits of which one that is crossed is an error (status 3), for example time>10%,syncs>0")
	flags.StringVar(&f.beside, "beside", "",
		"the engine to take the others beside, which did not change (default: most of the others)")
	flags.BoolVar(&f.all, "all", false, "list what is equivalent or open too")
	flags.BoolVar(&f.json, "json", false, "print one JSON document")
	return cmd
}

// compareKept compares the run in args[0] with the one in args[1], or in the newest.
func (a *app) compareKept(args []string, f compareFlags) error {
	limits, err := parseLimits(f.failOn)
	if err != nil {
		return err
	}
	var runs [2]*result.Run
	var names [2]string
	for i := range runs {
		kept, err := a.read(args[min(i, len(args)):min(i+1, len(args))], []string{result.DocumentFile})
		switch {
		case err != nil:
			return err
		case kept.run == nil:
			return usage(fmt.Errorf("%s holds no run", kept.dir), "name a folder that assay run --out wrote")
		case kept.run.Environment.Unranked != "":
			return usage(fmt.Errorf("the timings in %s mean nothing: its binary was %s", kept.dir,
				kept.run.Environment.Unranked), "build it again without, and measure again")
		}
		if f.beside != "" && !slices.Contains(strings.Split(contenders(kept.run), ", "), f.beside) {
			return usage(fmt.Errorf("%s has no %s", kept.dir, f.beside), "it has %s", contenders(kept.run))
		}
		runs[i], names[i] = kept.run, kept.dir
	}
	c := &result.Comparison{Schema: result.ComparisonSchema, Old: names[0], New: names[1],
		Changes: stats.Changes(runs[0], runs[1], f.beside), Lost: stats.Lost(runs[0], runs[1])}
	c.Wholes = stats.Wholes(c.Changes)
	if len(c.Changes) == 0 {
		return nothingInCommon(runs, names)
	}
	for _, l := range limits {
		c.Crossed = append(c.Crossed, l.crossed(c)...)
	}
	if len(limits) > 0 {
		c.Crossed = append(c.Crossed, lost(c)...)
	}
	if f.json {
		data, err := result.MarshalComparison(c)
		if err == nil {
			_, err = a.stdout.Write(data)
		}
		if err != nil {
			return err
		}
	} else if err := report.Comparison(a.stdout, c, runs[0], runs[1], f.all, reportOptions(a.stdout)); err != nil {
		return err
	}
	if len(c.Crossed) > 0 {
		return errCrossed
	}
	return nil
}

// nothingInCommon says what two runs hold that have no cell in common.
func nothingInCommon(runs [2]*result.Run, names [2]string) error {
	held := func(run *result.Run) string {
		var works []string
		for _, c := range run.Cells {
			if c.Status == result.OK && !slices.Contains(works, c.Workload) {
				works = append(works, c.Workload)
			}
		}
		return strings.Join(works, ", ") + " on " + contenders(run)
	}
	return usage(fmt.Errorf("the two results have nothing in common: %s has %s, %s has %s", names[0], held(runs[0]),
		names[1], held(runs[1])),
		"measure the same operations, at the same promise, on the same engines")
}

// lost says what has no figure any more that a limit could be held to, for another reason than that
// it was skipped: a limit that nothing is held to is not kept.
func lost(c *result.Comparison) []string {
	var all []string
	for _, l := range c.Lost {
		if !l.Skipped {
			all = append(all, "no figure: "+l.Workload+" "+l.Operation+" "+l.Name()+": "+l.Why)
		}
	}
	return all
}

// limit is one of --fail-on: a figure that may not grow by more than so much, absolutely or as a
// part of what it was.
type limit struct {
	text, figure string
	most         float64
	part         bool
}

var limitable = []string{"time", "syncs", "writes", "written"}

// parseLimits returns the limits that spec lists.
func parseLimits(spec string) ([]limit, error) {
	var all []limit
	if spec == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(spec, ",") {
		text = strings.TrimSpace(text)
		name, number, ok := strings.Cut(text, ">")
		name = strings.TrimSpace(name)
		switch {
		case name == "allocs":
			return nil, usage(errors.New("--fail-on allocs: allocations differ by a few from run to run"),
				"use one of %s", strings.Join(limitable, ", "))
		case !slices.Contains(limitable, name):
			return nil, usage(fmt.Errorf("--fail-on %q: unknown figure %q", text, name), "%suse one of %s",
				bench.DidYouMean(name, limitable), strings.Join(limitable, ", "))
		case !ok:
			return nil, usage(fmt.Errorf("--fail-on %q has no limit", text), "write %s>20%%", name)
		}
		number, part := strings.CutSuffix(strings.TrimSpace(number), "%")
		most, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil || most < 0:
			return nil, usage(fmt.Errorf("--fail-on %q: %q is no limit", text, number),
				"for example: time>10%%,syncs>0")
		case name == "time" && !part:
			return nil, usage(fmt.Errorf("--fail-on %q: a time is limited in percent", text), "write time>%s%%", number)
		}
		if part {
			most /= 100
		}
		all = append(all, limit{text: text, figure: name, most: most, part: part})
	}
	return all, nil
}

// crossed says where changes cross the limit.
func (l limit) crossed(comparison *result.Comparison) []string {
	var all []string
	for _, w := range comparison.Wholes {
		if l.figure == "time" && w.Time == result.Slower && w.Times.Mid-1 > l.most {
			all = append(all, fmt.Sprintf("%s: %s takes %.2fx at all operations together", l.text, w.Name(), w.Times.Mid))
		}
	}
	for _, c := range comparison.Changes {
		where := l.text + ": " + c.Workload + " " + c.Operation + " " + c.Name()
		if l.figure == "time" && c.Time == result.Slower && c.Times.Mid-1 > l.most {
			all = append(all, fmt.Sprintf("%s takes %.2fx", where, c.Times.Mid))
		}
		for _, n := range c.Counts {
			grown := n.After - n.Before
			if l.part && n.Before > 0 {
				grown /= n.Before
			}
			if n.Name == l.figure && n.Changed() && grown > l.most {
				all = append(all, fmt.Sprintf("%s has %v, had %v", where, n.After, n.Before))
			}
		}
	}
	return all
}
