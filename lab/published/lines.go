package published

import (
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// Measured is what came of the parts of a publication.
type Measured struct {
	Runs   map[string]*result.Run // by the part's name; a part that was not run is absent
	Absent map[string]string      // engines that the binary lacks, and how to get them
}

// Lines returns a line for each published figure, in their order.
func (p Publication) Lines(m Measured) []result.Line {
	var lines []result.Line
	for _, r := range rows() {
		if r.Publication != p.Name {
			continue
		}
		c := p.claim(r.Engine + " " + r.Operation)
		l := result.Line{Engine: r.Engine, Operation: r.Operation, Figure: p.figure(r, c), Why: c.why}
		l.Published = m.measurement(p, c.published)
		l.Matched = m.measurement(p, c.matched)
		l.Also = m.measurement(p, c.also)
		if l.Race = m.measurement(p, c.race); l.Race != nil && l.Race.Missing != "" {
			l.Race = nil // its part says why
		}
		if l.Also != nil && (l.Also.Missing != "" || l.Published != nil && l.Published.What == l.Also.What) {
			l.Also = nil
		}
		l.Outcome = outcome(l)
		lines = append(lines, l)
	}
	return lines
}

// claim returns the claim of a row. A row without one is measured nowhere, which a test forbids.
func (p Publication) claim(row string) claim {
	for _, c := range p.claims {
		if c.row == row {
			return c
		}
	}
	return claim{row: row}
}

// figure returns what a row tells, with the ratio to the row that the claim compares it with.
func (p Publication) figure(r Row, c claim) result.Figure {
	f := result.Figure{Value: r.Value, Unit: r.Unit, Baseline: r.Baseline, Against: r.Against, Note: r.Note}
	if c.baseline != "" {
		for _, other := range rows() {
			if other.Publication == p.Name && other.Engine+" "+other.Operation == c.baseline {
				f.Baseline, f.Against = "binary", other.Value
				r.Against = other.Value
			}
		}
	}
	if ratio := r.ratio(); ratio != 0 {
		f.Ratio = &ratio
	}
	return f
}

// measurement compares the contenders of a pair; nil if there is no pair.
func (m Measured) measurement(p Publication, c pair) *result.Measurement {
	if c.part == "" {
		return nil
	}
	out := &result.Measurement{What: c.what, Part: c.part, Operation: c.operation}
	for _, engine := range slices.Sorted(maps.Keys(m.Absent)) {
		if !c.names(engine) {
			continue
		}
		if c.nearest != nil {
			nearest := m.measurement(p, *c.nearest)
			nearest.Hint = engine + " is not in this binary: " + m.Absent[engine]
			return nearest
		}
		out.Missing, out.Hint = engine+" is not in this binary", m.Absent[engine]
		return out
	}
	run := m.Runs[c.part]
	if run == nil {
		out.Missing = "not measured"
		return out
	}
	first, why := find(run, c.operation, c.first)
	if first == nil {
		out.Missing = why
		return out
	}
	out.First = side(*first, c.size)
	if c.second == "" {
		return out
	}
	second, why := find(run, c.operation, c.second)
	if second == nil {
		out.Missing = why
		return out
	}
	other := side(*second, c.size)
	out.Second = &other
	if c.size {
		if out.First.Bytes != nil && other.Bytes != nil {
			r := *other.Bytes / *out.First.Bytes
			out.Ratio = &result.Interval{Lo: r, Mid: r, Hi: r}
		}
		return out
	}
	versus := stats.Compare(second.Samples, first.Samples, 1)
	if out.Rounds = versus.Rounds; versus.Rounds > 0 {
		out.Ratio = &result.Interval{Lo: versus.Lo, Mid: versus.Mid, Hi: versus.Hi}
	}
	return out
}

// names reports whether a contender of the pair is of the engine.
func (c pair) names(engine string) bool {
	for _, contender := range []string{c.first, c.second} {
		name, _, _ := strings.Cut(contender, "@")
		if name, _, _ = strings.Cut(name, "/"); name == engine {
			return true
		}
	}
	return false
}

// find returns the cell of a contender, or why there is none.
func find(run *result.Run, operation, contender string) (*result.Cell, string) {
	c, err := stats.ParseContender(contender)
	if err != nil {
		return nil, err.Error()
	}
	why := contender + " was not measured"
	for i, cell := range run.Cells {
		if cell.Operation != operation || cell.Name() != c.Name {
			continue
		}
		if class := cell.Promise.Delivered; c.Class != "" && class != c.Class && class != "read" {
			continue
		}
		if cell.Status == result.OK && len(cell.Samples) > 0 {
			return &run.Cells[i], ""
		}
		why = contender + ": " + cell.Error
	}
	return nil, why
}

// side returns the figures of a cell: its time, or the bytes that each record takes that was
// loaded.
func side(c result.Cell, size bool) result.Side {
	s := result.Side{Name: c.Name(), Promise: c.Promise, Allocs: c.Allocs}
	if size {
		if n := loaded(c); n > 0 && c.Size != nil && c.Size.Loaded != nil {
			bytes := float64(*c.Size.Loaded) / n
			s.Bytes = &bytes
		}
		s.Allocs = nil
		return s
	}
	ns := stats.Mean(c.Samples)
	for _, m := range c.Metrics {
		if m.Name == "record-ns" && ns.Mid > 0 {
			perRecord := m.Value / ns.Mid
			ns.Lo, ns.Mid, ns.Hi = ns.Lo*perRecord, m.Value, ns.Hi*perRecord
			if s.Allocs != nil {
				allocs := *s.Allocs * perRecord
				s.Allocs = &allocs
			}
		}
	}
	s.NS = &ns
	return s
}

// loaded returns how many records the store of a cell was loaded with, as the parameters of its
// part say.
func loaded(c result.Cell) float64 {
	params, _ := url.ParseQuery(c.Params)
	text := params.Get("n") + params.Get("messages")
	unit := 1.0
	for suffix, n := range map[string]float64{"k": 1e3, "M": 1e6} {
		if digits, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = digits, n
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n * unit
}

const (
	agreeing = 1.25 // ratios that differ by less are called alike
	telling  = 4    // an interval that spans more tells nothing by holding a ratio
	apparent = 1.05 // a ratio nearer to 1 is on no side of it
)

// outcome tells how our ratio in the published setting compares with the published one.
func outcome(l result.Line) string {
	if l.Figure.Ratio == nil || l.Published == nil || l.Published.Ratio == nil || l.Published.Missing != "" ||
		l.Published.Hint != "" {
		return ""
	}
	theirs, ours := *l.Figure.Ratio, *l.Published.Ratio
	a, b := math.Log(theirs), math.Log(ours.Mid)
	switch {
	case l.Published.Rounds >= stats.MinRounds && ours.Lo <= theirs && theirs <= ours.Hi && ours.Hi > telling*ours.Lo:
		return result.Unclear
	case math.Abs(a-b) <= math.Log(agreeing), l.Published.Rounds >= stats.MinRounds && ours.Lo <= theirs &&
		theirs <= ours.Hi:
		return result.Agrees
	case a*b < 0 && math.Abs(b) > math.Log(apparent) && math.Abs(a) > math.Log(apparent):
		return result.Reversed
	case math.Abs(b) < math.Abs(a):
		return result.Less
	}
	return result.More
}
