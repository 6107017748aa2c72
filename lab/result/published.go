package result

import "time"

// PublishedSchema names the format of the document that a run of published comparisons is.
const PublishedSchema = "assay.published/1"

// Published is one run of `assay run --like-published`: figures that others published, and ours
// beside each. docs/formats.md is the document's contract.
type Published struct {
	Schema       string        `json:"schema"`
	Command      []string      `json:"command"`
	Started      time.Time     `json:"started"`
	Took         time.Duration `json:"took_ns"`
	Budget       time.Duration `json:"budget_ns"`
	Seed         uint64        `json:"seed"`
	Interrupted  bool          `json:"interrupted,omitempty"`
	Warnings     []Warning     `json:"warnings,omitempty"`
	Environment  Environment   `json:"environment"`
	Floor        Floor         `json:"floor"`
	Publications []Publication `json:"publications"`
}

// Publication is one published comparison.
type Publication struct {
	Name    string `json:"name"`    // of the workload that does the same work
	System  string `json:"system"`  // whose comparison it is
	Summary string `json:"summary"` // one line: what was compared
	Setup   string `json:"setup"`   // how it was measured, and what is different here
	Parts   []Part `json:"parts"`
	Lines   []Line `json:"lines"` // one for each published figure
}

// Part is one run of the lab that a publication's lines were measured in. Its result lies in the
// folder NAME-PART beside the document.
type Part struct {
	Name     string        `json:"name"`
	Engines  []string      `json:"engines"` // as --engines takes them
	Work     []string      `json:"work"`    // as assay run takes it
	Storage  string        `json:"storage,omitempty"`
	Race     bool          `json:"race,omitempty"` // by a binary that was built with -race
	Took     time.Duration `json:"took_ns"`
	Failures int           `json:"failures,omitempty"` // operations that failed
	Missing  string        `json:"missing,omitempty"`  // why it was not run
	Hint     string        `json:"hint,omitempty"`
}

// Line is one published figure and ours. Every ratio in it tells how many times as long, or as
// large, the baseline is: above 1, the engine is the faster or smaller one.
type Line struct {
	Engine    string       `json:"engine"` // as published
	Operation string       `json:"operation"`
	Figure    Figure       `json:"figure"`
	Published *Measurement `json:"published,omitempty"` // ours, in the published setting
	Matched   *Measurement `json:"matched,omitempty"`   // ours, in the right form with the same promise for both; nil if there is no other than the published
	Race      *Measurement `json:"race,omitempty"`      // ours in the published setting, by a binary that was built with -race
	Also      *Measurement `json:"also,omitempty"`      // what else is worth knowing
	Outcome   string       `json:"outcome,omitempty"`   // how our ratio in the published setting compares: one of the Outcome constants
	Why       string       `json:"why"`                 // one line: why they differ
}

// Figure is what was published.
type Figure struct {
	Value    float64  `json:"value"`
	Unit     string   `json:"unit"`                     // "us" or "MB"; "rel" is the fraction of the baseline
	Baseline string   `json:"baseline,omitempty"`       // the engine, or the form, that Ratio is about
	Against  float64  `json:"baseline_value,omitempty"` // its value; 0 is unknown
	Ratio    *float64 `json:"ratio,omitempty"`
	Note     string   `json:"note,omitempty"`
}

// Measurement is ours of one line.
type Measurement struct {
	What      string    `json:"what,omitempty"` // of one that is not what its place says: "the nearest there is here"
	Part      string    `json:"part"`
	Operation string    `json:"operation"`
	First     Side      `json:"first"`
	Second    *Side     `json:"second,omitempty"` // the baseline; nil if the figure stands alone
	Ratio     *Interval `json:"ratio,omitempty"`
	Rounds    int       `json:"rounds,omitempty"` // that both took part in; fewer than 5 give no interval
	Missing   string    `json:"missing,omitempty"`
	Hint      string    `json:"hint,omitempty"`
}

// Side is one contender of a measurement. Of a size, Bytes is set, else NS.
type Side struct {
	Name    string    `json:"name"`
	Promise Promise   `json:"promise"`
	NS      *Interval `json:"ns,omitempty"`    // per operation, or per record where an operation is over several
	Bytes   *float64  `json:"bytes,omitempty"` // per record, allocated
	Allocs  *float64  `json:"allocs,omitempty"`
}

// How our ratio in the published setting compares with the published one.
const (
	Agrees   = "agrees"   // within a quarter of it, or its interval holds it
	Less     = "less"     // the difference is smaller here
	More     = "more"     // the difference is larger here
	Reversed = "reversed" // the other one is ahead here
	Unclear  = "unclear"  // its interval holds the published one, and much else
)
