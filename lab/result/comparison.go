package result

import (
	"encoding/json"
	"fmt"
)

// ComparisonSchema names the format of the document of a comparison.
const ComparisonSchema = "assay.comparison/1"

// Comparison is what changed between two runs.
type Comparison struct {
	Schema  string   `json:"schema"`
	Old     string   `json:"old"` // the folder or document
	New     string   `json:"new"`
	Changes []Change `json:"changes"`
	Lost    []Loss   `json:"lost,omitempty"`    // what only the old run measured, though the new one tried
	Wholes  []Whole  `json:"wholes,omitempty"`  // of each contender, at all operations together
	Crossed []string `json:"crossed,omitempty"` // limits that were given and crossed, with where
}

// Change is what became of one contender at one operation: its time beside that of another
// contender that took part in both runs, so that what changed about the machine cancels out.
type Change struct {
	Workload  string  `json:"workload"`
	Operation string  `json:"operation"`
	Params    string  `json:"params,omitempty"`
	Engine    string  `json:"engine"`
	Form      string  `json:"form,omitempty"`
	Promise   string  `json:"promise"` // as one word
	Rate      float64 `json:"rate,omitempty"`

	Beside string    `json:"beside,omitempty"` // the other contender; empty if there is none: nothing is then said of the time
	Before float64   `json:"before,omitempty"` // how many times as long as the other it took in the old run
	After  float64   `json:"after,omitempty"`  // and in the new one
	Times  *Interval `json:"times,omitempty"`  // how many times as long it takes now, with the interval that decides
	Time   string    `json:"time"`             // Faster, Slower, Same or Undecided
	Counts []Count   `json:"counts,omitempty"`
}

// What became of a time. Same is shown: the whole interval is near 1.
const (
	Faster    = "faster"
	Slower    = "slower"
	Same      = "equivalent"
	Undecided = "open"
)

// Loss is a contender at an operation that has a time in the old run and none in the new one,
// though that tried it: it failed, was skipped, or promises something else now.
type Loss struct {
	Workload  string `json:"workload"`
	Operation string `json:"operation"`
	Params    string `json:"params,omitempty"`
	Engine    string `json:"engine"`
	Form      string `json:"form,omitempty"`
	Promise   string `json:"promise"` // of the old run, as one word
	Why       string `json:"why"`
	Skipped   bool   `json:"skipped,omitempty"` // nothing is wrong with it: it was not run
}

// Name returns the name of the contender, as [Cell.Name] does.
func (l Loss) Name() string { return Cell{Engine: l.Engine, Form: l.Form}.Name() }

// Whole is what became of a contender at all its operations together: a change that is small, and
// that several of them share, is seen here first.
type Whole struct {
	Engine     string   `json:"engine"`
	Form       string   `json:"form,omitempty"`
	Operations int      `json:"operations"` // those at several promises count for each
	Times      Interval `json:"times"`      // the mean of the changes of their times, by how well each is known
	Time       string   `json:"time"`       // as of a [Change]
}

// Name returns the name of the contender, as [Cell.Name] does.
func (w Whole) Name() string { return Cell{Engine: w.Engine, Form: w.Form}.Name() }

// Count is what an operation asks of the disk in both runs. Only exact ones are compared: the
// others are means of what background work did meanwhile.
type Count struct {
	Name   string  `json:"name"` // "syncs", "writes", "written"
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Exact  bool    `json:"exact"`
}

// Changed reports whether the count is exact and not what it was.
func (c Count) Changed() bool { return c.Exact && c.Before != c.After }

// Name returns the name of the contender, as [Cell.Name] does.
func (c Change) Name() string { return Cell{Engine: c.Engine, Form: c.Form}.Name() }

// MarshalComparison returns the document of a comparison.
func MarshalComparison(c *Comparison) ([]byte, error) {
	if c.Schema != ComparisonSchema {
		return nil, fmt.Errorf("schema %q, want %q", c.Schema, ComparisonSchema)
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}
