package result

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// units are those of every cell besides the time: measured once for it, and not in each round.
var units = []string{"B/op", "allocs/op", "written-B/op", "writes/op", "syncs/op", "cpu-ns/op", "p50-ns", "p99-ns",
	"rss-B"}

// Samples returns the samples of run in the Go benchmark format, one line for each round of each
// cell that ended well, for benchstat and golang.org/x/perf. Rounds are in order; who leaves the
// race early has fewer. Values that were measured once for a cell stand in its first line alone:
// told in each, they would look like samples that agree.
//
// Only what the machine is stands in the lines "key: value". benchstat makes a table of its own of
// each set of them, so whatever may differ between two runs that are to be compared is a comment.
func Samples(run *Run) []byte {
	var b bytes.Buffer
	for _, s := range machine(run.Environment) {
		fmt.Fprintf(&b, "%s: %s\n", s.key, oneLine(s.value))
	}
	for _, s := range conditions(run) {
		fmt.Fprintf(&b, "# %s: %s\n", oneLine(s.key), oneLine(s.value))
	}
	for _, u := range units {
		fmt.Fprintf(&b, "Unit %s better=lower\n", u)
	}
	b.WriteByte('\n')
	for _, c := range run.Cells {
		if c.Status != OK {
			continue
		}
		name, rest := benchmarkName(c), benchmarkValues(c)
		for _, s := range slices.SortedStableFunc(slices.Values(c.Samples),
			func(a, b Sample) int { return cmp.Compare(a.Round, b.Round) }) {
			fmt.Fprintf(&b, "%s %d %s ns/op%s\n", name, max(1, s.N), number(s.NS), rest)
			rest = ""
		}
	}
	return b.Bytes()
}

type setting struct{ key, value string }

// machine returns what holds for all lines, with keys as the Go benchmark format wants them: lower
// case.
func machine(e Environment) []setting {
	all := []setting{{"goos", e.OS}, {"goarch", e.Arch}, {"cpu", e.CPU}, {"filesystem", e.FileSystem},
		{"device", e.Device},
		{"storage", e.Storage}, {"unranked", e.Unranked}}
	if e.CPUs > 0 {
		all = append(all, setting{"cpus", strconv.Itoa(e.CPUs)})
	}
	return told(all)
}

// conditions returns what else there is to know of a run.
func conditions(run *Run) []setting {
	e := run.Environment
	all := []setting{{"assay", e.Assay}, {"go", e.Go}, {"kernel", e.Kernel}, {"seed", strconv.FormatUint(run.Seed, 10)}}
	if !run.Started.IsZero() {
		all = append(all, setting{"started", run.Started.UTC().Format("2006-01-02T15:04:05Z")})
	}
	for _, m := range slices.Sorted(maps.Keys(e.Modules)) {
		all = append(all, setting{"module " + m, e.Modules[m]})
	}
	return told(all)
}

// told returns the settings that have a value.
func told(all []setting) []setting {
	return slices.DeleteFunc(all, func(s setting) bool { return strings.TrimSpace(s.value) == "" })
}

// benchmarkName returns BenchmarkHook/op=put/engine=bbolt/promise=synced-intact, with form, params,
// workers and rate where there is something to tell. The promise is last: it never ends with a
// hyphen and digits, which the format would take for GOMAXPROCS.
func benchmarkName(c Cell) string {
	var b strings.Builder
	b.WriteString("Benchmark" + title(printable(c.Workload, '_')))
	part := func(key, value string) {
		if value != "" {
			b.WriteString("/" + key + "=" + printable(value, '_'))
		}
	}
	part("op", c.Operation)
	part("engine", c.Engine)
	if c.Name() != c.Engine {
		part("form", c.Form)
	}
	part("params", c.Params)
	if c.Workers > 1 {
		part("workers", strconv.Itoa(c.Workers))
	}
	if c.Rate > 0 {
		part("rate", number(c.Rate))
	}
	part("promise", c.Promise.Label())
	return b.String()
}

// benchmarkValues returns what a line of c tells after its time.
func benchmarkValues(c Cell) string {
	var b strings.Builder
	value := func(v *float64, unit string) {
		if v != nil {
			fmt.Fprintf(&b, " %s %s", number(*v), unit)
		}
	}
	value(c.AllocBytes, "B/op")
	value(c.Allocs, "allocs/op")
	value(c.Written, "written-B/op")
	value(c.Writes, "writes/op")
	value(c.Syncs, "syncs/op")
	value(c.CPU, "cpu-ns/op")
	if c.Latency != nil {
		if p50 := float64(c.Latency.P50); p50 > 0 {
			value(&p50, "p50-ns")
		}
		if p99 := float64(c.Latency.P99); p99 > 0 {
			value(&p99, "p99-ns")
		}
	}
	if c.RSS != nil {
		rss := float64(*c.RSS)
		value(&rss, "rss-B")
	}
	for _, m := range c.Metrics {
		if unit := strings.Join(strings.Fields(m.Name), "-"); unit != "" {
			value(&m.Value, unit)
		}
	}
	return b.String()
}

// Label returns the promise as one word: "synced-intact", "flushed", "read".
func (p Promise) Label() string {
	if p.Intact && p.Delivered != "read" {
		return p.Delivered + "-intact"
	}
	return p.Delivered
}

// number prints f without exponent, and without digits beyond the sixth that counts.
func number(f float64) string {
	decimals := 0
	for limit := 1e5; math.Abs(f) < limit && decimals < 12; limit /= 10 {
		decimals++
	}
	s := strconv.FormatFloat(f, 'f', decimals, 64)
	if decimals > 0 {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// printable replaces with sub what would end a word or a part of a name.
func printable(s string, sub rune) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '/' || r == utf8.RuneError {
			return sub
		}
		return r
	}, s)
}

// oneLine replaces line breaks and other control characters.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}

func title(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return "Unnamed"
	}
	return string(unicode.ToUpper(r)) + s[n:]
}
