package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// Published writes published figures with ours beside them: a table for each publication.
func Published(w io.Writer, published *result.Published, o Options) error {
	p := page{options: o, width: o.width(), styles: newStyles(o)}
	run := publishedRun(published)
	p.header(run)
	p.warnings(run)
	for _, publication := range published.Publications {
		p.publication(publication)
	}
	p.paragraph("", p.styles.dim, publishedLegend, p.styles.dim)
	_, err := io.WriteString(w, p.String())
	return err
}

const publishedLegend = "A ratio is how many times as long, or as large, the baseline is: above 1, the first one is faster or smaller. In brackets is the 95 % " +
	"interval. \"As published\" is their setting, as far as it was told; \"same promise\" is the right form of the work with the same promise for both; \"the same\" is a read or a size, which promises nothing. " +
	"Synced survives power loss, flushed kill -9, buffered neither; intact: the store is whole after power loss."

// publishedRun returns what a run and a set of published comparisons have in common.
func publishedRun(p *result.Published) *result.Run {
	return &result.Run{Command: p.Command, Started: p.Started, Took: p.Took, Seed: p.Seed, Interrupted: p.Interrupted,
		Warnings:    p.Warnings,
		Environment: p.Environment, Floor: p.Floor}
}

// publication prints one publication.
func (p *page) publication(publication result.Publication) {
	p.paragraph("", p.styles.plain, fmt.Sprintf("%s · %s: %s", publication.Name, publication.System,
		publication.Summary), p.styles.title)
	p.paragraph("", p.styles.dim, publication.Setup, p.styles.dim)
	for _, part := range publication.Parts {
		p.paragraph("  "+part.Name+": ", p.styles.dim, partText(part), p.styles.dim)
	}
	p.blank()
	heads := []gridColumn{{name: ""}, {name: "published"}, {name: "here, as published"}, {name: "same promise"}}
	rows := make([][]gridCell, len(publication.Lines))
	for i, l := range publication.Lines {
		rows[i] = []gridCell{{text: l.Engine + " " + l.Operation}, {text: publishedRatio(l.Figure)},
			{text: ourRatio(l.Published)}, {text: ourRatio(l.Matched)}}
	}
	widths := gridWidths(heads, rows)
	p.gridLine(heads, widths, []gridCell{{}, {"published", p.styles.heading}, {"here, as published", p.styles.heading},
		{"same promise", p.styles.heading}})
	for i, l := range publication.Lines {
		p.gridLine(heads, widths, rows[i])
		for _, note := range lineNotes(l) {
			p.paragraph("  "+note.label+" ", p.styles.dim, note.text, p.styles.dim)
		}
	}
	p.blank()
}

// partText returns what was run for a part.
func partText(part result.Part) string {
	return strings.Join(part.Work, " ") + " on " + strings.Join(part.Engines, ", ") + partNotes(part)
}

// partNotes returns what there is to know of a part besides its work.
func partNotes(part result.Part) string {
	text := ""
	if part.Storage != "" {
		text += "; modelled disk " + part.Storage
	}
	if part.Race {
		text += "; built with -race"
	}
	if part.Failures > 0 {
		text += fmt.Sprintf("; %s failed", countOf(part.Failures, "measurement"))
	}
	if part.Missing != "" {
		text += "; not run: " + part.Missing
		if part.Hint != "" {
			text += " → " + part.Hint
		}
	}
	return text
}

type lineNote struct{ label, text string }

// lineNotes returns what is told below a line.
func lineNotes(l result.Line) []lineNote {
	notes := []lineNote{{"published:", figureText(l.Figure, l.Engine)}}
	for _, m := range []struct {
		label string
		*result.Measurement
	}{{"here:", l.Published}, {"same promise:", l.Matched}} {
		if m.Measurement != nil {
			notes = append(notes, lineNote{m.label, measurementText(m.Measurement)})
		}
	}
	if l.Race != nil {
		notes = append(notes, lineNote{"with -race:", ourRatio(l.Race) + " " + measurementText(l.Race)})
	}
	if l.Also != nil {
		notes = append(notes, lineNote{"also:", ourRatio(l.Also) + " " + measurementText(l.Also)})
	}
	return append(notes, lineNote{"why:", whyText(l)})
}

// whyText begins with how the ratios compare.
func whyText(l result.Line) string {
	outcome := map[string]string{result.Agrees: "as published: ", result.Less: "less here: ",
		result.More: "more here: ", result.Reversed: "the other way round here: ",
		result.Unclear: "too noisy to tell: "}
	return outcome[l.Outcome] + l.Why
}

// publishedRatio returns the published ratio; of a figure that stands alone, the figure.
func publishedRatio(f result.Figure) string {
	if f.Ratio == nil {
		return publishedValue(f.Value, f.Unit)
	}
	return strconv.FormatFloat(*f.Ratio, 'g', 3, 64) + "x"
}

// publishedValue prints a figure in its unit.
func publishedValue(v float64, unit string) string {
	switch unit {
	case "us":
		return duration(1000 * v)
	case "rel":
		return fmt.Sprintf("%.0f%%", 100*v)
	}
	return significant(v) + " " + unit
}

// figureText prints the figures behind a published ratio.
func figureText(f result.Figure, engine string) string {
	text := engine + " " + publishedValue(f.Value, f.Unit)
	switch {
	case f.Unit == "rel":
		text += " of " + f.Baseline
	case f.Baseline != "":
		text += ", " + f.Baseline + " " + publishedValue(f.Against, f.Unit)
	}
	if f.Note != "" {
		text += "; " + f.Note
	}
	return text
}

// ourRatio returns the ratio of a measurement, of one that stands alone its figure, each with its
// interval.
func ourRatio(m *result.Measurement) string {
	switch {
	case m == nil:
		return "the same"
	case m.Missing != "":
		return "-"
	case m.Second == nil:
		return sideValue(m.First)
	case m.Ratio == nil:
		return "-"
	case m.Ratio.Lo == m.Ratio.Hi:
		return stats.Factor(m.Ratio.Mid) + "x"
	}
	return fmt.Sprintf("%sx [%s–%s]", stats.Factor(m.Ratio.Mid), stats.Factor(m.Ratio.Lo), stats.Factor(m.Ratio.Hi))
}

// measurementText prints the figures behind one of our ratios.
func measurementText(m *result.Measurement) string {
	var parts []string
	if m.What != "" {
		parts = append(parts, m.What)
	}
	if m.Missing != "" {
		parts = append(parts, m.Missing)
	} else {
		sides := []string{sideText(m.First)}
		if m.Second != nil {
			sides = append(sides, sideText(*m.Second))
		}
		parts = append(parts, strings.Join(sides, ", ")+allocations(m))
		if m.Second != nil && m.First.NS != nil && m.Rounds < stats.MinRounds {
			parts = append(parts, fmt.Sprintf("%s only, no interval", countOf(m.Rounds, "round")))
		}
	}
	if m.Hint != "" {
		parts = append(parts, m.Hint)
	}
	return strings.Join(parts, "; ")
}

// sideText prints "bbolt 20.1 µs (flushed, not intact)".
func sideText(s result.Side) string {
	text := s.Name + " " + sideValue(s)
	if s.Promise.Delivered != "read" {
		text += " (" + promiseName(s.Promise) + ")"
	}
	return text
}

func sideValue(s result.Side) string {
	switch {
	case s.Bytes != nil:
		return significant(*s.Bytes) + " B each"
	case s.NS != nil:
		return duration(s.NS.Mid)
	}
	return "-"
}

// allocations prints "; 21 against 52 allocations".
func allocations(m *result.Measurement) string {
	if m.First.Allocs == nil {
		return ""
	}
	text := "; " + count(*m.First.Allocs)
	if m.Second != nil && m.Second.Allocs != nil {
		text += " against " + count(*m.Second.Allocs)
	}
	return text + " allocations"
}
