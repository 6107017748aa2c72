package report

import (
	"fmt"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// proofDamage tells what engines notice of files that went bad, as information: nobody promises
// anything there.
func (p *page) proofDamage(all []result.Damage) {
	if len(all) == 0 {
		return
	}
	p.line(paint(p.styles.title, "What engines notice when files go bad"))
	for _, d := range all {
		p.paragraph("· ", p.styles.dim, d.Engine+" · "+damageText(d), p.styles.plain)
	}
	p.blank()
}

// damageText returns "of 40 flipped bits it noticed 31, 2 were read as wrong data, 7 did no harm".
func damageText(d result.Damage) string {
	kind := "flipped bits"
	if d.Kind == result.DamageRead {
		kind = "pages that cannot be read"
	}
	said := []string{fmt.Sprintf("of %s %s it noticed %s", Grouped(d.Tries), kind, Grouped(d.Noticed))}
	for _, one := range []struct {
		n    int
		what string
	}{
		{d.Ended, "ended or hung the process"},
		{d.Missing, "took commits away, unnoticed"},
		{d.Wrong, "were read as wrong data"},
		{harmless(d), "did no harm"},
	} {
		if one.n > 0 {
			said = append(said, Grouped(one.n)+" "+one.what)
		}
	}
	text := strings.Join(said, ", ")
	if d.What != "" {
		text += ": " + d.What
	}
	return text
}

// harmless returns of how many stores nothing came.
func harmless(d result.Damage) int { return d.Tries - d.Noticed - d.Ended - d.Missing - d.Wrong }

// damageMarkdown writes what engines notice of files that went bad as a table in Markdown.
func damageMarkdown(b *strings.Builder, all []result.Damage) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n| engine | what went bad | tried | noticed | took commits away | wrong data | ended or hung | no harm |\n")
	b.WriteString(strings.Repeat("|---", 8) + "|\n")
	for _, d := range all {
		row := []string{d.Engine, map[string]string{result.DamageBit: "one bit",
			result.DamageRead: "a page that cannot be read"}[d.Kind]}
		for _, n := range []int{d.Tries, d.Noticed, d.Missing, d.Wrong, d.Ended, harmless(d)} {
			row = append(row, Grouped(n))
		}
		markdownRow(b, row)
	}
}
