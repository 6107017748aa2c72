package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/observe"
)

// tone says how a line is to be read.
type tone string

const (
	plain tone = ""
	title tone = "\x1b[1;36m"
	faint tone = "\x1b[2m"
	bad   tone = "\x1b[33m"
)

// line is a line of the screen, without colours.
type line struct {
	tone tone
	text string
}

// printLines prints lines, each up to the end of the terminal's line where there are colours.
func printLines(w io.Writer, lines []line, color bool) error {
	var b bytes.Buffer
	for _, l := range lines {
		switch {
		case !color:
			fmt.Fprintf(&b, "%s%s\n", l.text, clearing(w))
		case l.tone == plain:
			fmt.Fprintf(&b, "%s%s\n", l.text, clearing(w))
		default:
			fmt.Fprintf(&b, "%s%s\x1b[m%s\n", l.tone, l.text, clearing(w))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// clearing removes what stood on a terminal's line before.
func clearing(w io.Writer) string {
	if isTerminal(w) && !textOnly() {
		return "\x1b[K"
	}
	return ""
}

// screen shows a look. What happened is that since before; after nothing it is all since the store
// was opened.
func screen(now, before glance, width int) (lines []line) {
	if now.Figures == nil {
		lines = outsideLines(now, before)
	} else {
		f, per := interval(now, before)
		lines = append(lines, headLines(f)...)
		lines = append(lines, operationLines(f, per, width)...)
		lines = append(lines, storeLines(f, per)...)
		lines = append(lines, runningLines(f)...)
		lines = append(lines, slowLines(f)...)
	}
	for i := range lines {
		lines[i].text = cutLine(oneRow(lines[i].text), width)
	}
	return lines
}

// noAnswer is the line of a look that failed.
func noAnswer(err error, width int) line {
	return line{bad, cutLine(oneRow("no answer: "+err.Error()), width)}
}

// oneRow returns text without what moves a cursor, as errors and paths may have it.
func oneRow(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// interval returns what happened since before, and in how many seconds.
func interval(now, before glance) (observe.Figures, float64) {
	f := *now.Figures
	if before.Figures != nil {
		f = f.Since(*before.Figures)
	}
	took := cmp.Or(f.Interval, f.At.Sub(f.Opened))
	return f, max(took.Seconds(), 1e-3)
}

func headLines(f observe.Figures) []line {
	state := fmt.Sprintf("open for %s", threeDigits(f.At.Sub(f.Opened)))
	if f.Closed {
		state = "closed"
	}
	span := "since then"
	if f.Interval > 0 {
		span = "in the last " + threeDigits(f.Interval)
	}
	return []line{
		{title, fmt.Sprintf("%s  %s, %s", f.Store.Path, f.Engine, f.Mode)},
		{faint, fmt.Sprintf("%s, pid %d, %s  %s, %s", f.Program, f.PID, state, clock(f.At), span)},
		{},
	}
}

// A column is one of the table of operations.
type column struct {
	name string
	of   func(op observe.Op, per float64) string
}

// columns are those of the table, behind the operation.
var columns = []column{
	{"per s", func(op observe.Op, per float64) string { return rate(op.Count, per) }},
	{"failed", func(op observe.Op, _ float64) string { return failures(op) }},
	{"mean", func(op observe.Op, _ float64) string { return latency(op.Latency.Mean) }},
	{"p50", func(op observe.Op, _ float64) string { return latency(op.Latency.P50) }},
	{"p99", func(op observe.Op, _ float64) string { return latency(op.Latency.P99) }},
	{"p99.9", func(op observe.Op, _ float64) string { return latency(op.Latency.P999) }},
	{"max", func(op observe.Op, _ float64) string { return latency(op.Latency.Max) }},
	{"bytes/s", func(op observe.Op, per float64) string { return bytesOf(float64(op.Bytes) / per) }},
}

// spare are the columns that a narrow terminal goes without, the first first: half a number would
// be another number.
var spare = []string{"p99.9", "p50", "bytes/s", "mean", "failed", "max", "p99"}

// operationLines are a table of the operations, the most frequent first, and below them the
// syncs and the waits.
func operationLines(f observe.Figures, per float64, width int) (lines []line) {
	ops := slices.DeleteFunc(slices.Clone(f.Ops), func(op observe.Op) bool { return op.Count == 0 })
	slices.SortStableFunc(ops, func(a, b observe.Op) int {
		return cmp.Or(cmp.Compare(below(a), below(b)), cmp.Compare(b.Count, a.Count))
	})
	if len(ops) == 0 {
		return []line{{faint, "no operation has ended"}, {}}
	}
	shown := columns
	table := operationTable(ops, per, shown)
	for _, name := range spare {
		if width <= 1 || !slices.ContainsFunc(table, func(row string) bool { return len([]rune(row)) >= width }) {
			break
		}
		shown = slices.DeleteFunc(slices.Clone(shown), func(c column) bool { return c.name == name })
		table = operationTable(ops, per, shown)
	}
	for i, text := range table {
		l := line{text: text}
		switch {
		case i == 0:
			l.tone = faint
		case slices.ContainsFunc(slices.Collect(maps.Keys(ops[i-1].Failed)), isTrouble):
			l.tone = bad
		}
		lines = append(lines, l)
	}
	return append(lines, line{})
}

// below is how far below the operations of the program op stands: syncs first, then waits.
func below(op observe.Op) int {
	switch {
	case isWait(op):
		return 2
	case op.Op == "sync":
		return 1
	}
	return 0
}

// operationTable returns the rows of the table, the heads first.
func operationTable(ops []observe.Op, per float64, columns []column) (rows []string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	widest := len("operation")
	for _, op := range ops {
		widest = max(widest, len(nameOf(op)))
	}
	fmt.Fprintf(w, "%-*s\t", widest, "operation")
	for _, c := range columns {
		fmt.Fprint(w, c.name, "\t")
	}
	for _, op := range ops {
		fmt.Fprintf(w, "\n%-*s\t", widest, nameOf(op))
		for _, c := range columns {
			fmt.Fprint(w, c.of(op, per), "\t")
		}
	}
	fmt.Fprintln(w) // without which the last cell is in no column
	w.Flush()
	for row := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
		rows = append(rows, strings.TrimSpace(row))
	}
	return rows
}

func isWait(op observe.Op) bool { return op.Op == "turn" || op.Op == "lock" }

// nameOf is how op is called in the table.
func nameOf(op observe.Op) string {
	name := strings.TrimSpace(op.Op + " " + op.Class)
	if isWait(op) {
		name = "wait: " + name
	}
	return name
}

// isTrouble reports whether a failure of this kind is more than an answer.
func isTrouble(kind string) bool { return kind != kv.NotFound.Error() && kind != kv.Canceled.Error() }

// failures tells how often op failed, and as what if that is one kind.
func failures(op observe.Op) string {
	var n int64
	for _, one := range op.Failed {
		n += one
	}
	switch kinds := slices.Sorted(maps.Keys(op.Failed)); len(kinds) {
	case 0:
		return ""
	case 1:
		return humanize.Comma(n) + " " + kinds[0]
	}
	return humanize.Comma(n)
}

func storeLines(f observe.Figures, per float64) []line {
	s := f.Store
	if s.Size.Files == 0 && !s.Missing {
		return nil
	}
	lines := []line{{plain, sizeText(s)}}
	if s.Missing {
		lines = append(lines, line{bad, "         its files are gone"})
	}
	if text := countedText(f, per); text != "" {
		lines = append(lines, line{plain, "engine   " + text})
	}
	if f.Interval > 0 {
		lines = append(lines, diskLines(s.Disk, per)...)
	}
	if s.Foreign > 0 {
		lines = append(lines, line{bad, fmt.Sprintf("others   another process changed the store: seen %s, the last time at %s",
			count(s.Foreign, "time"), clock(s.Last))})
	}
	return lines
}

// diskLines tell of d in so many seconds: how often any program had it flushed.
func diskLines(d *observe.Disk, seconds float64) []line {
	if d == nil {
		return nil
	}
	text := fmt.Sprintf("disk     %s: %s flushes/s", d.Name, rate(d.Flushes, seconds))
	if d.Flushes > 0 {
		text += " of " + threeDigits(d.FlushTime/time.Duration(d.Flushes))
	}
	return []line{{plain, text + ", by all programs"}}
}

func sizeText(s observe.Store) string {
	size, files := humanize.Bytes(uint64(s.Size.Allocated)), count(int64(s.Size.Files), "file")
	text := fmt.Sprintf("store    %s on disk in %s", size, files)
	if s.Log > 0 {
		text += ", log " + humanize.Bytes(uint64(s.Log))
	}
	return text
}

// clock is the time of the day.
func clock(t time.Time) string { return t.Local().Format(time.TimeOnly) }

// countedText tells what the engine counts, but for syncs where each of them was told.
func countedText(f observe.Figures, per float64) string {
	all := map[string]int64{}
	for _, one := range f.Counted {
		all[one.Name] = one.Value
	}
	var parts []string
	told := slices.ContainsFunc(f.Ops, func(op observe.Op) bool { return op.Op == "sync" })
	if n := all[kv.Syncs]; n > 0 && !told {
		parts = append(parts, fmt.Sprintf("%s syncs/s of %s", rate(n, per),
			threeDigits(time.Duration(all[kv.SyncTime]/n))))
	}
	for _, name := range []string{kv.Checkpoints, kv.Compactions} {
		if n := all[name]; n > 0 {
			parts = append(parts, count(n, strings.TrimSuffix(name, "s")))
		}
	}
	return strings.Join(parts, ", ")
}

func runningLines(f observe.Figures) (lines []line) {
	for i, r := range f.Running {
		if i == 3 {
			return append(lines, line{faint, fmt.Sprintf("         and %d more", len(f.Running)-i)})
		}
		text := fmt.Sprintf("running  %s for %s", r.Op, threeDigits(r.For))
		if len(r.Where) > 0 {
			text += ", from " + r.Where[0]
		}
		tone := plain
		if i < f.Lasting {
			tone = bad
		}
		lines = append(lines, line{tone, text})
	}
	return lines
}

func slowLines(f observe.Figures) (lines []line) {
	for i := len(f.Slow) - 1; i >= max(len(f.Slow)-5, 0); i-- {
		s := f.Slow[i]
		name := strings.TrimSpace(s.Op + " " + s.Class)
		text := fmt.Sprintf("slow     %s %s took %s", clock(s.Ended), name, threeDigits(s.Took))
		if s.Within != "" {
			text += " in " + s.Within
		}
		if s.Pairs > 0 {
			text += ", " + count(int64(s.Pairs), "pair")
		}
		if s.Err != "" {
			text += ": " + s.Err
		}
		lines = append(lines, line{bad, text})
	}
	return lines
}

// outsideLines show a store that no program tells of.
func outsideLines(v, before glance) []line {
	s := v.Store
	lines := []line{{title, s.Path}, {faint, "from outside, as no program serves its figures  " + clock(s.At)}, {},
		{plain, sizeText(s)}}
	switch {
	case s.Missing:
		lines = append(lines, line{bad, "         its files are gone"})
	case s.Foreign > 0:
		lines = append(lines, line{bad, fmt.Sprintf("changed  %s, the last time at %s", count(s.Foreign, "time"),
			clock(s.Last))})
	case s.Watched:
		lines = append(lines, line{plain, "changed  not since it is watched"})
	}
	if took := s.At.Sub(before.Store.At).Seconds(); took > 0 {
		lines = append(lines, diskLines(s.Disk.Since(before.Store.Disk), took)...)
	}
	for _, h := range v.Holders {
		kind := "shared"
		if h.Write {
			kind = "exclusive"
		}
		text := fmt.Sprintf("locked   %s by %s, pid %d: %s", kind, cmp.Or(h.Program, "a process"), h.PID, h.File)
		lines = append(lines, line{plain, text})
	}
	if len(v.Holders) == 0 {
		lines = append(lines, line{faint, "locked   by nobody that can be seen"})
	}
	return lines
}

// oneLine is a look for where there is no terminal.
func oneLine(now, before glance) string {
	if now.Figures == nil {
		s := now.Store
		size, log := humanize.Bytes(uint64(s.Size.Allocated)), humanize.Bytes(uint64(s.Log))
		return fmt.Sprintf("%s %s, log %s, changed %s, %s", s.Path, size, log, count(s.Foreign, "time"),
			count(int64(len(now.Holders)), "lock"))
	}
	f, per := interval(now, before)
	parts := []string{f.Store.Path}
	for _, op := range f.Ops {
		if op.Count > 0 {
			name := strings.TrimSpace(op.Op + " " + op.Class)
			text := fmt.Sprintf("%s %s/s p99 %s", name, rate(op.Count, per), latency(op.Latency.P99))
			if n := failures(op); n != "" {
				text += " (" + n + ")"
			}
			parts = append(parts, text)
		}
	}
	parts = append(parts, humanize.Bytes(uint64(f.Store.Size.Allocated)), "log "+humanize.Bytes(uint64(f.Store.Log)))
	if f.SlowTotal > 0 {
		parts = append(parts, fmt.Sprintf("%d slow", f.SlowTotal))
	}
	if f.Lasting > 0 {
		parts = append(parts, fmt.Sprintf("%d lasting, %s", f.Lasting, threeDigits(f.Running[0].For)))
	}
	if f.Store.Foreign > 0 {
		parts = append(parts, "changed by others "+count(f.Store.Foreign, "time"))
	}
	return strings.Join(parts, "; ")
}

// rate is how often something happens in a second.
func rate(n int64, seconds float64) string {
	switch r := float64(n) / seconds; {
	case n == 0:
		return "0"
	case r >= 100:
		return humanize.Comma(int64(r + 0.5))
	case r >= 0.1:
		return fmt.Sprintf("%.1f", r)
	default:
		return fmt.Sprintf("%.4f", r)
	}
}

// bytesOf is a number of bytes, nothing if there are none.
func bytesOf(n float64) string {
	if n <= 0 {
		return ""
	}
	return humanize.Bytes(uint64(n))
}

// latency is d with three digits, a dash where none was timed: of quick operations one in 32 is.
func latency(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return threeDigits(d)
}

// threeDigits is d with three digits.
func threeDigits(d time.Duration) string {
	for unit := time.Nanosecond; unit < time.Minute; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Second).String()
}
