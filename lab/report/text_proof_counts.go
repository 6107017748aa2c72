package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/assaydb/assay/lab/result"
)

// tried is how much was tried of one promise.
type tried struct {
	states   int           // distinct ones
	promised int           // of those, that were to break the promise
	worked   time.Duration // by all that worked on it side by side
	ops      int           // of the runs that were crashed where something is promised
	covered  int           // of those, how many they were crashed before
}

func (r *proofRow) tried() (n tried) {
	for _, f := range faultColumns {
		for _, c := range r.outcomes[f.key] {
			n.states += c.States
			n.worked += c.Worked
			if c.Keeps.Claimed || c.Whole.Claimed {
				n.promised += c.States
				n.ops, n.covered = n.ops+c.Ops, n.covered+c.Covered
			}
		}
	}
	return n
}

// counts returns what a table says of a promise.
func (r *proofRow) counts() []string {
	n, second, covered, reached := r.tried(), "", "", "✓"
	if s := n.worked.Seconds(); s > 0 {
		second = fmt.Sprintf("%.1f", float64(n.states)/s)
	}
	if n.ops > 0 {
		covered = share(n.covered, n.ops)
	}
	switch missing := result.EnoughStates - n.promised; {
	case !r.claimed():
		reached = "-"
	case missing > 0:
		reached = Grouped(missing) + " short"
	}
	return []string{Grouped(n.promised), Grouped(n.states), second, covered, reached}
}

// countNames are the columns of a table of counts.
var countNames = []string{"promised", "all", "a second", "covered", Grouped(result.EnoughStates)}

// proofCounts prints of each promise how much was tried.
func (p *page) proofCounts(rows []*proofRow) {
	if notCounted(rows) {
		return
	}
	p.line(paint(p.styles.title, "How much was tried"))
	p.blank()
	heads := []gridColumn{{name: "engine, promise"}}
	for _, name := range countNames {
		heads = append(heads, gridColumn{name, true})
	}
	var lines [][]gridCell
	for _, r := range rows {
		if r.firstOfEngine {
			lines = append(lines, []gridCell{{text: clip(clean(r.engine), 24)}})
		}
		line := []gridCell{{text: " " + claimName(r.promise)}}
		for _, text := range r.counts() {
			line = append(line, gridCell{text: text})
		}
		lines = append(lines, line)
	}
	p.grid(heads, lines, true)
	p.blank()
	p.paragraph("", p.styles.dim, "Promised: distinct states that put the promise to the test; all: with those that it does not speak of. "+
		"A second: states that one worker opened and compared in a second; several work side by side. "+
		"Covered: the part of the recorded operations before which a crash put a promise to the test.", p.styles.dim)
	p.blank()
}

// countsMarkdown writes the same as a table in Markdown.
func countsMarkdown(b *strings.Builder, rows []*proofRow) {
	if notCounted(rows) {
		return
	}
	b.WriteByte('\n')
	markdownRow(b, append([]string{"engine", "promise"}, countNames...))
	b.WriteString(strings.Repeat("|---", len(countNames)+2) + "|\n")
	for _, r := range rows {
		markdownRow(b, append([]string{r.engine, claimName(r.promise)}, r.counts()...))
	}
}

// notCounted reports whether a proof does not tell its states.
func notCounted(rows []*proofRow) bool {
	if onServers(rows) {
		return true
	}
	for _, r := range rows {
		if r.tried().states > 0 {
			return false
		}
	}
	return true
}

// enoughText says of how many promises enough was tried, and names the others; "" if nothing is
// promised.
func enoughText(rows []*proofRow) string {
	all, promised := 0, 0
	var short []string
	for _, r := range rows {
		n := r.tried()
		if !r.claimed() {
			continue
		}
		all++
		promised += n.promised
		if n.promised < result.EnoughStates {
			short = append(short, fmt.Sprintf("%s (%s)", r.name(), Grouped(n.promised)))
		}
	}
	if all == 0 {
		return ""
	}
	text := fmt.Sprintf("Counted promise by promise, %s states put one to the test. With %s or more of its own: %d of %s",
		Grouped(promised), Grouped(result.EnoughStates), all-len(short), countOf(all, "promise"))
	if len(short) > 0 {
		text += "; with fewer: " + strings.Join(short, ", ")
	}
	return text + "."
}
