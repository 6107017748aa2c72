package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// serverWork tells of each promise of a server what its clients did, and what was inflicted.
func (p *page) serverWork(proof *result.Proof, rows []*proofRow) {
	for _, r := range rows {
		var began, acked, doubt int64
		var suffered []string
		for _, f := range columnsOf(rows) {
			for _, c := range r.outcomes[f.key] {
				began, acked, doubt = began+c.Transactions, acked+c.Acked, doubt+c.InDoubt
				if text := sufferedText(f, c); text != "" {
					suffered = append(suffered, text)
				}
			}
		}
		if began == 0 {
			continue
		}
		p.paragraph("· ", p.styles.dim, fmt.Sprintf("%s: %s transactions of clients, %s acknowledged, %s in doubt or cut off. %s.", r.name(),
			Grouped(int(began)), Grouped(int(acked)), Grouped(int(doubt)), strings.Join(suffered, "; ")),
			p.styles.plain)
	}
	for _, unseen := range proof.Unseen {
		p.paragraph("· ", p.styles.dim, unseen+".", p.styles.plain)
	}
	p.blank()
}

// sufferedText says how often a fault was inflicted: "kill -9 of a client: 9 in 3 rounds".
func sufferedText(f faultColumn, c result.ProofCell) string {
	switch {
	case c.Rounds == 0:
		return ""
	case c.Fault == result.FaultPower:
		return fmt.Sprintf("%s: %s of %s", f.words, countOf(c.States, "distinct state"), countOf(c.Rounds, "recording"))
	case c.Kills == 0:
		return fmt.Sprintf("%s: %s", f.words, countOf(c.Rounds, "round"))
	}
	return fmt.Sprintf("%s: %s in %s", f.words, Grouped(c.Kills), countOf(c.Rounds, "round"))
}

// serverLegend explains a proof of servers.
func (p *page) serverLegend(entry func(term, text string), rows []*proofRow) {
	entry("promise", "synced survives power loss of the server; flushed survives kill -9 of a client, and a crash of the server may take its latest commits and leaves the store whole.")
	entry("kept", "of each round all is read in the end: what was acknowledged is there, what was undone is not, and one order of whole transactions explains all that clients saw, each between its beginning and its end. What is in doubt may be there or not. So no read was stale.")
	if slices.ContainsFunc(rows, func(r *proofRow) bool { return r.outcomes["power"] != nil }) {
		entry("power cut", "the server's folder is on a file system that records what is done to it; servers are started on states that a power cut may leave, of what was not synced nothing, a part, any pages or sectors, or everything, and what is there is held against what had been acknowledged before the cut.")
	}
	entry("not tried", "servers on other machines, replicas, users and TLS; clocks that differ; networks that lose, delay or change what they carry; disks that fail, fill up or lie; power that fails while a server recovers; what only hours of work or gigabytes bring up.")
}
