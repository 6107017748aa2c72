package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/report"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

func (a *app) reportCommand() *cobra.Command {
	var format, versus, against, charts, proof string
	var asJSON bool
	var v view
	cmd := &cobra.Command{
		Use:   "report [DIR]...",
		Short: "Show the result of a run, or a proof, again",
		Long: `Shows what "assay run" or "assay prove" kept in DIR, or in the newest of all that were not interrupted.

Of a run it shows the answer, as the run did. --all shows the tables behind it and what was skipped, --explain what words
and marks mean, --durability the matrix of one class.

Formats: text, html (one page with charts, which needs no network; of a run or a proof), markdown (of a run or published
comparisons), csv (every figure; of a run), bench (the Go benchmark format, for benchstat; of a run), json (the document
itself). --charts writes the charts of the page, each as SVG and PNG. docs/report.md shows the page.

With two or more folders of runs, --format html is one page that shows them beside each other. "assay site" makes a site of
a folder of results.

Tables never rank engines that promise different things. --versus compares two of them all the same, as many published
comparisons do, and puts beside it how they compare where both make the same promise.`,
		Example: `  assay report
  assay report --all --explain | less
  assay report --durability flushed
  assay report --against results/sunday
  assay report results/monday
  assay report --format bench >samples.txt
  assay report --format html results/monday >report.html
  assay report --format html results/laptop results/server >both.html
  assay report --charts charts results/monday
  assay report --format markdown results/published >published.md
  assay report --versus pebble@buffered,sqlite/sql@flushed`,
		Args: usageArgs(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				if format != "html" || versus+against+charts+proof != "" {
					return usage(errors.New("several results are shown as a page"), "assay report --format html %s",
						strings.Join(args, " "))
				}
				return a.showBeside(args)
			}
			if !slices.Contains(formats, format) {
				return unknownFormat(format)
			}
			if asJSON {
				format = "json"
			}
			if versus != "" && format != "text" {
				return usage(fmt.Errorf("--versus has no format %s", format), "leave --format out")
			}
			if err := v.check(format, versus); err != nil {
				return err
			}
			if err := checkPage(format, versus, charts, proof); err != nil {
				return err
			}
			if against != "" {
				return a.compareKept(append([]string{against}, args...), compareFlags{json: format == "json"})
			}
			kept, err := a.read(args, wanted(format, versus+charts))
			if err != nil {
				return err
			}
			if kept.published != nil {
				return a.showPublished(kept.published, format)
			}
			if kept.run == nil && (versus+charts != "" || slices.Contains(ofRuns, format)) {
				return usage(fmt.Errorf("%s holds a proof, which has no samples", kept.dir),
					"name the folder of a run, or leave --format, --versus and --charts out")
			}
			switch {
			case versus != "":
				return a.showVersus(kept.run, versus)
			case charts != "":
				return a.writeCharts(charts, kept.run)
			case format == "html":
				return a.showPage(kept, proof)
			}
			if len(args) > 0 {
				v.dir = args[0]
			}
			return a.showKept(kept, format, v)
		},
	}
	cmd.Flags().BoolVar(&v.all, "all", false, "show a table for each workload and promise, and what was skipped")
	cmd.Flags().BoolVar(&v.explain, "explain", false, "say what the words and marks mean")
	cmd.Flags().StringVar(&v.class, "durability", "", "show one class alone: synced, flushed or buffered")
	cmd.Flags().StringVar(&against, "against", "", "compare with an earlier result, as assay compare does")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.Flags().StringVar(&versus, "versus", "",
		"compare two contenders, ENGINE@CLASS,ENGINE@CLASS, also where their promises differ")
	cmd.Flags().StringVar(&format, "format", "text", strings.Join(formats, ", "))
	cmd.Flags().StringVar(&charts, "charts", "", "write the charts of the page to this folder, as SVG and PNG")
	cmd.Flags().StringVar(&proof, "proof", "",
		"folder of the proof that the page shows (default: that of DIR, or the one that is built in)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// view is what of a run is shown.
type view struct {
	all, explain bool
	class        string
	dir          string // that was named; empty is the newest
}

// check returns an error where a view is none, or has no place.
func (v *view) check(format, versus string) error {
	if v.class != "" {
		if _, err := parseClasses(v.class); err != nil {
			return err
		}
	}
	if v.class == "all" {
		v.class = ""
	}
	if (v.all || v.explain || v.class != "") && (format != "text" || versus != "") {
		return usage(errors.New("--all, --explain and --durability are of the report in words"),
			"leave them out, or --format, --json and --versus")
	}
	return nil
}

// kept is what a folder holds: a run, a proof or both, or published comparisons.
type kept struct {
	dir       string
	run       *result.Run
	proof     *result.Proof
	published *result.Published // alone
}

// read returns what is in the folder that args names, or in the newest that holds a document with
// one of the wanted names; args may name a document itself.
func (a *app) read(args []string, wanted []string) (kept, error) {
	var k kept
	var err error
	if len(args) == 0 {
		if k.dir, err = a.newestResult(wanted); err != nil {
			return k, err
		}
	} else {
		k.dir = args[0]
	}
	if _, err := os.Stat(filepath.Join(k.dir, result.PublishedFile)); err == nil ||
		filepath.Base(k.dir) == result.PublishedFile {
		k.published, err = result.ReadPublished(k.dir)
		return k, err
	}
	if filepath.Base(k.dir) == result.ProofFile {
		k.proof, err = result.ReadProof(k.dir)
		return k, err
	}
	if _, err := os.Stat(filepath.Join(k.dir, result.ProofFile)); err == nil {
		if k.proof, err = result.ReadProof(k.dir); err != nil {
			return k, err
		}
	}
	if k.run, err = result.Read(k.dir); k.proof != nil && errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	return k, noResult(k.dir, err)
}

// noResult tells what is not there where no result could be read from path, and what makes one.
func noResult(path string, err error) error {
	if err == nil {
		return nil
	}
	const hint = "name a folder that was given to --out, or make a result with: assay run"
	info, serr := os.Stat(path)
	switch {
	case errors.Is(serr, fs.ErrNotExist):
		where, aerr := filepath.Abs(path)
		if aerr != nil {
			where = path
		}
		return &kv.Error{Err: fmt.Errorf("there is no %s", where), Hint: hint}
	case serr != nil:
		return err
	case info.IsDir() && errors.Is(err, fs.ErrNotExist):
		return &kv.Error{Err: fmt.Errorf("%s holds neither %s nor %s", path, result.DocumentFile,
			result.ProofFile), Hint: hint}
	case !info.IsDir() && filepath.Base(path) != result.DocumentFile:
		return usage(fmt.Errorf("%s is not a result", path), "%s", hint)
	}
	return err
}

// showKept renders a run and a proof on standard output.
func (a *app) showKept(k kept, format string, v view) error {
	if k.run != nil && k.proof != nil && format == "json" {
		return usage(fmt.Errorf("%s holds a run and a proof", k.dir), "name one: %s",
			filepath.Join(k.dir, result.DocumentFile))
	}
	if k.run != nil {
		if err := a.show(k.run, format, v); err != nil {
			return err
		}
	}
	if k.proof != nil && !slices.Contains(ofRuns, format) {
		if k.run != nil {
			fmt.Fprintln(a.stdout)
		}
		return a.showProof(k.proof, format)
	}
	return nil
}

var formats = []string{"text", "html", "markdown", "csv", "bench", "json"}

// unknownFormat is the error of a format that is none; pictures are files of their own.
func unknownFormat(format string) error {
	hint := "use one of " + strings.Join(formats, ", ")
	if format == "svg" || format == "png" {
		hint = "charts are written as SVG and PNG by: --charts DIR"
	}
	return usage(fmt.Errorf("unknown format %q", format), "%s", hint)
}

// ofRuns are the formats that a proof alone has not.
var ofRuns = []string{"bench", "csv", "markdown"}

// wanted returns the documents of which the newest is shown: the flags of a run want one.
func wanted(format, flags string) []string {
	switch {
	case flags != "" || format == "bench" || format == "csv":
		return []string{result.DocumentFile}
	case format == "markdown":
		return []string{result.DocumentFile, result.PublishedFile}
	case format == "html":
		return []string{result.DocumentFile, result.ProofFile}
	}
	return []string{result.DocumentFile, result.ProofFile, result.PublishedFile}
}

// show renders run on standard output, in one of formats.
func (a *app) show(run *result.Run, format string, v view) error {
	switch format {
	case "text":
		o := reportOptions(a.stdout)
		o.All, o.Explain, o.Class, o.Command, o.Facts = v.all, v.explain, v.class, Program+" report", facts
		if v.dir != "" {
			o.Command += " " + v.dir
		}
		return report.Text(a.stdout, run, o)
	case "bench":
		return report.Bench(a.stdout, run)
	case "csv":
		return report.CSV(a.stdout, run)
	case "markdown":
		return report.Markdown(a.stdout, run, report.Options{Facts: facts})
	default:
		data, err := result.Marshal(run)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(data)
		return err
	}
}

// facts returns what is known of an engine without measuring it.
func facts(engine string) report.Facts {
	d, ok := driver.Lookup(engine)
	if !ok {
		return report.Facts{}
	}
	caps := d.Info().Caps
	return report.Facts{
		Shared: caps.Supports(kv.Shared), File: !caps.Folder, PureGo: caps.PureGo,
		SQL: slices.Contains(bench.Forms(bench.Entry{Engine: engine}, bench.DefaultSelections()), "sql"),
	}
}

// showVersus compares the two contenders that spec names.
func (a *app) showVersus(run *result.Run, spec string) error {
	first, second, ok := strings.Cut(spec, ",")
	if !ok {
		return usage(fmt.Errorf("--versus %s names one contender", spec),
			"for example: --versus pebble@buffered,sqlite@flushed")
	}
	one, err := stats.ParseContender(first)
	if err != nil {
		return usage(err, "for example: pebble@buffered")
	}
	other, err := stats.ParseContender(second)
	if err != nil {
		return usage(err, "for example: sqlite@flushed")
	}
	some, err := report.Versus(a.stdout, run, one, other, reportOptions(a.stdout))
	if err == nil && !some {
		return usage(fmt.Errorf("no operation was measured with both %v and %v", one, other), "the run has %s",
			contenders(run))
	}
	return err
}

// contenders lists what took part in a run.
func contenders(run *result.Run) string {
	var names []string
	for _, c := range run.Cells {
		if !slices.Contains(names, c.Name()) {
			names = append(names, c.Name())
		}
	}
	return strings.Join(names, ", ")
}

// resultsDir returns the folder that keeps the results of runs without --out.
func resultsDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", usage(err, "name a folder with --out")
	}
	return filepath.Join(cache, "assay", "results"), nil
}

// newResultDir returns a folder for the result of a run that started now.
func newResultDir(started time.Time) (string, error) {
	dir, err := resultsDir()
	return filepath.Join(dir, started.Format("2006-01-02T15-04-05")), err
}

// runDirs returns the folders that keep runs, the newest first.
func runDirs() ([]string, error) {
	dir, err := resultsDir()
	if err != nil {
		return nil, nil // nothing is kept where there is no cache folder
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", result.DocumentFile))
	slices.Sort(files)
	slices.Reverse(files)
	for i, f := range files {
		files[i] = filepath.Dir(f)
	}
	return files, err
}

// newestResult returns the newest folder, of runs and proofs without --out, that holds a file of
// one of the names; the folders' names sort by time. One that was interrupted is passed over, with
// a word, if there is another.
func (a *app) newestResult(names []string) (string, error) {
	dir, err := resultsDir()
	if err != nil {
		return "", err
	}
	var files []string
	for _, name := range names {
		some, err := filepath.Glob(filepath.Join(dir, "*", name))
		if err != nil {
			return "", err
		}
		files = append(files, some...)
	}
	if len(files) == 0 {
		return "", &kv.Error{Err: errors.New("no run was kept yet"), Hint: "type: assay run"}
	}
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Dir(b), filepath.Dir(a)) })
	for i, f := range files {
		if !interrupted(f) {
			if i > 0 {
				fmt.Fprintf(a.stderr, "a newer one was interrupted; to see it: assay report %s\n",
					filepath.Dir(files[0]))
			}
			return filepath.Dir(f), nil
		}
	}
	return filepath.Dir(files[0]), nil
}

// interrupted reports whether the document at path is of a run that was interrupted. One that
// cannot be read is told as such by whoever reads all of it.
func interrupted(path string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var head struct {
		Interrupted bool `json:"interrupted"`
	}
	return json.Unmarshal(data, &head) == nil && head.Interrupted
}
