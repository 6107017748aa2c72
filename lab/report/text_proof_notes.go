package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/result"
)

// brokenPromises prints each promise that did not hold: what happened, by which rule, what the
// engine said, and the command that shows it again.
func (p *page) brokenPromises(rows []*proofRow) {
	titled := false
	for _, r := range rows {
		found := r.findings(func(c result.ProofCell) (broke, lost bool) { return c.Whole.Broken(), c.Keeps.Broken() })
		titled = p.findings("Broken promises", titled, "✗ ", p.styles.bad, r, found)
	}
	if titled {
		if slices.ContainsFunc(rows, (*proofRow).shownAgain) {
			p.paragraph("", p.styles.dim, "Each of these folders holds the store as the crash left it, and story.txt: the operations before the crash, the files, what was expected and what was found.", p.styles.dim)
		}
		p.blank()
	}
}

// shownAgain reports whether a state that broke a promise of the row was kept.
func (r *proofRow) shownAgain() bool {
	return r.any(func(o outcome) bool {
		return o.any(func(c result.ProofCell) bool {
			return strings.Contains(c.Keeps.Command+c.Whole.Command, " --again ") && (c.Keeps.Broken() || c.Whole.Broken())
		})
	})
}

// notPromised prints what happened though nothing else was promised, the worst of each fault. What
// happened under the strict rule is left out where it happened without as well.
func (p *page) notPromised(rows []*proofRow) {
	titled := false
	for _, r := range rows {
		found := r.findings(func(c result.ProofCell) (broke, lost bool) {
			if c.Keeps.Broken() || c.Whole.Broken() { // it stands among the broken promises
				return false, false
			}
			return c.Whole.Verdict == result.Disproved, c.Keeps.Verdict == result.Disproved
		})
		all := slices.Clone(found)
		found = slices.DeleteFunc(found, func(f columnFinding) bool {
			return slices.ContainsFunc(all, func(o columnFinding) bool {
				worse := o.fault.key == f.fault.key && o.what == brokeWord && f.what == lostWord
				return worse || f.fault.key == "strict" && o.fault.key != "strict" && o.what == f.what
			})
		})
		titled = p.findings("What is not promised, and did not hold", titled, "· ", p.styles.dim, r, found)
	}
	if titled {
		p.blank()
	}
}

// columnFinding is a property that did not hold under a fault, by one rule or several.
type columnFinding struct {
	fault faultColumn
	what  string
	rules []finding
}

const (
	brokeWord = "broke"
	lostWord  = "lost acknowledged commits"
)

// findings returns what is in the cells of a row that pick says of.
func (r *proofRow) findings(pick func(result.ProofCell) (broke, lost bool)) []columnFinding {
	var found []columnFinding
	for _, f := range faultColumns {
		broke, lost := columnFinding{f, brokeWord, nil}, columnFinding{f, lostWord, nil}
		for _, c := range r.outcomes[f.key] {
			isBroke, isLost := pick(c)
			if isBroke {
				broke.rules = append(broke.rules, finding{rule: c.Rule, failed: c.Whole.Failed, said: c.What,
					command: c.Whole.Command})
			}
			if isLost {
				lost.rules = append(lost.rules, finding{rule: c.Rule, failed: c.Keeps.Failed, most: c.LostMax,
					age: c.LostAge, command: c.Keeps.Command})
			}
		}
		for _, one := range []columnFinding{broke, lost} {
			if len(one.rules) > 0 {
				found = append(found, one)
			}
		}
	}
	return found
}

// finding is one property that did not hold by one rule.
type finding struct {
	rule    string
	failed  int
	most    int64
	age     time.Duration
	said    string
	command string
}

// findings prints what was found in a row, under a title if that was not printed before.
func (p *page) findings(title string, titled bool, mark string, style lipgloss.Style, r *proofRow,
	found []columnFinding) bool {
	for _, f := range found {
		if !titled {
			p.line(paint(p.styles.title, title))
			titled = true
		}
		p.paragraph(mark, style, r.name()+" · "+f.fault.words+": "+f.what+
			summed(f.rules, r.outcomes[f.fault.key].images()), p.styles.plain)
		p.command(f.rules[0].command)
	}
	return titled
}

// summed tells of findings of one kind: "in 37 of 240 (ordered/sectors 30, ordered/pages 7), at
// most 512, ...".
func summed(all []finding, images int) string {
	failed := 0
	var most int64
	var age time.Duration
	var rules, said []string
	for _, f := range all {
		failed += f.failed
		most, age = max(most, f.most), max(age, f.age)
		if f.rule != "" {
			rules = append(rules, fmt.Sprintf("%s %s", f.rule, Grouped(f.failed)))
		}
		if s := oneLine(f.said); s != "" && !slices.Contains(said, s) && len(said) < 2 {
			said = append(said, s)
		}
	}
	text := fmt.Sprintf(" in %s of %s crashes", Grouped(failed), Grouped(images))
	if len(rules) > 0 {
		text += " (" + strings.Join(rules, ", ") + ")"
	}
	if most > 0 {
		text += fmt.Sprintf(", at most %s at once", Grouped(int(most)))
	}
	if age > 0 {
		text += ", none older than " + duration(float64(age))
	}
	if len(said) > 0 {
		text += ": " + strings.Join(said, "; ")
	}
	return text
}

// command prints a command to type.
func (p *page) command(command string) {
	if command == "" {
		return
	}
	for i, l := range shellLines(oneLine(clean(command)), p.width-6, p.width-8) {
		p.line("    " + strings.Repeat("  ", min(i, 1)) + paint(p.styles.dim, l))
	}
}

// notProved prints why promises could not be tried, those with the same reason together.
func (p *page) notProved(rows []*proofRow) {
	all := unproved(rows)
	if len(all) == 0 {
		return
	}
	p.line(paint(p.styles.title, "Not proved"))
	for _, u := range all {
		text := strings.Join(u.faults, ", ") + " of " + strings.Join(u.promises, ", ")
		if len(rows) > 1 && len(u.promises) == len(rows) {
			text = strings.Join(u.faults, ", ") + " of all promises"
		}
		p.paragraph("? ", p.styles.warn, text+": "+u.why, p.styles.plain)
	}
	p.blank()
}

// unprovedReason is why some faults were not tried on some promises.
type unprovedReason struct {
	why              string
	faults, promises []string
}

// unproved returns the reasons for which something was not tried to the end; promises with the same
// reason stand together if it bears on the same faults.
func unproved(rows []*proofRow) []*unprovedReason {
	var all []*unprovedReason
	for _, r := range rows {
		for _, one := range r.unproved() {
			i := slices.IndexFunc(all, func(u *unprovedReason) bool {
				return u.why == one.why &&
					slices.Equal(u.faults, one.faults)
			})
			if i < 0 {
				all = append(all, one)
			} else {
				all[i].promises = append(all[i].promises, r.name())
			}
		}
	}
	return all
}

// unproved returns the reasons for which something of one promise was not tried to the end.
func (r *proofRow) unproved() []*unprovedReason {
	var all []*unprovedReason
	for _, f := range faultColumns {
		for _, c := range r.outcomes[f.key] {
			why := whyUnproved(c)
			if why == "" {
				continue
			}
			i := slices.IndexFunc(all, func(u *unprovedReason) bool { return u.why == why })
			if i < 0 {
				i = len(all)
				all = append(all, &unprovedReason{why: why, promises: []string{r.name()}})
			}
			if !slices.Contains(all[i].faults, f.words) {
				all[i].faults = append(all[i].faults, f.words)
			}
		}
	}
	return all
}

// untriedWarnings tells, before all else, of faults that could be tried on no promise at all.
func untriedWarnings(rows []*proofRow) []result.Warning {
	var warnings []result.Warning
	for _, u := range unproved(rows) {
		var none []string
		for _, f := range faultColumns {
			tried := slices.ContainsFunc(rows, func(r *proofRow) bool { return r.outcomes[f.key].images() > 0 })
			if !tried && slices.Contains(u.faults, f.words) {
				none = append(none, f.words)
			}
		}
		w := result.Warning{Text: "not tried at all: " + strings.Join(none, ", ") + ": " + u.why}
		if len(none) > 0 && !slices.Contains(warnings, w) {
			warnings = append(warnings, w)
		}
	}
	return warnings
}

// whyUnproved returns why a property was not tried to the end, "" if both were.
func whyUnproved(c result.ProofCell) string {
	for _, f := range []result.Finding{c.Keeps, c.Whole} {
		if f.Verdict == result.Unproved && (f.Claimed || !c.Keeps.Claimed && !c.Whole.Claimed) {
			if f.Why == "" {
				return "no reason was given"
			}
			return oneLine(f.Why)
		}
	}
	return ""
}

// proofLegend explains the table, and only what stands in it.
func (p *page) proofLegend(rows []*proofRow) {
	if len(rows) == 0 {
		return
	}
	p.line(paint(p.styles.title, "Understanding this report"))
	entry := func(term, text string) { p.paragraph(padRight(term, 12), p.styles.dim, text, p.styles.dim) }
	has := func(is func(outcome) bool) bool {
		return slices.ContainsFunc(rows, func(r *proofRow) bool { return r.any(is) })
	}
	if fewest, most := held(rows); most > 0 {
		text := fmt.Sprintf("promised, and held in each of so many crashed stores. "+
			"Stores of one run are alike, so that only runs are independent trials: 0 failures in %s runs mean a rate below %s, with 95 %% confidence", Grouped(fewest), bound(fewest))
		if most > fewest {
			text += fmt.Sprintf("; in %s runs, below %s", Grouped(most), bound(most))
		}
		entry("✓", text+".")
	}
	if has(func(o outcome) bool {
		lost, _ := o.lost()
		return lost > 0 && o.claimed() && !o.broken() && !o.keepsClaimed()
	}) {
		entry("tail", "the latest commits were lost, and the store stayed whole, as is said of it.")
	}
	if has(outcome.broken) {
		entry("✗", "a promise did not hold, in so many crashes.")
	}
	if has(func(o outcome) bool { return o.tried() && !o.claimed() }) {
		entry("lost broke", "not promised, and did not hold in so many crashes: commits were missing, or the store did not open, failed its check or held parts of transactions. held: not promised, and held.")
	}
	if onServers(rows) {
		p.serverLegend(entry, rows)
		return
	}
	entry("promise", "synced survives power loss; flushed survives kill -9; buffered survives neither. Intact: a power loss may take the latest commits, and leaves the store whole; may break: it may not.")
	if slices.ContainsFunc(rows, func(r *proofRow) bool {
		return r.outcomes["power"] != nil ||
			r.outcomes["recovery"] != nil
	}) {
		entry("power cut", "directory entries are kept in order, as ext4 and xfs do; of what was not synced there remains nothing, a part that ends in the midst of a write, any pages or sectors, or everything. Cut twice: power fails again while the store is opened.")
	}
	if has(func(o outcome) bool { return o.any(result.ProofCell.Strict) }) {
		entry("strict", "the same where a file's name is durable only once its folder was synced, as POSIX has it: how portable the engine is, not what it loses on Linux.")
	}
	untried := "btrfs, f2fs, "
	if has(func(o outcome) bool { return o.any(result.ProofCell.PerFile) }) {
		entry("per file", "of the power cuts one in some: the sync of a file keeps its own name and no other, as its log does on btrfs and f2fs.")
		untried = ""
	}
	entry("not tried", "disks that lie about syncs, sectors torn within; more than two processes on one store; what is mapped into memory between the moments of a kill; write calls amid an msync, an O_SYNC write or a sync by io_uring; sync and syncfs as syncs; fallocate beyond allocating, clearing and punching holes; what only hours of work or gigabytes bring up; code that asks for the type of the file system; "+
		"file systems with rules of their own: "+untried+"APFS, NTFS, network file systems.")
	if slices.ContainsFunc(rows, func(r *proofRow) bool { return r.syncs != nil }) {
		entry("syncs", "and writes are system calls per commit, counted by the file system below the engine.")
	}
}

// held returns the smallest and the largest number of independent runs that a promise held in, 0 if
// none did.
func held(rows []*proofRow) (fewest, most int) {
	for _, r := range rows {
		for _, f := range faultColumns {
			o := r.outcomes[f.key]
			n := o.cuts()
			if n == 0 || !o.claimed() || o.broken() || o.unsure() {
				continue
			}
			if fewest == 0 || n < fewest {
				fewest = n
			}
			most = max(most, n)
		}
	}
	return fewest, most
}
