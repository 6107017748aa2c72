package report

import (
	"fmt"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// htmlProof is what promises survived.
type htmlProof struct {
	Source  string // where it is from
	Said    []string
	Table   htmlTable
	Work    []string // what was covered
	Command string   // which makes such a proof
}

// ofProof fills the page from a proof; alone is without a run.
func (h *htmlPage) ofProof(p *page, proof *result.Proof, source string, alone bool) {
	rows := proofRows(proof.Cells)
	run := &result.Run{Command: proof.Command, Started: proof.Started, Took: proof.Took, Seed: proof.Seed,
		Environment: proof.Environment}
	out := &htmlProof{Source: source, Command: commandOf(run)}
	for _, s := range p.sentences(func(q *page) { q.proofVerdict(rows) }) {
		out.Said = append(out.Said, strings.TrimPrefix(s, "→ "))
	}
	out.Work = p.sentences(func(q *page) { q.proofWork(proof); q.proofDamage(proof.Damage) })
	out.Table = htmlTable{Name: "what commits survive", Head: []htmlHead{{Text: "engine"}, {Text: "promise"}}}
	for _, f := range columnsOf(rows) {
		out.Table.Head = append(out.Table.Head, htmlHead{Text: f.names[long]})
	}
	out.Table.Head = append(out.Table.Head, htmlHead{Text: "distinct states", Right: true},
		htmlHead{Text: "syncs", Right: true}, htmlHead{Text: "writes", Right: true})
	for _, r := range rows {
		out.Table.Rows = append(out.Table.Rows, proofLine(r, columnsOf(rows)))
	}
	h.Proof = out
	if !alone {
		return
	}
	for _, r := range rows { // to filter by
		run.Cells = append(run.Cells, result.Cell{Engine: r.engine, URL: r.url, Promise: r.promise, Ranked: true})
	}
	h.engines(p, run)
	h.Title, h.Headline, h.Command = "assay · proof", "What commits survive", commandOf(run)
	for _, f := range factsOf(run) {
		h.Facts = append(h.Facts, htmlNote{Label: f.label, Text: strings.Join(nonEmpty(f.items), " · ")})
	}
}

// proofLine is a promise under all faults.
func proofLine(r *proofRow, columns []faultColumn) htmlRow {
	line := htmlRow{Engine: r.engine, Promise: r.promise.Label(),
		Cells: []htmlCell{{Text: r.engine}, {Text: claimName(r.promise)}}}
	states := 0
	for _, f := range columns {
		o := r.outcomes[f.key]
		states += o.states()
		line.Cells = append(line.Cells, htmlCell{Text: o.text(long), Class: o.class(), Sort: fmt.Sprint(o.images())})
	}
	all := float64(states)
	line.Cells = append(line.Cells, numeric(&all, func(v float64) string { return Grouped(int(v)) }),
		numeric(r.syncs, count), numeric(r.writes, count))
	return line
}

// class is style for a page.
func (o outcome) class() string {
	switch {
	case o.broken():
		return "bad"
	case o.unsure(), len(o) > 0 && !o.tried():
		return "open"
	case o.claimed():
		return "tie"
	}
	return "dim"
}
