package published

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/workload"
)

// Publication is one published comparison, and how it is measured here.
type Publication struct {
	Name    string // of the workload that does the same work
	System  string // whose comparison it is
	Summary string // one line: what was compared
	Setup   string // how it was measured, and what is different here
	Parts   []Part
	claims  []claim
}

// Part is one run of the lab.
type Part struct {
	Name    string
	Engines []string            // as --engines takes them
	Work    []string            // as the arguments of assay run
	Forms   map[string][]string // by engine, those in which it takes part; nil is all
	Classes []kv.Durability     // nil is all
	Storage string              // the name of a modelled disk; "" is the disk of --dir
	Race    bool                // the work is done by a binary that was built with -race
	Share   time.Duration       // of the time, if the whole takes DefaultBudget
}

// claim says where the lines of one row come from.
type claim struct {
	row       string // ENGINE OPERATION, as published
	baseline  string // the row that it is compared with, if it has no baseline of its own
	published pair
	matched   pair
	race      pair // as published, by a binary that was built with -race
	also      pair
	why       string // one line
}

// pair is two contenders of a part at an operation, each NAME@CLASS as stats.ParseContender takes
// it. Without a second one the figure stands alone.
type pair struct {
	part, operation string
	first, second   string
	what            string
	size            bool  // what is compared is the space that the records of the operation take, not its time
	nearest         *pair // what is shown if the binary lacks an engine of this one
}

// All returns the publications, in the order in which they are shown.
func All() []Publication { return []Publication{hook(), events(), feed(), queue(), records()} }

// Parse returns the publications that args name as NAME[?PARAM=VALUE...], with these parameters of
// the workload instead of the usual ones; all of them if there are none. What is wrong is
// kv.Invalid.
func Parse(args []string) ([]Publication, error) {
	all := All()
	if len(args) == 0 {
		return all, nil
	}
	var chosen []Publication
	for _, arg := range args {
		name, query, _ := strings.Cut(arg, "?")
		i := slices.IndexFunc(all, func(p Publication) bool { return p.Name == name })
		if i < 0 || slices.ContainsFunc(chosen, func(p Publication) bool { return p.Name == name }) {
			names := make([]string, len(all))
			for i, p := range all {
				names[i] = p.Name
			}
			return nil, &kv.Error{Kind: kv.Invalid, Err: fmt.Errorf("no publication %q, or named twice", name),
				Hint: "use " + strings.Join(names, ", ") + ", each once; or none, which is all"}
		}
		p, err := all[i].with(query)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}

// with returns p with other parameters.
func (p Publication) with(query string) (Publication, error) {
	given, err := url.ParseQuery(query)
	if err != nil {
		return p, &kv.Error{Kind: kv.Invalid, Err: err, Hint: fmt.Sprintf("write %s?name=value", p.Name)}
	}
	for i, part := range p.Parts {
		work := slices.Clone(part.Work)
		for j, w := range work {
			spec, own, _ := strings.Cut(w, "?")
			params, err := url.ParseQuery(own)
			if err != nil {
				return p, err
			}
			maps.Copy(params, given)
			if len(params) > 0 {
				work[j] = spec + "?" + params.Encode()
			}
		}
		p.Parts[i].Work = work
		selections, err := bench.ParseSelections(work)
		if err != nil {
			return p, err
		}
		if len(selections) > len(work) {
			return p, &kv.Error{Kind: kv.Invalid, Err: fmt.Errorf("several values in %q", query),
				Hint: "a published figure is held against one: give one value"}
		}
	}
	return p, nil
}

// DefaultBudget is the time that publications take unless the user said otherwise.
func DefaultBudget(publications []Publication) time.Duration {
	var all time.Duration
	for _, p := range publications {
		for _, part := range p.Parts {
			all += part.Share
		}
	}
	return all
}

// Selections returns the work of the part, in its forms alone.
func (p Part) Selections() ([]bench.Selection, error) {
	selections, err := bench.ParseSelections(p.Work)
	if err != nil || p.Forms == nil {
		return selections, err
	}
	for i, s := range selections {
		s.Ops = slices.Clone(s.Ops)
		for j, op := range s.Ops {
			s.Ops[j].Forms = p.restrict(op)
		}
		selections[i] = s
	}
	return selections, nil
}

// restrict returns the forms of op that the part has.
func (p Part) restrict(op workload.Op) func(engine, options string) []string {
	all := op.Forms
	if all == nil {
		all = func(string, string) []string { return []string{"kv"} }
	}
	return func(engine, options string) []string {
		kept := []string{}
		for _, form := range all(engine, options) {
			if slices.Contains(p.Forms[engine], form) {
				kept = append(kept, form)
			}
		}
		return kept
	}
}
