package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// tableName returns "hook · synced, intact".
func tableName(t result.Table) string {
	name := t.Workload
	if t.Params != "" {
		name += "?" + t.Params
	}
	return name + " · " + promiseName(t.Promise)
}

func promiseName(p result.Promise) string {
	switch {
	case p.Delivered == "read":
		return "reads"
	case p.Intact:
		return p.Delivered + ", intact"
	}
	return p.Delivered + ", not intact"
}

// promiseMeaning tells in words what survives.
func promiseMeaning(p result.Promise) string {
	meanings := map[string]string{
		"synced-intact":   "acknowledged commits survive power loss",
		"synced":          "acknowledged commits survive power loss; one that is under way may be left half applied or do damage",
		"flushed-intact":  "acknowledged commits survive kill -9; power loss takes the latest and leaves the store whole",
		"flushed":         "acknowledged commits survive kill -9; power loss may destroy the store",
		"buffered-intact": "kill -9 and power loss take the latest acknowledged commits; the store stays whole",
		"buffered":        "kill -9 takes the latest acknowledged commits; power loss may destroy the store",
		"read":            "nothing is committed, so that all engines are compared whatever they promise",
	}
	meaning := meanings[p.Label()]
	if p.Proof == result.Disproved && meaning != "" {
		return "said to hold, and seen broken: " + meaning
	}
	return meaning
}

// proof tells how well the promise of a table was proved: "proved in 1,240 crashes", "unproved". Of several engines, it is
// the number of the one that was tried least.
func proof(cells []result.Cell, t result.Table) string {
	var names []string
	for _, g := range t.Groups {
		for _, i := range g.Cells {
			if c := cells[i]; c.Ranked && !slices.Contains(names, c.Engine) && !slices.Contains(t.Unproved, c.Name()) {
				names = append(names, c.Engine)
			}
		}
	}
	but := ""
	if len(t.Unproved) > 0 {
		but = "; unproved: " + strings.Join(t.Unproved, ", ")
	}
	switch p := t.Promise; {
	case p.Delivered == "read" || len(names) == 0:
		return ""
	case p.Proof != result.Proved || p.Images == 0:
		return p.Proof
	case len(names) == 1:
		return fmt.Sprintf("proved in %s crashes%s", Grouped(p.Images), but)
	default:
		return fmt.Sprintf("proved in at least %s crashes each%s", Grouped(p.Images), but)
	}
}
