package advise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// Needs of no flag.
const (
	measured = "measured" // there must be a figure to rank by
	never    = "never"    // what is not recommended whatever is asked
)

// contender is an engine with the cell of each operation of the work.
type contender struct {
	engine Engine
	name   string         // and its form behind a slash, unless it is kv
	cells  []*result.Cell // of each Work; nil where the run has none
	run    *result.Run    // nil if there is none
}

// shows reports whether a run has an operation in the form sql, on any engine.
func shows(run *result.Run, w Work) bool {
	return slices.ContainsFunc(run.Cells, func(c result.Cell) bool {
		return c.Form == "sql" && c.Workload == w.Workload && c.Operation == w.Operation && c.Params == w.Params
	})
}

// newContender returns an engine as the work is done on it: through kv, or in SQL where the data
// must be readable so and the workload can do it; in another form only where there is none of
// these.
func newContender(n Needs, e Engine, run *result.Run) contender {
	c := contender{engine: e, name: e.Name, run: run}
	if run == nil {
		return c
	}
	forms := []string{"kv"}
	if n.SQL {
		forms = []string{"sql", "kv"}
	}
	for _, cell := range run.Cells {
		if f := formOf(cell); cell.Engine == e.Name && !slices.Contains(forms, f) {
			forms = append(forms, f)
		}
	}
	for _, w := range n.Work {
		var found *result.Cell
		for _, form := range forms {
			if cell := find(run, e.Name, form, w, n.Promise); cell != nil &&
				(found == nil || found.Status != result.OK && cell.Status == result.OK) {
				found = cell
			}
		}
		c.cells = append(c.cells, found)
		if found != nil && formOf(*found) != "kv" {
			c.name = e.Name + "/" + formOf(*found)
		}
	}
	return c
}

func formOf(c result.Cell) string {
	if c.Form == "" {
		return "kv"
	}
	return c.Form
}

// strength orders what commits survive; a read is as good as any.
var strength = map[string]int{"buffered": 1, "flushed": 2, "synced": 3, "read": 4}

// find returns the cell of an operation on an engine whose commits survive what is needed, and no
// more than they must. One that ended well is better than one that did not.
func find(run *result.Run, engine, form string, w Work, need kv.Durability) (best *result.Cell) {
	for i := range run.Cells {
		c := &run.Cells[i]
		if c.Engine != engine || formOf(*c) != form || !c.Ranked || c.Rate > 0 || c.Workload != w.Workload ||
			c.Operation != w.Operation ||
			c.Params != w.Params || strength[c.Promise.Delivered] < strength[need.String()] {
			continue
		}
		ok, had := c.Status == result.OK, best != nil && best.Status == result.OK
		if best == nil || ok && !had || ok == had && strength[c.Promise.Delivered] < strength[best.Promise.Delivered] {
			best = c
		}
	}
	return best
}

// reasons returns why the contender does not do what is needed.
func (c contender) reasons(n Needs) []Reason {
	return append(c.lacks(n), c.misses(n)...)
}

// lacks returns what stands against the engine by what is known without measuring.
func (c contender) lacks(n Needs) (all []Reason) {
	caps := c.engine.Caps
	no := func(need, text string, args ...any) { all = append(all, Reason{need, fmt.Sprintf(text, args...)}) }
	p := caps.Promise(n.Promise)
	label := c.engine.Promises[n.Promise]
	switch {
	case !caps.Persistent:
		no(never, "keeps nothing when it is closed")
	case !p.Supported:
		no("--promise "+n.Promise.String(), "its commits cannot be %v", n.Promise)
	case label.Proof == result.Disproved:
		no(never, "assay prove saw its promise of %s commits broken", label.Delivered)
	case !p.KillAtomic:
		no(never, "a kill may leave a part of a transaction")
	}
	if p.Supported && n.Intact && !p.Intact {
		no("--intact", "a power loss may damage the store, as its commits are %v", p.Class)
	}
	if n.Proved && p.Supported && label.Proof == result.Unproved {
		no("--proved", "nobody has tried what its commits survive; do: assay prove --engines %s --out DIR",
			c.engine.Name)
	}
	if n.PureGo && !caps.PureGo {
		no("--pure-go", "it needs C")
	}
	if n.Held && n.Processes > 1 && !caps.Supports(kv.Shared) {
		no("--held", "one process alone has it open: %d cannot", n.Processes)
	}
	if n.SQL && !c.engine.SQL {
		no("--sql", "its data cannot be read with SQL")
	}
	if n.File && caps.Folder {
		no("--file", "its store is a folder")
	}
	if b := c.engine.Binary; n.Binary > 0 && b != nil && *b > n.Binary {
		no("--binary", "it adds %s to a program, at most %s is wanted", Bytes(*b), Bytes(n.Binary))
	}
	return all
}

// misses returns what stands against the contender by what was measured, or was not.
func (c contender) misses(n Needs) (all []Reason) {
	if c.run == nil {
		return nil
	}
	no := func(need, text string, args ...any) { all = append(all, Reason{need, fmt.Sprintf(text, args...)}) }
	for i, cell := range c.cells {
		switch w := n.Work[i]; {
		case cell == nil:
			no(measured, "%v was not measured", w)
		case cell.Status == result.Failed:
			no(never, "it failed at %v: %s", w, cell.Error)
		case cell.Status != result.OK:
			no(measured, "%v was skipped: %s", w, cell.Error)
		case cell.NS == nil:
			no(measured, "%v has no figure", w)
		case n.SQL && c.engine.SQL && formOf(*cell) != "sql" && shows(c.run, w):
			no("--sql", "at %v it keeps pairs of bytes, of which SQL shows no fields", w)
		case cell.Promise.Proof == result.Disproved:
			no(never, "assay prove saw the promise of %v broken", w)
		}
	}
	if at, rss := most(c.cells, func(cell *result.Cell) *int64 { return cell.RSS }); n.Memory > 0 && rss > n.Memory {
		no("--memory", "its process took %s at %s, at most %s is wanted", Bytes(rss), at, Bytes(n.Memory))
	}
	if at, open := most(c.cells, opening); n.Open > 0 && open > int64(n.Open) {
		no("--open", "it took %s to open at %s, at most %v is wanted", Nanoseconds(float64(open)), at, n.Open)
	}
	return all
}

// opening is how long opening took, of which a cell knows few: where its operation opens the store
// too, at most as long as that.
func opening(c *result.Cell) *int64 {
	if c.Open == nil || c.NS == nil || !stats.Opens(*c) {
		return c.Open
	}
	v := min(*c.Open, int64(c.NS.Mid))
	return &v
}

func wide(n *int) *int64 {
	if n == nil {
		return nil
	}
	v := int64(*n)
	return &v
}

// most returns the highest of a figure in cells, and the operation where it is; 0 where it was
// measured nowhere.
func most(cells []*result.Cell, of func(*result.Cell) *int64) (at string, highest int64) {
	for _, c := range cells {
		if c == nil {
			continue
		}
		if v := of(c); v != nil && *v > highest {
			at, highest = c.Workload+"/"+c.Operation, *v
		}
	}
	return at, highest
}

// Bytes returns n in decimal units: "4.5 MB".
func Bytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.3g GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.3g MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.3g kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// Nanoseconds returns a time in three digits: "31.4 µs".
func Nanoseconds(ns float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{float64(time.Second), "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if ns >= u.size {
			return fmt.Sprintf("%.3g %s", ns/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.3g ns", ns)
}

// stronger reports whether a cell's commits survive more than those of an engine would that are
// asked for what is needed, and so cost more.
func stronger(e Engine, cell *result.Cell, need kv.Durability) bool {
	p := e.Caps.Promise(need)
	return cell.Promise.Delivered != "read" && p.Supported && strength[cell.Promise.Delivered] > strength[p.Class.String()]
}

// Has reports whether a run tells of an operation on an engine, in any form, at a promise: a time,
// or why there is none. That there was no time left tells nothing, nor does a time of commits that
// survive more than they must.
func Has(run *result.Run, e Engine, w Work, need kv.Durability) bool {
	return slices.ContainsFunc(run.Cells, func(c result.Cell) bool {
		if c.Engine != e.Name {
			return false
		}
		cell := find(run, e.Name, formOf(c), w, need)
		return cell != nil && !stronger(e, cell, need) && !(cell.Status == result.Skipped && strings.HasPrefix(cell.Error, "no time was left"))
	})
}
