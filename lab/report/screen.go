package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// screen prints the answer of a run, made to be the last that is seen of it: a matrix of the
// strongest promise and of as many others as there is room for, what is not sure, and what to type
// next.
func (p *page) screen(run *result.Run) {
	all := slices.DeleteFunc(matrices(run), func(m matrix) bool {
		return p.options.Class != "" &&
			m.promise.Delivered != p.options.Class
	})
	if len(all) == 0 {
		p.nothing(run)
		return
	}
	for shown := len(all); ; shown-- {
		lines := p.screenLines(run, all, shown, airy)
		if shown > 1 && p.options.Class == "" && (!p.options.fits(shown, len(lines)) || !all[shown-1].rivals()) {
			continue
		}
		for d := snug; shown == 1 && d <= dense && !p.options.fits(shown, len(lines)); d++ {
			lines = p.screenLines(run, all, shown, d)
		}
		p.lines = append(p.lines, lines...)
		return
	}
}

// most is how many matrices are shown where the page has no end.
const most = 2

// fits reports whether the last screen may have so many matrices and lines; one line is left to the
// shell.
func (o Options) fits(matrices, lines int) bool {
	if o.Height <= 0 {
		return matrices <= most
	}
	return lines < o.Height
}

// density says what a screen leaves out for want of room.
type density int

const (
	airy  density = iota // nothing
	snug                 // what else could be measured, and which operations of a default run are open
	tight                // what else could be measured, and of several workloads which engine each is for
	dense                // that, and most of what it says of the matrices that it does not show
)

// screenLines returns the screen with some of all matrices.
func (p *page) screenLines(run *result.Run, all []matrix, shown int, room density) []string {
	q := page{options: p.options, width: p.width, styles: p.styles, forms: formsOf(all[:shown])}
	for _, m := range all[:shown] {
		q.matrix(run, m)
	}
	q.marksLegend(all[:shown])
	q.unprovedAmong(all[:shown])
	q.openLine(run, all[:shown], room)
	if p.options.Class == "" {
		q.picks(run, all[0], room)
	}
	q.failures(run)
	q.additions(run)
	q.notMeasured(run)
	q.doubts(run)
	weaker := ""
	var more []string
	if room < snug && p.options.Class == "" && len(all) == 1 && all[0].promise.Delivered != "read" {
		more = append(more, p.options.program+" run --durability all (other promises)")
	}
	for _, m := range all[shown:] {
		if room < dense {
			q.otherPromise(m)
		} else if class := m.promise.Delivered; !strings.Contains(weaker, class) {
			weaker += "--durability " + class + " · "
		}
	}
	q.list("More: ", p.styles.dim, append([]string{p.again(weaker + "--all (tables, what was skipped)"),
		"--explain (words)"}, more...), p.styles.dim)
	return q.lines
}

// again returns the command that shows the run with other options.
func (p *page) again(options string) string {
	command := p.options.Command
	if command == "" {
		command = p.options.program + " report"
	}
	return command + " " + options
}

// nothing says why there is no matrix.
func (p *page) nothing(run *result.Run) {
	if all := matrices(run); len(all) > 0 { // of other promises than the one that was asked for
		var classes []string
		for _, m := range all {
			if class := m.promise.Delivered; !slices.Contains(classes, class) {
				classes = append(classes, class)
			}
		}
		p.toType("", "Nothing was measured at "+p.options.Class+", only at "+strings.Join(classes, ", "),
			p.options.program+" run --durability "+p.options.Class)
		return
	}
	p.line("Nothing was measured.")
	var rows []row
	for i := range run.Cells {
		rows = append(rows, row{cell: &run.Cells[i]})
	}
	p.notes(rows)
}

// failures says which engines failed at what.
func (p *page) failures(run *result.Run) {
	var rows []row
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Status == result.Failed {
			rows = append(rows, row{cell: c})
		}
	}
	p.noteLines(tableNotes(rows))
}

// marksLegend explains the marks that occur.
func (p *page) marksLegend(all []matrix) {
	seen := map[standing]bool{}
	for _, m := range all {
		for _, r := range m.races {
			for _, e := range m.engines {
				seen[r.standing(r.of(e))] = true
			}
		}
	}
	ratio := "2.1 times as long"
	if p.width >= wide {
		ratio = "2.1 [1.9–2.3] times as long, 95 % interval"
	}
	var items []string
	for _, item := range []struct {
		s    standing
		text string
	}{{fastest, "● fastest, 95 % sure"}, {leads, "○ leads, not sure"}, {slower, ratio}, {behind, "» far behind"},
		{equivalent, fmt.Sprintf("= equal within %.0f %%", 100*stats.Margin)}, {open, "~ open"}, {skipped, "- skipped"}} {
		if seen[item.s] {
			items = append(items, item.text)
		}
	}
	for _, form := range p.forms {
		items = append(items, "/"+p.suffix(form)+" "+cmp.Or(formMeanings[form], "in the form "+form))
	}
	if len(items) > 0 {
		p.list("", p.styles.plain, items, p.styles.dim)
	}
}

// formMeanings are short ones of the forms of the workloads that come with assay.
var formMeanings = map[string]string{"sql": "natively in SQL", "zstd": "in compressed blocks",
	"state": "through stores/state"}

// unprovedAmong names the engines that nobody proved where others of the same matrix are.
func (p *page) unprovedAmong(all []matrix) {
	var names []string
	for _, m := range all {
		var proved, not []string
		for _, e := range m.engines {
			for _, r := range m.races {
				if x := r.of(e); !r.read && x != nil && x.cell.Promise.Proof == result.Proved {
					proved = append(proved, e)
					break
				} else if !r.read && x != nil {
					not = append(not, e)
					break
				}
			}
		}
		for _, e := range not {
			if len(proved) > 0 && !slices.Contains(names, e) {
				names = append(names, e)
			}
		}
	}
	if len(names) > 0 {
		p.toType("Unproved: ", strings.Join(names, ", "), p.options.program+" prove --engines "+
			quote(strings.Join(engineSpecs(p.options.flags, names), ",")))
	}
}

// openLine tells how many comparisons are open, and what to type to close them.
func (p *page) openLine(run *result.Run, shown []matrix, room density) {
	total, undecided := 0, 0
	for _, m := range shown {
		t := m.tally()
		total, undecided = total+t.All, undecided+t.Open
	}
	switch {
	case total == 0:
	case undecided == 0:
		p.paragraph("Open: ", p.styles.dim, "nothing, "+countOf(total, "comparison")+" decided", p.styles.plain)
	default:
		command, near := closing(run, shown)
		if room == snug && len(run.Command) == 2 { // all that it measured is as short to type
			takes, _ := stats.Needs(run)
			command = measureCommand(run, nil, nil, "", budgetOf(takes))
		}
		text := fmt.Sprintf("%d of %s", undecided, countOf(total, "comparison"))
		switch {
		case near >= undecided:
			text += ", too near to a limit for any budget"
			p.paragraph("Open: ", p.styles.warn, text, p.styles.plain)
			return
		case near > 0:
			text += fmt.Sprintf(", %d too near to a limit for any budget", near)
		}
		p.toType("Open: ", text, command)
	}
}

// notMeasured names the operations of which there is no figure at all.
func (p *page) notMeasured(run *result.Run) {
	missing := unmeasured(run.Cells)
	if len(missing) == 0 {
		return
	}
	var names, works []string
	late := true
	for _, g := range missing {
		names = append(names, g.name)
		works = append(works, g.work)
		late = late && g.late
	}
	if !late {
		p.paragraph("Not measured: ", p.styles.warn, some(names)+" → "+p.again("--all")+" says why", p.styles.plain)
		return
	}
	p.toType("Not measured: ", some(names), measureCommand(run, works, nil, "", budgetFor(run, len(works))))
}

// some lists names; of many it tells the number of the rest.
func some(names []string) string {
	const most = 4
	if n := len(names); n > most+1 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", n-most))
	}
	return strings.Join(names, ", ")
}

// doubts prints what a reader must know to trust the numbers.
func (p *page) doubts(run *result.Run) {
	for _, w := range warnings(run) {
		p.warning(w)
	}
}

// otherPromise tells of a promise whose matrix is not shown.
func (p *page) otherPromise(m matrix) {
	text := "only " + strings.Join(m.engines, ", ")
	if engine, first, races := m.leader(); first > 0 {
		text = fmt.Sprintf("%s leads at %d of %d", engine, first, races)
	}
	p.paragraph(promiseName(m.promise)+": ", p.styles.dim, text+" → "+p.again("--durability "+m.promise.Delivered),
		p.styles.plain)
}
