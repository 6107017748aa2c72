package stats

import (
	"maps"
	"slices"

	"github.com/assaydb/assay/lab/result"
)

// Addition is what a driver adds to an engine, as a price: an operation on the contender that is
// more than the engine, compared with the engine as its own users know it.
type Addition struct {
	Engine, Plain       string // contenders
	Workload, Operation string
	Class               string // of both: "synced", "read"
	Comparison                 // above 1, what is added takes time
}

// Additions compares the contenders of a run with their plain forms, wherever both deliver the same
// class: that the plain form may be torn or stop, where the other is not, is what the price buys.
// Those of one contender stand together.
func Additions(run *result.Run) []Addition {
	var all []Addition
	for _, engine := range slices.Sorted(maps.Keys(run.Plain)) {
		for _, op := range operations(run.Cells) {
			for _, a := range named(op, run.Plain[engine]) {
				for _, b := range named(op, engine) {
					if a.Promise.Delivered != b.Promise.Delivered || a.Form != b.Form {
						continue
					}
					if c := Compare(b.Samples, a.Samples, 1); c.Enough() {
						all = append(all, Addition{engine, run.Plain[engine], a.Workload, a.Operation,
							a.Promise.Delivered, c})
					}
				}
			}
		}
	}
	return all
}
