package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// Versus writes how two contenders of a run compare at every operation that both took part in: as
// they were named, and wherever they make the same promise. It returns false if there is no such
// operation.
func Versus(w io.Writer, run *result.Run, first, second stats.Contender, o Options) (bool, error) {
	duels := stats.Versus(run, first, second)
	if len(duels) == 0 {
		return false, nil
	}
	p := page{options: o, width: o.widthFrom(narrowest), styles: newStyles(o)}
	p.paragraph("", p.styles.plain, fmt.Sprintf("%v against %v: how many times as long the second takes, with its 95 %% interval; = equivalent, ~ open; with the promise of both, or of each", first, second), p.styles.title)
	p.blank()
	single := singleParams(run.Cells)
	var rows [][]gridCell
	for _, d := range duels {
		name := d.Workload
		if d.Params != "" && !single[d.Workload] {
			name += "?" + d.Params
		}
		name += " " + d.Operation
		add := func(m stats.Match) {
			rows = append(rows, []gridCell{{text: name}, {text: comparison(m.Comparison)}, {text: promises(m)}})
			name = ""
		}
		if d.AsNamed != nil {
			add(*d.AsNamed)
		}
		for _, m := range d.Equal {
			if d.AsNamed == nil || m.First != d.AsNamed.First || m.Second != d.AsNamed.Second {
				add(m)
			}
		}
	}
	p.gridByOperation([]gridColumn{{name: "operation"}, {name: "ratio"}, {name: "promise"}}, rows)
	for _, c := range []stats.Contender{first, second} {
		if !commitsAt(run, c) {
			p.blank()
			p.warning(result.Warning{Text: fmt.Sprintf("no commit of %s in this run is %s: where nothing else is told, both make the same promise",
				c.Name, c.Class), Hint: programOf(run.Command) + " run --durability all measures each that an engine makes"})
		}
	}
	_, err := io.WriteString(w, p.String())
	return true, err
}

// commitsAt reports whether a run has a commit of a contender at the class that it is named with,
// or it is named with none.
func commitsAt(run *result.Run, c stats.Contender) bool {
	return c.Class == "" || slices.ContainsFunc(run.Cells, func(x result.Cell) bool {
		return x.Name() == c.Name && x.Promise.Delivered == c.Class && x.NS != nil
	})
}

// promises tells what both of a match promise.
func promises(m stats.Match) string {
	one, other := promiseName(m.First), promiseName(m.Second)
	switch {
	case m.First.Delivered == "read":
		return "reads"
	case one == other:
		return one
	}
	return one + "; " + other
}

// comparison prints "14.6x [12.1–17.3]", marked as in a table. Of too few rounds there is no
// interval, nor where it says nothing.
func comparison(c stats.Comparison) string {
	mark := ""
	switch {
	case c.Enough() && !c.Different && c.Hi > vague*c.Lo:
		return fmt.Sprintf("~ %sx", stats.Factor(c.Mid))
	case !c.Enough():
		return fmt.Sprintf("~ %sx (n=%d)", stats.Factor(c.Mid), c.Rounds)
	case c.Equivalent:
		mark = "= "
	case !c.Different:
		mark = "~ "
	}
	return mark + fmt.Sprintf("%sx [%s–%s]", stats.Factor(c.Mid), stats.Factor(c.Lo), stats.Factor(c.Hi))
}
