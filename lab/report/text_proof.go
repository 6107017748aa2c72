package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// Proof writes the report of a proof for reading in a terminal or a log: what each promise
// survived, what broke it and how to see that again, and how to read the table.
func Proof(w io.Writer, proof *result.Proof, o Options) error {
	p := page{options: o, width: o.width(), styles: newStyles(o)}
	rows := proofRows(proof.Cells)
	run := &result.Run{Command: proof.Command, Started: proof.Started, Took: proof.Took, Seed: proof.Seed,
		Interrupted: proof.Interrupted,
		Warnings:    slices.Concat(untriedWarnings(rows), proof.Warnings), Environment: proof.Environment}
	run.Environment.Unranked = "" // it is no timing that is told
	p.header(run)
	p.warnings(run)
	p.line(paint(p.styles.title, "What commits survive"))
	p.blank()
	if len(rows) == 0 {
		p.line("Nothing was tried.")
	} else {
		p.proofTable(rows)
	}
	p.blank()
	p.proofVerdict(rows)
	p.blank()
	p.proofCounts(rows)
	p.proofWork(proof)
	p.proofDamage(proof.Damage)
	p.brokenPromises(rows)
	p.notPromised(rows)
	p.notProved(rows)
	p.proofLegend(rows)
	_, err := io.WriteString(w, p.String())
	return err
}

// proofRow is one promise of one engine under all faults.
type proofRow struct {
	engine, url   string
	promise       result.Promise
	server        bool
	outcomes      map[string]outcome // by the key of a fault column
	syncs, writes *float64
	firstOfEngine bool
}

// faultColumn is one way to crash, as a reader thinks of it.
type faultColumn struct {
	key   string
	names [3]string // in a long, a middle and a short table
	words string    // in a sentence
	of    func(result.ProofCell) bool
}

var faultColumns = []faultColumn{
	{"kill", [3]string{"kill -9", "kill -9", "kill -9"}, "kill -9",
		func(c result.ProofCell) bool { return c.Fault == result.FaultKill && !c.Server }},
	{"power", [3]string{"power cut", "power cut", "power cut"}, "power cut",
		func(c result.ProofCell) bool { return c.Fault == result.FaultPower && !c.Strict() }},
	{"recovery", [3]string{"cut while recovering", "cut twice", "cut twice"}, "power cut while recovering",
		func(c result.ProofCell) bool { return c.Fault == result.FaultRecovery && !c.Strict() }},
	{"disk", [3]string{"failing, full disk", "bad disk", "bad disk"}, "failing or full disk",
		func(c result.ProofCell) bool { return c.Fault == result.FaultEIO || c.Fault == result.FaultENOSPC }},
	{"strict", [3]string{"strict order", "strict", "strict"}, "power cut in strict order", result.ProofCell.Strict},
	{"client", [3]string{"client killed", "client", "client"}, "kill -9 of a client",
		func(c result.ProofCell) bool { return c.Fault == result.FaultKill && c.Server }},
	{"server", [3]string{"server killed", "server", "server"}, "kill -9 of the server",
		func(c result.ProofCell) bool { return c.Fault == result.FaultServer }},
	{"leader", [3]string{"leader killed", "leader", "leader"}, "kill -9 of the leader",
		func(c result.ProofCell) bool { return c.Fault == result.FaultLeader }},
	{"partition", [3]string{"nodes parted", "parted", "parted"}, "parted nodes",
		func(c result.ProofCell) bool { return c.Fault == result.FaultPartition }},
}

// ofServers are the keys of the columns that proofs of servers have; all others have the rest, and
// power cuts.
var ofServers = []string{"client", "server", "leader", "partition"}

// columnsOf returns the columns that rows may have something in.
func columnsOf(rows []*proofRow) (columns []faultColumn) {
	servers := onServers(rows)
	for _, f := range faultColumns {
		if f.key == "power" || slices.Contains(ofServers, f.key) == servers {
			columns = append(columns, f)
		}
	}
	return columns
}

// onServers reports whether the stores of rows are on servers.
func onServers(rows []*proofRow) bool {
	return slices.ContainsFunc(rows, func(r *proofRow) bool { return r.server })
}

// proofRows returns the rows that cells make, those of an engine one after the other.
func proofRows(cells []result.ProofCell) []*proofRow {
	var rows []*proofRow
	for _, c := range cells {
		r := rowOf(&rows, c)
		for _, f := range faultColumns {
			if f.of(c) {
				r.outcomes[f.key] = append(r.outcomes[f.key], c)
			}
		}
		if r.syncs == nil {
			r.syncs = c.SyncsPerCommit
		}
		if r.writes == nil {
			r.writes = c.WritesPerCommit
		}
	}
	for i, r := range rows {
		r.firstOfEngine = i == 0 || rows[i-1].engine != r.engine
	}
	return rows
}

// rowOf returns the row of a cell, which it inserts behind those of the same engine if there is
// none.
func rowOf(rows *[]*proofRow, c result.ProofCell) *proofRow {
	after := len(*rows)
	for i, r := range *rows {
		if r.engine != c.Engine || r.url != c.URL {
			continue
		}
		if r.promise.Delivered == c.Delivered && r.promise.Intact == c.Intact {
			return r
		}
		after = i + 1
	}
	r := &proofRow{engine: c.Engine, url: c.URL, server: c.Server,
		promise: result.Promise{Delivered: c.Delivered, Intact: c.Intact}, outcomes: map[string]outcome{}}
	*rows = slices.Insert(*rows, after, r)
	return r
}

// name returns "bbolt · synced".
func (r *proofRow) name() string { return r.engine + " · " + claimName(r.promise) }

// claimed reports whether the row promises anything under the faults that were tried.
func (r *proofRow) claimed() bool { return r.any(outcome.claimed) }

func (r *proofRow) any(is func(outcome) bool) bool {
	return slices.ContainsFunc(faultColumns, func(f faultColumn) bool { return is(r.outcomes[f.key]) })
}

// claimName says in short what is promised: "synced", "flushed, intact", "flushed, may break".
func claimName(p result.Promise) string {
	switch {
	case !p.Intact:
		return p.Delivered + ", may break"
	case p.Delivered == "synced":
		return p.Delivered
	}
	return p.Delivered + ", intact"
}

// proofVerdict prints in a sentence what the proof found.
func (p *page) proofVerdict(rows []*proofRow) {
	var broken, unsure, held []string
	promised, crashes, states := 0, 0, 0
	for _, r := range rows {
		for _, f := range faultColumns {
			o := r.outcomes[f.key]
			crashes += o.images()
			states += o.states()
			if o.claimed() {
				promised += o.images()
			}
		}
		switch {
		case !r.claimed():
			continue
		case r.any(outcome.broken):
			broken = append(broken, r.name())
		case r.any(outcome.unsure):
			unsure = append(unsure, r.name())
		default:
			held = append(held, r.name())
		}
	}
	all := len(broken) + len(unsure) + len(held)
	var rest []string
	if len(held) > 0 {
		rest = append(rest, fmt.Sprintf("%s held in all crashes that put %s to the test",
			countOf(len(held), "promise"), itOrThem(len(held))))
	}
	if len(unsure) > 0 {
		rest = append(rest, fmt.Sprintf("%s could not be tried to the end", countOf(len(unsure), "promise")))
	}
	what := "crashes and disk faults"
	if onServers(rows) {
		what = "histories amid faults"
	}
	tail := fmt.Sprintf("; %s %s in all.", Grouped(crashes), what)
	if promised < crashes {
		tail = fmt.Sprintf("; %s of %s %s put a promise to the test.", Grouped(promised), Grouped(crashes), what)
	}
	if states > 0 {
		tail += fmt.Sprintf(" They left %s distinct states.", Grouped(states))
	}
	tail += notTried(rows)
	switch {
	case len(broken) > 0:
		text := fmt.Sprintf("%d of %s broken: %s. ", len(broken), countOf(all, "promise"), strings.Join(broken, ", "))
		p.paragraph("✗ ", p.styles.bad, text+strings.TrimPrefix(strings.Join(rest, "; ")+tail, "; "), p.styles.bad)
	case all > 0 && len(held) == 0:
		p.paragraph("? ", p.styles.warn, "Nothing was proved: "+strings.Join(rest, "; ")+tail, p.styles.plain)
	case all > 0:
		p.paragraph("→ ", p.styles.best, "No promise was broken: "+strings.Join(rest, "; ")+tail, p.styles.plain)
	default:
		p.paragraph("→ ", p.styles.dim, "Nothing was promised that could be broken.", p.styles.plain)
	}
}

// notTried names the faults that were not asked for, in a sentence of its own. Those that could not
// be tried stand among the warnings.
func notTried(rows []*proofRow) string {
	var names []string
	for _, f := range columnsOf(rows) {
		asked := slices.ContainsFunc(rows, func(r *proofRow) bool { return len(r.outcomes[f.key]) > 0 })
		if !asked && f.key != "strict" {
			names = append(names, f.words)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " Not tried: " + strings.Join(names, ", ") + "."
}

func itOrThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}
