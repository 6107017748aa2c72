package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// Markdown writes the answer of a run, as its last screen shows it: a table for each promise, what
// it says of each workload, and what is not sure.
func Markdown(w io.Writer, run *result.Run, o Options) error {
	var h htmlPage
	p := &page{options: o, width: endless}
	p.options.madeBy(run.Command)
	all := matrices(run)
	p.forms = formsOf(all)
	h.verdicts(p, run, all)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n`%s`\n\n", clean(h.Headline), clean(commandOf(run)))
	for _, v := range h.Verdicts {
		fmt.Fprintf(&b, "- **%s: %s**\n", clean(v.Subject), clean(v.Text))
		for _, n := range v.Notes {
			fmt.Fprintf(&b, "  - %s\n", clean(strings.TrimSpace(n.Label+" "+n.Text)))
		}
	}
	for _, m := range all {
		t := p.htmlMatrix(m)
		fmt.Fprintf(&b, "\n## %s\n\n", clean(t.Title))
		var names []string
		for _, head := range t.Table.Head {
			names = append(names, head.Text)
		}
		markdownRow(&b, names)
		b.WriteString("|---" + strings.Repeat("|---:", len(names)-1) + "|\n")
		for _, r := range t.Table.Rows {
			var texts []string
			for _, c := range r.Cells {
				texts = append(texts, c.Text)
			}
			markdownRow(&b, texts)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", clean(p.matrixLegend(all)))
	for _, n := range h.Doubts {
		text := clean(n.Text)
		if n.Command != "" {
			text += " → `" + clean(n.Command) + "`"
		}
		fmt.Fprintf(&b, "\n%s\n", text)
	}
	b.WriteByte('\n')
	for _, f := range factsOf(run) {
		fmt.Fprintf(&b, "- %s: %s\n", f.label, clean(strings.Join(nonEmpty(f.items), " · ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// matrixLegend says in one line what the marks of matrices mean.
func (p *page) matrixLegend(all []matrix) string {
	return strings.Join(p.sentences(func(q *page) { q.marksLegend(all) }), " ")
}
