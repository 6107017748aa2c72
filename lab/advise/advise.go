// Package advise names the engine that fits a program: it removes the engines that cannot do what
// the program needs, each with the reason, and ranks the rest by what was measured.
//
// It measures nothing, and guesses nothing: what a run does not tell is said to be not known, and
// an engine that was not measured at the program's work is not recommended. Nor is one of which a
// proof saw the promise broken.
package advise

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// Schema names the format of an Advice as a document.
const Schema = "assay.advice/1"

// Needs is what a program asks of an engine. The zero value of a field asks for nothing, except
// Promise, whose zero value is synced.
type Needs struct {
	Work      []Work        `json:"work"`
	Promise   kv.Durability `json:"promise"`             // what commits must survive
	Intact    bool          `json:"intact,omitempty"`    // a power loss must leave the store whole, whatever it takes
	Processes int           `json:"processes,omitempty"` // how many use the store at the same time; 0 is one
	Held      bool          `json:"held,omitempty"`      // they keep it open; otherwise each opens it for a moment
	PureGo    bool          `json:"pure_go,omitempty"`   // no C compiler
	File      bool          `json:"file,omitempty"`      // the store is a file, not a folder; others may lie beside it while it is open
	SQL       bool          `json:"sql,omitempty"`       // the data can be read with SQL
	Proved    bool          `json:"proved,omitempty"`    // assay prove has tried the promise
	Memory    int64         `json:"memory,omitempty"`    // bytes that the process may take at its peak
	Open      time.Duration `json:"open_ns,omitempty"`   // how long opening may take
	Binary    int64         `json:"binary,omitempty"`    // bytes that the engine may add to the program
}

// Work is an operation that the program does.
type Work struct {
	Workload  string  `json:"workload"`
	Operation string  `json:"operation"`
	Params    string  `json:"params,omitempty"` // as result.Cell has them
	Weight    float64 `json:"weight"`           // how often, beside the other operations
}

// String returns WORKLOAD/OPERATION?PARAMS.
func (w Work) String() string {
	s := w.Workload + "/" + w.Operation
	if w.Params != "" {
		s += "?" + w.Params
	}
	return s
}

// Engine is what is known, beside measurements, of an engine that may be recommended.
type Engine struct {
	Name     string
	Argument string // how assay run is given it: a name, or NAME=ENGINE:?OPTIONS
	URL      string // ENGINE:?OPTIONS
	Package  string // its import path
	Caps     kv.Caps
	Promises [3]result.Promise // by the class asked for, with what was proved
	SQL      bool              // its data can be read with SQL
	Binary   *int64            // bytes that it adds to a program; nil is not known
}

// Advice is the answer. Where nothing fits, Pick is nil, and Relax says what to give up.
type Advice struct {
	Schema string   `json:"schema"`
	Needs  Needs    `json:"needs"`
	Pick   *Ranked  `json:"pick,omitempty"`
	Why    string   `json:"why,omitempty"` // how sure the pick is, and against whom
	Sure   string   `json:"sure,omitempty"`
	Others []Ranked `json:"others,omitempty"` // from the runner-up on

	Otherwise []string `json:"otherwise,omitempty"` // when another one would be the pick
	GiveUp    []string `json:"give_up,omitempty"`   // what the runner-up has and the pick has not
	Gain      []string `json:"gain,omitempty"`      // the other way round
	Unknown   []string `json:"unknown,omitempty"`   // what bears on the answer and was not measured
	Next      string   `json:"next,omitempty"`      // the command that tells more

	Removed []Removed `json:"removed,omitempty"`
	Relax   []Relax   `json:"relax,omitempty"`
	Code    string    `json:"code,omitempty"` // opens the pick
}

// How sure a pick is, Advice.Sure, beside all others; and how one of them compares with it,
// Ranked.Is.
const (
	Sure       = "sure"       // it is faster, by an interval that is clear of 1
	Equivalent = "equivalent" // none is surely faster or open, and some are as good as equal
	Open       = "open"       // of some it is not decided
	Alone      = "alone"      // there is no other
)

// Ranked is an engine that does what the program needs.
type Ranked struct {
	Name    string         `json:"name"` // and its form behind a slash
	URL     string         `json:"url"`
	Promise result.Promise `json:"promise"`
	// Ratio is its time for the work to that of the pick. The work's time is the sum of its
	// operations' times, as often as each is done; the interval is 95 %, corrected for
	// the contenders of the run's tables, as theirs are.
	Ratio result.Interval `json:"ratio"`
	Is    string          `json:"is,omitempty"` // beside the pick: Sure (the pick is faster), Equivalent or Open
	// Few: some operation has too few rounds for an interval. Then Is is Open, and the bounds of
	// Ratio are those of the rounds.
	Few    bool    `json:"few,omitempty"`
	NS     float64 `json:"ns"` // of the work: the mean of an operation
	Work   []Cost  `json:"work"`
	Open   *int64  `json:"open_ns,omitempty"`
	RSS    *int64  `json:"rss,omitempty"`
	Files  *int    `json:"files,omitempty"`
	Binary *int64  `json:"binary,omitempty"`
}

// Cost is what one operation of the work costs.
type Cost struct {
	Work
	NS    float64      `json:"ns"`
	Ratio result.Ratio `json:"ratio"` // to the pick
}

// Removed is an engine that does not do what the program needs, or of which that is not known.
type Removed struct {
	Name    string   `json:"name"`
	Reasons []Reason `json:"reasons"`
}

// Reason is why an engine was removed: the need, as a flag of assay advise, and what the engine
// has.
type Reason struct {
	Need string `json:"need"` // "--pure-go"; "measured" where there is no figure
	Text string `json:"text"`
}

// Relax is a set of needs that, given up together, lets engines in again.
type Relax struct {
	Needs   []string `json:"needs"`
	Engines []string `json:"engines"`
}

// Advise answers. run is what was measured; nil is nothing, and then it only removes.
func Advise(n Needs, engines []Engine, run *result.Run) *Advice {
	a := &Advice{Schema: Schema, Needs: n}
	var all []contender
	for _, e := range engines {
		all = append(all, newContender(n, e, run))
	}
	var fit []contender
	for _, c := range all {
		reasons := c.reasons(n)
		if len(reasons) == 0 && run == nil {
			reasons = []Reason{{measured, "nothing was measured"}}
		}
		if len(reasons) > 0 {
			a.Removed = append(a.Removed, Removed{c.name, reasons})
		} else {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		a.Relax = relax(a.Removed)
		if slices.ContainsFunc(a.Removed, func(r Removed) bool {
			return !slices.ContainsFunc(r.Reasons, func(reason Reason) bool { return reason.Need != measured })
		}) {
			a.Next = fmt.Sprintf("assay run %s --durability %v --budget 3m", n.arguments(), n.Promise)
		}
		return a
	}
	a.rank(fit)
	a.otherwise(all, run)
	a.traits(fit)
	a.unknown(fit)
	return a
}

// Remove returns the engines that may do what the program needs, by what is known without
// measuring, and why the others may not.
func Remove(n Needs, engines []Engine) (left []Engine, removed []Removed) {
	for _, e := range engines {
		c := contender{engine: e, name: e.Name}
		if reasons := c.lacks(n); len(reasons) > 0 {
			removed = append(removed, Removed{e.Name, reasons})
		} else {
			left = append(left, e)
		}
	}
	return left, removed
}

// relax returns the smallest sets of needs without which some engine fits, those that bring most
// engines back first. What was not measured, or failed, no giving up brings back.
func relax(removed []Removed) []Relax {
	var all []Relax
	for _, r := range removed {
		var needs []string
		for _, reason := range r.Reasons {
			needs = append(needs, reason.Need)
		}
		if slices.Contains(needs, measured) || slices.Contains(needs, never) {
			continue
		}
		slices.Sort(needs)
		needs = slices.Compact(needs)
		i := slices.IndexFunc(all, func(o Relax) bool { return slices.Equal(o.Needs, needs) })
		if i < 0 {
			i = len(all)
			all = append(all, Relax{Needs: needs})
		}
		all[i].Engines = append(all[i].Engines, r.Name)
	}
	slices.SortStableFunc(all, func(a, b Relax) int {
		return cmp.Or(cmp.Compare(len(a.Needs), len(b.Needs)), cmp.Compare(len(b.Engines), len(a.Engines)))
	})
	for i, r := range all {
		if len(r.Needs) > len(all[0].Needs) {
			return all[:i]
		}
	}
	return all
}

// verdict says how an interval of a ratio to the pick decides, if it may.
func verdict(r result.Interval, may bool) string {
	switch {
	case may && r.Lo > 1 && r.Mid > 1+stats.MinEffect:
		return Sure
	case may && r.Hi <= 1+stats.Margin && r.Lo >= 1/(1+stats.Margin):
		return Equivalent
	}
	return Open
}
