package report

import (
	"fmt"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// additions tells, in a line for each contender that is more than its engine, what that costs.
func (p *page) additions(run *result.Run) {
	all := stats.Additions(run)
	for len(all) > 0 {
		n, least, most := 0, all[0], all[0]
		for ; n < len(all) && all[n].Engine == all[0].Engine; n++ {
			if all[n].Mid < least.Mid {
				least = all[n]
			}
			if all[n].Mid > most.Mid {
				most = all[n]
			}
		}
		text := fmt.Sprintf("takes %s of %s's time at %s", comparison(most.Comparison), most.Plain, placeOf(most))
		if n > 1 {
			text += fmt.Sprintf(", where it costs most, and %s at %s", comparison(least.Comparison), placeOf(least))
		}
		p.paragraph("+ ", p.styles.dim, "What assay adds to "+most.Plain+": "+most.Engine+" "+text+".", p.styles.plain)
		all = all[n:]
	}
}

func placeOf(a stats.Addition) string {
	if a.Class == "read" {
		return a.Workload + " " + a.Operation
	}
	return a.Workload + " " + a.Operation + " (" + a.Class + ")"
}
