package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// tableName returns "hook · synced, intact: survives power loss".
func tableName(t result.Table) string {
	name := t.Workload
	if t.Params != "" {
		name += "?" + t.Params
	}
	return name + " · " + promiseTitle(t.Promise)
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

// promiseTitle returns a promise with what survives in words: "synced, intact: survives power
// loss".
func promiseTitle(p result.Promise) string {
	meaning := map[string]string{
		"synced-intact":   "survives power loss",
		"synced":          "survives power loss, but what was under way may do damage",
		"flushed-intact":  "survives kill -9; power loss takes the last commits",
		"flushed":         "survives kill -9; power loss may destroy the store",
		"buffered-intact": "survives neither kill -9 nor power loss; stays whole",
		"buffered":        "survives no kill -9; power loss may destroy the store",
		"read":            "nothing is committed",
	}[p.Label()]
	switch {
	case meaning == "":
		return promiseName(p)
	case p.Proof == result.Disproved && p.Delivered != "read":
		meaning = "seen broken: " + meaning
	}
	return promiseName(p) + ": " + meaning
}

// proof tells how well the promise of a table was proved: "proved in 1,240 crashes", "unproved". Of
// several engines, it is the number of the one that was tried least.
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
		return fmt.Sprintf("proved in ≥ %s crashes each%s", Grouped(p.Images), but)
	}
}
