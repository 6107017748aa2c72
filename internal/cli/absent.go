package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/assaydb/assay/lab/bench"
)

// Absent is an engine that assay knows and this binary lacks.
type Absent struct {
	Name    string // as in --engines and URLs
	Summary string // one line
	How     string // how to get a binary that has it
}

// parseEngines is bench.ParseEntries; for an engine that the binary lacks the hint says how to get
// it.
func (a *app) parseEngines(spec string) ([]bench.Entry, error) {
	for item := range strings.SplitSeq(spec, ",") {
		for _, missing := range a.absent {
			if namesEngine(strings.TrimSpace(item), missing.Name) {
				return nil, usage(fmt.Errorf("the engine %q is not in this binary", missing.Name), "%s", missing.How)
			}
		}
	}
	entries, err := bench.ParseEntries(spec, a.entries())
	if err != nil {
		return nil, usageError{err}
	}
	return entries, nil
}

// namesEngine reports whether an item of --engines ("sqlite-c", "sqlite-c:?cache_size=1",
// "mine=sqlite-c:") is of engine.
func namesEngine(item, engine string) bool {
	item, _, _ = strings.Cut(item, ":")
	if _, url, named := strings.Cut(item, "="); named {
		item = url
	}
	return item == engine
}

// printAbsent lists the engines that the binary lacks.
func (a *app) printAbsent(out io.Writer) error {
	if len(a.absent) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nNot in this binary:")
	for _, missing := range a.absent {
		fmt.Fprintf(t, "  %s\t%s: %s\n", missing.Name, missing.Summary, missing.How)
	}
	return t.Flush()
}
