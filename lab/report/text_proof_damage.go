package report

import (
	"fmt"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// proofDamage tells what engines notice of files that went bad, as information: nobody promises anything there.
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
		{d.Tries - d.Noticed - d.Ended - d.Missing - d.Wrong, "did no harm"},
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
