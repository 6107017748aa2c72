package report

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// header prints what was measured and where.
func (p *page) header(run *result.Run) {
	p.paragraph("", p.styles.plain, commandOf(run), p.styles.title)
	for _, f := range factsOf(run) {
		p.facts(f.label, f.items...)
	}
	p.blank()
}

// commandOf returns the command that made a run.
func commandOf(run *result.Run) string {
	if len(run.Command) == 0 {
		return "assay"
	}
	return strings.Join(append([]string{programOf(run.Command)}, run.Command[1:]...), " ")
}

// programOf returns the name of the program that a command is of.
func programOf(command []string) string {
	if len(command) == 0 {
		return "assay"
	}
	return path.Base(strings.ReplaceAll(command[0], `\`, "/"))
}

// fact is one thing to know of where and how a run took place; items may be empty, but not all.
type fact struct {
	label string
	items []string
}

func factsOf(run *result.Run) []fact {
	e := run.Environment
	all := []fact{
		{"machine", []string{e.CPU, countOf(e.CPUs, "CPU"), bytesOrNothing(e.Memory), system(e)}},
		{"disk", []string{storage(e), floor("append + sync", run.Floor.AppendSync),
			floor("overwrite + sync", run.Floor.OverwriteSync), floor("open + close", run.Floor.OpenClose)}},
		{"network", e.Networks},
		{"software", append([]string{prefixed("assay ", e.Assay), strings.Replace(e.Go, "go", "Go ", 1)},
			modules(e.Modules)...)},
		{"run", []string{started(run.Started), prefixed("took ", took(run.Took)), fmt.Sprintf("seed %d", run.Seed),
			precision(run.Precision)}},
		{"time", spent(run)},
	}
	return slices.DeleteFunc(all, func(f fact) bool { return len(nonEmpty(f.items)) == 0 })
}

// facts prints those of items that are not empty, if any.
func (p *page) facts(label string, items ...string) {
	items = slices.DeleteFunc(items, func(s string) bool { return strings.Trim(s, " /") == "" })
	if len(items) > 0 {
		p.list(fmt.Sprintf("%-10s", label), p.styles.dim, items, p.styles.plain)
	}
}

// warnings returns what a reader must know to trust the numbers, but for what is open: that is told
// beside the answer.
func warnings(run *result.Run) []result.Warning {
	all := slices.DeleteFunc(slices.Clone(run.Warnings), stats.Unresolved)
	if run.Interrupted {
		all = append([]result.Warning{{Text: "the run was interrupted: this is what had been measured by then"}},
			all...)
	}
	if why := run.Environment.Unranked; why != "" && !slices.ContainsFunc(all,
		func(w result.Warning) bool { return strings.Contains(w.Text, why) }) {
		all = append([]result.Warning{{Text: "nothing is ranked: this binary was " + why,
			Hint: "build it again without"}}, all...)
	}
	return all
}

func (p *page) warnings(run *result.Run) {
	all := warnings(run)
	for _, w := range all {
		p.warning(w)
	}
	if len(all) > 0 {
		p.blank()
	}
}

func (p *page) warning(w result.Warning) {
	text := w.Text
	if w.Hint != "" {
		text += " → " + w.Hint
	}
	p.paragraph("⚠ ", p.styles.warn, text, p.styles.warn)
}

func storage(e result.Environment) string {
	switch {
	case e.Storage != "":
		return "modelled " + e.Storage
	case e.FileSystem == "":
		return ""
	case e.Device == "" || e.Device == e.FileSystem:
		return e.FileSystem
	}
	return e.FileSystem + " on " + e.Device
}

// system returns "Linux 6.18.4 amd64", or what Go calls it.
func system(e result.Environment) string {
	if e.Kernel == "" {
		return e.OS + "/" + e.Arch
	}
	return e.Kernel + " " + e.Arch
}

func floor(what string, i *result.Interval) string {
	if i == nil {
		return ""
	}
	return what + " " + duration(i.Mid)
}

func started(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02 15:04")
}

func took(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// spent tells which part of a run was measurement, and where the rest went.
func spent(run *result.Run) []string {
	if run.Took <= 0 || run.Spent == (result.Spent{}) {
		return nil
	}
	part := func(d time.Duration, what string) string {
		return fmt.Sprintf("%.0f %% %s", 100*d.Seconds()/run.Took.Seconds(), what)
	}
	s := run.Spent
	return []string{part(run.Measured, "measuring"), part(s.Warm, "warming up"), part(s.Load, "loading"),
		part(s.Between, "checking and waiting"), part(s.Close, "closing"), part(s.Count, "counting syncs")}
}

func precision(f float64) string {
	if f <= 0 {
		return ""
	}
	return "precision " + percent(f)
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func countOf(n int, what string) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func bytesOrNothing(n int64) string {
	if n <= 0 {
		return ""
	}
	return size(float64(n))
}

// modules returns "bbolt v1.5.0", ...: the last word of a path that is no major version.
func modules(versions map[string]string) []string {
	var all []string
	for _, m := range slices.Sorted(maps.Keys(versions)) {
		name := path.Base(m)
		if majorVersion.MatchString(name) {
			name = path.Base(path.Dir(m))
		}
		all = append(all, name+" "+versions[m])
	}
	return all
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)
