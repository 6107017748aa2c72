package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// ProofMarkdown writes what each promise of a proof survived as a table in Markdown.
func ProofMarkdown(w io.Writer, proof *result.Proof) error {
	var b strings.Builder
	header := []string{"engine", "promise"}
	rows := proofRows(proof.Cells)
	columns := columnsOf(rows)
	for _, f := range columns {
		header = append(header, f.names[long])
	}
	markdownRow(&b, append(header, "syncs", "writes"))
	b.WriteString(strings.Repeat("|---", len(header)+2) + "|\n")
	for _, r := range rows {
		line := []string{r.engine, claimName(r.promise)}
		for _, f := range columns {
			line = append(line, r.outcomes[f.key].text(long))
		}
		markdownRow(&b, append(line, number(r.syncs, count), number(r.writes, count)))
	}
	if len(proof.Cells) == 0 {
		b.WriteString("\nNothing was tried yet.\n")
	} else {
		crashes, states := 0, 0
		for _, c := range proof.Cells {
			crashes, states = crashes+c.Images, states+c.States
		}
		if states > 0 {
			fmt.Fprintf(&b, "\n%s crashes and disk faults left %s distinct states.\n", Grouped(crashes),
				Grouped(states))
		}
		countsMarkdown(&b, rows)
		damageMarkdown(&b, proof.Damage)
		e := proof.Environment
		fmt.Fprintf(&b, "\n%s of work on %s; %s.\n", took(proof.Took), strings.TrimSpace(system(e)),
			strings.Join(modules(e.Modules), ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownRow(b *strings.Builder, values []string) {
	for i, v := range values {
		values[i] = strings.ReplaceAll(clean(v), "|", `\|`)
	}
	b.WriteString("| " + strings.Join(values, " | ") + " |\n")
}
