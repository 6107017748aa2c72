package cli

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/published"
	"github.com/assaydb/assay/lab/report"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// notLikePublished are the flags that say what --like-published says itself.
var notLikePublished = []string{"aa", "durability", "engines", "rate", "storage"}

// runPublished measures what others published, as they did and then at the same promise.
func (a *app) runPublished(cmd *cobra.Command, f runFlags, args []string) error {
	for _, name := range notLikePublished {
		if cmd.Flags().Changed(name) {
			return usage(fmt.Errorf("--like-published and --%s do not go together", name),
				"leave one out: the publication says what is measured")
		}
	}
	publications, err := published.Parse(args)
	if err != nil {
		return usageError{err}
	}
	o, err := a.options(f, nil, cmd.Flags().Changed("seed"), false)
	if err != nil {
		return err
	}
	if f.race != "" {
		if f.race, err = raceBuild(f.race); err != nil {
			return err
		}
	}
	if !cmd.Flags().Changed("budget") {
		o.Budget = published.DefaultBudget(publications)
	}
	o.Command = append([]string{Program, "run", "--like-published"}, args...)
	o.Command = append(o.Command, "--budget", o.Budget.String(), "--seed", strconv.FormatUint(o.Seed, 10))
	if f.race != "" {
		o.Command = append(o.Command, "--with-race", "./"+filepath.Base(f.race))
	}
	dir, err := resultDir(f.out)
	if err != nil {
		return err
	}
	p := &publishedRun{app: a, options: o, race: f.race, dir: dir, publications: publications, started: time.Now()}
	if err := p.run(cmd.Context()); err != nil {
		return errors.Join(err, removeEmpty(dir))
	}
	format := "text"
	if f.json {
		format = "json"
	}
	if err := errors.Join(a.showPublished(&p.document, format), result.WritePublished(dir, &p.document)); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "kept in %s; show it again with: assay report %s\n", dir, dir)
	return p.outcome()
}

// publishedRun is the state of runPublished.
type publishedRun struct {
	*app
	options      bench.Options // of every part
	race         string        // the path of a binary that was built with -race; "" is none
	dir          string
	publications []published.Publication
	started      time.Time
	spent        time.Duration // shares of the parts that are done
	document     result.Published
}

// run measures the parts one after the other, until all are done or ctx ends.
func (p *publishedRun) run(ctx context.Context) error {
	o := p.options
	p.document = result.Published{Schema: result.PublishedSchema, Command: o.Command, Started: p.started.UTC(),
		Budget: o.Budget, Seed: o.Seed}
	for _, publication := range p.publications {
		m := published.Measured{Runs: map[string]*result.Run{}, Absent: map[string]string{}}
		out := result.Publication{Name: publication.Name, System: publication.System, Summary: publication.Summary,
			Setup: publication.Setup}
		for _, part := range publication.Parts {
			done, err := p.part(ctx, publication, part, m)
			if err != nil {
				return err
			}
			out.Parts = append(out.Parts, done)
		}
		out.Lines = publication.Lines(m)
		p.document.Publications = append(p.document.Publications, out)
	}
	p.document.Took = time.Since(p.started)
	return nil
}

// part measures one part, unless ctx has ended, and keeps its result.
func (p *publishedRun) part(ctx context.Context, publication published.Publication, part published.Part,
	m published.Measured) (result.Part, error) {
	out := result.Part{Name: part.Name, Engines: part.Engines, Work: part.Work, Race: part.Race}
	o, err := p.partOptions(part, m)
	if err != nil {
		return out, err
	}
	p.spent += part.Share
	if out.Missing, out.Hint = unavailable(o); out.Missing != "" {
		return out, nil
	}
	if part.Race {
		if p.race == "" {
			out.Missing, out.Hint = "no binary with -race was given", raceHint
			return out, nil
		}
		o.Child, o.Helper = []string{p.race, childName}, []string{p.race, helperName}
		o.Unranked = "built with -race"
	}
	if ctx.Err() != nil {
		out.Missing = "the run was interrupted"
		return out, nil
	}
	fmt.Fprintf(p.stderr, "%s, %s: %s\n", publication.Name, part.Name, publication.Summary)
	run, err := p.measure(ctx, o)
	if err != nil {
		return out, err
	}
	m.Runs[part.Name] = run
	p.merge(run)
	out.Storage, out.Took = run.Environment.Storage, run.Took
	for _, c := range run.Cells {
		if c.Status == result.Failed {
			out.Failures++
		}
	}
	return out, result.Write(filepath.Join(p.dir, publication.Name+"-"+part.Name), run)
}

// partOptions are those of one part: its work and engines, and its share of the time that is left.
// Engines that the binary lacks are noted in m.
func (p *publishedRun) partOptions(part published.Part, m published.Measured) (bench.Options, error) {
	o := p.options
	var present []string
	for _, item := range part.Engines {
		missing := slices.IndexFunc(p.absent, func(a Absent) bool { return namesEngine(item, a.Name) })
		if missing < 0 {
			present = append(present, item)
			continue
		}
		m.Absent[p.absent[missing].Name] = p.absent[missing].How
	}
	var err error
	if o.Entries, err = p.parseEngines(strings.Join(present, ",")); err != nil {
		return o, err
	}
	if o.Selections, err = part.Selections(); err != nil {
		return o, usageError{err}
	}
	if part.Storage != "" {
		if o.Storage, err = powerfs.ParseLatency(part.Storage); err != nil {
			return o, err
		}
	}
	o.Classes, o.Strongest = part.Classes, false
	o.Hang = bench.DefaultHang // a cold read of a slow disk takes long, and the parts are short
	o.Command = append([]string{Program, "run"}, part.Work...)
	left := max(time.Until(p.started.Add(o.Budget)), time.Second)
	ahead := published.DefaultBudget(p.publications) - p.spent
	o.Budget = time.Duration(float64(left) * float64(part.Share) / float64(ahead))
	return o, nil
}

// raceHint is how to have the parts of a publication that was built with -race.
const raceHint = "go build -race -o assay-race ./cmd/assay, then --with-race ./assay-race"

// raceBuild returns the whole path of a binary of this program that was built with -race.
func raceBuild(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", usage(fmt.Errorf("--with-race: %w", err), "%s", raceHint)
	}
	if !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return "", usage(fmt.Errorf("%s was not built with -race", path), "%s", raceHint)
	}
	if own, ok := debug.ReadBuildInfo(); ok && strings.TrimSuffix(own.Path, ".test") != info.Path {
		return "", usage(fmt.Errorf("%s is another program: %s", path, info.Path), "%s", raceHint)
	}
	return path, nil
}

// unavailable tells why a modelled disk cannot be had.
func unavailable(o bench.Options) (why, hint string) {
	if o.Storage == (powerfs.Latency{}) {
		return "", ""
	}
	if err := powerfs.Available(); err != nil {
		return err.Error(), kv.HintOf(err)
	}
	return "", ""
}

// merge adds what a part tells of the machine: what its engines' versions are, and what to know of
// it.
func (p *publishedRun) merge(run *result.Run) {
	d := &p.document
	d.Interrupted = d.Interrupted || run.Interrupted
	if d.Environment.Go == "" {
		d.Environment, d.Floor = run.Environment, run.Floor
	}
	if d.Environment.Modules == nil {
		d.Environment.Modules = map[string]string{}
	}
	for module, version := range run.Environment.Modules {
		d.Environment.Modules[module] = version
	}
	for _, w := range run.Warnings {
		if !stats.Unresolved(w) && !slices.Contains(d.Warnings, w) { // each line tells itself what is open
			d.Warnings = append(d.Warnings, w)
		}
	}
}

// outcome is nil if everything was measured that this binary and system can measure.
func (p *publishedRun) outcome() error {
	if p.document.Interrupted {
		return errInterrupted
	}
	for _, publication := range p.document.Publications {
		for _, part := range publication.Parts {
			if part.Failures > 0 {
				return errReported
			}
		}
	}
	return nil
}

// showPublished renders a run of published comparisons on standard output.
func (a *app) showPublished(p *result.Published, format string) error {
	switch format {
	case "text":
		return report.Published(a.stdout, p, reportOptions(a.stdout))
	case "markdown":
		return report.PublishedMarkdown(a.stdout, p)
	case "json":
		data, err := result.MarshalPublished(p)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(data)
		return err
	}
	return usage(fmt.Errorf("published comparisons have no format %s", format), "use text, markdown or json")
}
