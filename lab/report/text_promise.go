package report

import (
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
	return meanings[p.Label()]
}

// proof tells for which engines of a table the promise was proved: "proved", "unproved", "unproved: pebble".
func proof(cells []result.Cell, t result.Table) string {
	if t.Promise.Delivered == "read" {
		return ""
	}
	by := map[string][]string{}
	for _, g := range t.Groups {
		for _, i := range g.Cells {
			c := cells[i]
			if c.Ranked && c.Promise.Proof != "" && !slices.Contains(by[c.Promise.Proof], c.Name()) {
				by[c.Promise.Proof] = append(by[c.Promise.Proof], c.Name())
			}
		}
	}
	var parts []string
	for _, p := range []string{"disproved", "unproved", "proved"} {
		switch {
		case len(by[p]) == 0:
		case len(by) == 1:
			return p
		default:
			parts = append(parts, p+": "+strings.Join(by[p], ", "))
		}
	}
	return strings.Join(parts, "; ")
}
