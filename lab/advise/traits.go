package advise

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// trait is something that one engine may have and another not, in the words in which it is gained
// or given up.
type trait struct {
	text string
	has  func(contender) bool
}

var traits = []trait{
	{"several processes may read and write the store at the same time",
		func(c contender) bool { return c.engine.Caps.Supports(kv.Shared) }},
	{"its data can be read with SQL", func(c contender) bool { return strings.HasSuffix(c.name, "/sql") }},
	{"the store is one file instead of a folder", func(c contender) bool { return !c.engine.Caps.Folder }},
	{"no C compiler is needed", func(c contender) bool { return c.engine.Caps.PureGo }},
	{"it can compress what it stores", func(c contender) bool { return len(c.engine.Caps.Compression) > 0 }},
	{"commits of several goroutines share a sync", func(c contender) bool { return c.engine.Caps.ConcurrentApply }},
	{"readers and writers never wait for each other", func(c contender) bool {
		return c.engine.Caps.ReadersBlockWriters == kv.Never && c.engine.Caps.WritersBlockReaders == kv.Never
	}},
}

// traits tells what the pick has and the runner-up has not, and the other way round. Figures count
// where one is half as much again as the other.
func (a *Advice) traits(fit []contender) {
	if len(a.Others) == 0 {
		return
	}
	find := func(name string) contender {
		return fit[slices.IndexFunc(fit, func(c contender) bool { return c.name == name })]
	}
	pick, second := find(a.Pick.Name), find(a.Others[0].Name)
	for _, t := range traits {
		switch one, other := t.has(pick), t.has(second); {
		case one && !other:
			a.Gain = append(a.Gain, t.text)
		case other && !one:
			a.GiveUp = append(a.GiveUp, t.text)
		}
	}
	promise := func(text string, of func(result.Promise) bool) {
		switch one, other := of(a.Pick.Promise), of(a.Others[0].Promise); {
		case one && !other:
			a.Gain = append(a.Gain, text)
		case other && !one:
			a.GiveUp = append(a.GiveUp, text)
		}
	}
	promise("a power loss leaves the store whole", func(p result.Promise) bool { return p.Intact })
	promise("what its commits survive was tried by assay prove",
		func(p result.Promise) bool { return p.Proof == result.Proved })
	figure := func(one, other *int64, text string, unit func(int64) string) {
		if one == nil || other == nil {
			return
		}
		line := fmt.Sprintf(text, unit(*one), unit(*other))
		switch {
		case 2*float64(*other) > 3*float64(*one):
			a.Gain = append(a.Gain, line)
		case 2*float64(*one) > 3*float64(*other):
			a.GiveUp = append(a.GiveUp, line)
		}
	}
	r, s := a.Pick, a.Others[0]
	figure(r.Open, s.Open, "opening takes %s instead of %s", func(n int64) string { return Nanoseconds(float64(n)) })
	figure(r.RSS, s.RSS, "the process takes %s instead of %s", Bytes)
	figure(r.Binary, s.Binary, "it adds %s to the program instead of %s", Bytes)
}

// otherwise tells when another engine would be the pick: if one operation counted alone, without
// one of the needs, and if a weaker promise were enough.
func (a *Advice) otherwise(all []contender, run *result.Run) {
	n := a.Needs
	pick := all[slices.IndexFunc(all, func(c contender) bool { return c.name == a.Pick.Name })]
	if len(n.Work) > 1 {
		for i, w := range n.Work {
			best := -1
			for j, o := range a.Others {
				if r := o.Work[i].Ratio; r.Different && r.Mid < 1 &&
					(best < 0 || r.Mid < a.Others[best].Work[i].Ratio.Mid) {
					best = j
				}
			}
			if best >= 0 {
				r := a.Others[best].Work[i].Ratio
				a.Otherwise = append(a.Otherwise, fmt.Sprintf("if %v counted most: %s, in %s the time there", w,
					a.Others[best].Name,
					Times(result.Interval{Lo: r.Lo, Mid: r.Mid, Hi: r.Hi})))
			}
		}
	}
	for _, removed := range a.Removed {
		if len(removed.Reasons) != 1 || removed.Reasons[0].Need == measured || removed.Reasons[0].Need == never {
			continue
		}
		c := all[slices.IndexFunc(all, func(c contender) bool { return c.name == removed.Name })]
		if len(c.misses(Needs{Work: n.Work})) > 0 {
			continue
		}
		if r := c.beside(pick, n); r.faster() {
			a.Otherwise = append(a.Otherwise, fmt.Sprintf("without %s: %s, in %s the time", removed.Reasons[0].Need,
				c.name, Times(r.Ratio)))
		}
	}
	for _, d := range []kv.Durability{kv.Synced, kv.Flushed, kv.Buffered}[n.Promise+1:] {
		weaker := n
		weaker.Promise = d
		var best *Ranked
		for _, c := range all {
			w := newContender(weaker, c.engine, run)
			if len(w.reasons(weaker)) > 0 {
				continue
			}
			if r := w.beside(pick, n); best == nil || r.Ratio.Mid < best.Ratio.Mid {
				best = &r
			}
		}
		if best != nil && best.faster() && best.Promise.Delivered == d.String() {
			a.Otherwise = append(a.Otherwise, fmt.Sprintf("if %v commits were enough: %s, in %s the time", d, best.Name,
				Times(best.Ratio)))
		}
	}
}

// unknown tells what was asked for and is known of no engine, or not of all.
func (a *Advice) unknown(fit []contender) {
	n := a.Needs
	ask := func(asked bool, what string, known func(contender) bool) {
		var names []string
		for _, c := range fit {
			if asked && !known(c) {
				names = append(names, c.name)
			}
		}
		if len(names) == 0 {
			return
		}
		a.Unknown = append(a.Unknown, strings.Join(names, ", ")+": "+what)
	}
	ask(n.Binary > 0, "what it adds to a program", func(c contender) bool { return c.engine.Binary != nil })
	ask(true, fmt.Sprintf("%v commits were not measured; stronger ones, which may take longer, stand for them", n.Promise),
		func(c contender) bool {
			return !slices.ContainsFunc(c.cells, func(cell *result.Cell) bool {
				return cell != nil && stronger(c.engine, cell, n.Promise)
			})
		})
	ask(n.Memory > 0, "how much memory it takes", func(c contender) bool {
		_, v := most(c.cells, func(cell *result.Cell) *int64 { return cell.RSS })
		return v > 0
	})
	ask(n.Open > 0, "how long it takes to open", func(c contender) bool {
		_, v := most(c.cells, func(cell *result.Cell) *int64 { return cell.Open })
		return v > 0
	})
}
