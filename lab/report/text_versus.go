package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// Versus writes how two contenders of a run compare at every operation that both took part in: as
// they were named, and wherever they make the same promise. It returns false if there is no such
// operation.
func Versus(w io.Writer, run *result.Run, first, second stats.Contender) (bool, error) {
	duels := stats.Versus(run, first, second)
	if len(duels) == 0 {
		return false, nil
	}
	fmt.Fprintf(w, "%v against %v: how many times as long the second takes, with 95 %% interval; = equivalent, ~ open\n\n", first, second)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "operation\tas named\t\tat the same promise")
	for _, d := range duels {
		name, promises := "-", ""
		if d.AsNamed != nil {
			name = comparison(d.AsNamed.Comparison)
			promises = fmt.Sprintf("(%s; %s)", promiseName(d.AsNamed.First), promiseName(d.AsNamed.Second))
			if d.AsNamed.First.Delivered == "read" {
				promises = "(reads)"
			}
		}
		var equal []string
		for _, m := range d.Equal {
			if m.First.Delivered != "read" {
				equal = append(equal, promiseName(m.First)+": "+comparison(m.Comparison))
			}
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s\n", d.Workload, d.Operation, name, promises, strings.Join(equal, "; "))
	}
	return true, t.Flush()
}

// comparison prints "14.6x [12.1–17.3]", marked as in a table. Of too few rounds there is no
// interval.
func comparison(c stats.Comparison) string {
	mark := ""
	switch {
	case !c.Enough():
		return fmt.Sprintf("~ %sx (n=%d)", factor(c.Mid), c.Rounds)
	case c.Equivalent:
		mark = "= "
	case !c.Different:
		mark = "~ "
	}
	return mark + fmt.Sprintf("%sx [%s–%s]", factor(c.Mid), factor(c.Lo), factor(c.Hi))
}
