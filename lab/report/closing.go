package report

import (
	"cmp"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// closing returns the command that measures what is open in matrices: these operations alone, on
// the engines between which it is open, for as long as that takes by the variance seen. near
// comparisons it will not decide.
func closing(run *result.Run, shown []matrix) (command string, near int) {
	var works, engines []string
	class, commits := "", false
	for _, m := range shown {
		for _, r := range m.races {
			if !r.undecided() {
				continue
			}
			if !r.read {
				commits = true
				class = m.promise.Delivered
			}
			works = append(works, work(r.rows[0].cell))
			for i := range r.rows {
				if x := &r.rows[i]; isBest(x.cell) || r.standing(x) == open {
					engines = append(engines, x.cell.Engine)
				}
			}
		}
	}
	other := func(m matrix) bool { return m.promise.Delivered == class }
	if classes := slices.DeleteFunc(slices.Clone(shown), other); len(classes) > 0 || !commits {
		class = "" // of several promises, or of none
	}
	takes, near := stats.Needs(stats.Part(run, func(c result.Cell) bool {
		of := c.Promise.Delivered
		return slices.Contains(works, work(&c)) && slices.Contains(engines, c.Engine) &&
			(class == "" || of == class || of == "read")
	}))
	return measureCommand(run, works, engines, class, budgetOf(takes)), near
}

func (r race) undecided() bool {
	return slices.ContainsFunc(r.rivals(), func(x row) bool { return r.standing(&x) == open })
}

// work returns a cell's operation as an argument of assay run.
func work(c *result.Cell) string {
	if c.Params == "" {
		return c.Workload + "/" + c.Operation
	}
	return c.Workload + "/" + c.Operation + "?" + c.Params
}

// measureCommand returns an assay run of works, joined where they are of one workload, on some
// engines (nil is those of the run), at one class (empty is as in the run).
func measureCommand(run *result.Run, works, engines []string, class string, budget time.Duration) string {
	flags := commandFlags(run.Command)
	words := append([]string{programOf(run.Command), "run"}, joined(works, filesOf(run.Command))...)
	all := engineNames(run.Cells)
	some := slices.DeleteFunc(slices.Clone(all), func(e string) bool { return !slices.Contains(engines, e) })
	switch {
	case len(some) > 0 && len(some) < len(all):
		words = append(words, "--engines", quote(strings.Join(engineSpecs(flags, some), ",")))
	case flags["engines"] != "":
		words = append(words, "--engines", quote(flags["engines"]))
	}
	if class = cmp.Or(class, flags["durability"]); class != "" {
		words = append(words, "--durability", class)
	}
	for _, name := range []string{"storage", "dir", "rate", "proof"} {
		if flags[name] != "" {
			words = append(words, "--"+name, quote(flags[name]))
		}
	}
	return strings.Join(append(words, "--budget", budgetText(budget)), " ")
}

// longWork is about how long an argument of several operations may be: a terminal breaks a longer
// one.
const longWork = 44

// filesOf returns the files of a command that hold workloads, by the workloads' names.
func filesOf(command []string) map[string]string {
	files := map[string]string{}
	for _, word := range command {
		for _, ext := range []string{".yaml", ".yml"} {
			if stem, _, ok := strings.Cut(word, ext); ok && !strings.HasPrefix(word, "-") {
				files[path.Base(filepath.ToSlash(stem))] = stem + ext
			}
		}
	}
	return files
}

// joined returns works with the operations of each workload in one argument, or in several where it
// would be long. A workload from a file is named by that.
func joined(works []string, files map[string]string) []string {
	type argument struct{ name, ops, params string }
	var all []argument
	for _, w := range works {
		path, params, _ := strings.Cut(w, "?")
		name, op, _ := strings.Cut(path, "/")
		same := func(a argument) bool { return a.name == name && a.params == params }
		if slices.ContainsFunc(all, func(a argument) bool {
			return same(a) &&
				slices.Contains(strings.Split(a.ops, ","), op)
		}) {
			continue
		}
		i := slices.IndexFunc(all, func(a argument) bool { return same(a) && len(a.name+a.ops+a.params+op) < longWork })
		if i < 0 {
			all = append(all, argument{name, op, params})
		} else {
			all[i].ops += "," + op
		}
	}
	var words []string
	for _, a := range all {
		word := cmp.Or(files[a.name], a.name) + "/" + a.ops
		if a.params != "" {
			word += "?" + a.params
		}
		words = append(words, quote(word))
	}
	return words
}

// quote makes s one word of a shell.
func quote(s string) string {
	if !strings.ContainsAny(s, " ?*&;|<>()[]$`\"\\'#~!{}") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// commandFlags returns the flags of a command, which stand in words of their own: --engines
// bbolt,sqlite.
func commandFlags(command []string) map[string]string {
	flags := map[string]string{}
	for i, word := range command {
		if name, ok := strings.CutPrefix(word, "--"); ok && i+1 < len(command) {
			flags[name] = command[i+1]
		}
	}
	return flags
}

// engineSpecs returns names as --engines takes them: with their options if the command gave them
// some.
func engineSpecs(flags map[string]string, names []string) []string {
	specs := slices.Clone(names)
	for spec := range strings.SplitSeq(flags["engines"], ",") {
		name, _, _ := strings.Cut(spec, "=")
		if i := slices.Index(specs, name); i >= 0 {
			specs[i] = spec
		}
	}
	return specs
}

// engineNames returns the ranked engines of a run.
func engineNames(cells []result.Cell) []string {
	var names []string
	for _, c := range cells {
		if c.Ranked && !slices.Contains(names, c.Engine) {
			names = append(names, c.Engine)
		}
	}
	return names
}

// budgetFor returns how long some operations are measured so that each gets about four times what
// it had: that halves the intervals.
func budgetFor(run *result.Run, operations int) time.Duration {
	all := map[string]bool{}
	for i := range run.Cells {
		all[work(&run.Cells[i])] = true
	}
	return budgetOf(time.Duration(float64(4*operations) / float64(max(1, len(all))) * float64(run.Took)))
}

// budgetOf returns a budget that is easy to type, of about that time.
func budgetOf(takes time.Duration) time.Duration {
	for _, s := range []time.Duration{30, 60, 120, 180, 300, 600, 1200} {
		if takes <= s*time.Second*11/10 {
			return s * time.Second
		}
	}
	return time.Duration(math.Ceil(takes.Seconds()/1800)) * 30 * time.Minute
}

// budgetText prints "30s", "3m", "1h30m".
func budgetText(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-len("0s")]
		}
	}
	return s
}

// unmeasuredGroup is an operation without a figure.
type unmeasuredGroup struct {
	name, work string
	late       bool // no time was left for it
}

// unmeasured returns the operations of which no cell that is ranked has a figure.
func unmeasured(cells []result.Cell) []unmeasuredGroup {
	var order []string
	groups := map[string]unmeasuredGroup{}
	measured := map[string]bool{}
	for i := range cells {
		c := &cells[i]
		if !c.Ranked {
			continue
		}
		key := work(c)
		if c.Status != result.Skipped {
			measured[key] = true
		}
		if _, seen := groups[key]; !seen {
			order = append(order, key)
			groups[key] = unmeasuredGroup{c.Workload + " " + c.Operation, key, strings.Contains(c.Error, "no time")}
		}
	}
	var out []unmeasuredGroup
	for _, key := range order {
		if !measured[key] {
			out = append(out, groups[key])
		}
	}
	return out
}
