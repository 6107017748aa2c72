package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// proofWork tells how much was tried, and what the stores did meanwhile: a crash during a
// compaction was tried only if there was one.
func (p *page) proofWork(proof *result.Proof) {
	if rows := proofRows(proof.Cells); onServers(rows) {
		p.serverWork(proof, rows)
		return
	}
	points, kills, states, runs := 0, 0, 0, map[string]int{}
	ops, covered := 0, 0
	for _, c := range proof.Cells {
		if c.Fault == result.FaultPower {
			ops, covered = ops+c.Ops, covered+c.Covered
		}
		kills += c.Kills
		states += c.States
		key := c.Engine + " " + c.Requested + " " + c.Fault
		runs[key] = max(runs[key], c.Cuts)
		points += c.Rounds - c.Kills
	}
	all := 0
	for _, n := range runs {
		all += n
	}
	if states == 0 || kills == 0 && !slices.ContainsFunc(proof.Cells,
		func(c result.ProofCell) bool { return c.Did != nil }) {
		return
	}
	text := fmt.Sprintf("%s crash points of %s", Grouped(points), countOf(all, "run"))
	if kills > 0 {
		text += ", and " + countOf(kills, "kill") + ","
	}
	text += fmt.Sprintf(" left %s distinct states", Grouped(states))
	if s := proof.Took.Seconds(); s >= 1 {
		text += fmt.Sprintf(": %s a second were opened and compared", Grouped(int(float64(states)/s)))
	}
	if ops > 0 {
		text += fmt.Sprintf(". Power failed before %d %% of %s operations", 100*covered/ops, Grouped(ops))
	}
	p.paragraph("· ", p.styles.dim, text+".", p.styles.plain)
	if enough := enoughText(proofRows(proof.Cells)); enough != "" {
		p.paragraph("· ", p.styles.dim, enough, p.styles.plain)
	}
	last := ""
	for _, c := range proof.Cells { // of each engine its first promise: the others do much the same
		if did := didText(c.Did); did != "" && c.Engine != last {
			last = c.Engine
			p.paragraph("· ", p.styles.dim, c.Engine+" · "+c.Requested+" did meanwhile: "+did+".", p.styles.dim)
		}
	}
	for _, unseen := range proof.Unseen {
		p.paragraph("· ", p.styles.dim, unseen+".", p.styles.plain)
	}
	p.blank()
}

// mostDid is how many kinds of operations are told of one promise.
const mostDid = 14

// didText returns "412 writes, 97 syncs, create #.sst 9", the kinds of which there are most behind
// writes and syncs.
func didText(did map[string]int) string {
	if len(did) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(did), func(a, b string) int {
		if did[a] != did[b] {
			return did[b] - did[a]
		}
		return strings.Compare(a, b)
	})
	said := []string{countOf(did["write"], "write"), countOf(did["sync"], "sync")}
	for _, name := range names {
		if name != "write" && name != "sync" && len(said) < mostDid {
			said = append(said, fmt.Sprintf("%s %s", name, Grouped(did[name])))
		}
	}
	if more := len(names) - len(said); more > 0 {
		said = append(said, fmt.Sprintf("and %d more kinds", more))
	}
	return strings.Join(said, ", ")
}
