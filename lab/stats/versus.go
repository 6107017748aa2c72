package stats

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// Contender is an engine of a run, and the promise at which its commits are looked at.
type Contender struct {
	Name  string // as Cell.Name has it: "sqlite", "sqlite/sql"
	Class string // the class delivered: "synced"; empty is the first that it has
}

func (c Contender) String() string {
	if c.Class == "" {
		return c.Name
	}
	return c.Name + "@" + c.Class
}

var classes = []string{"synced", "flushed", "buffered"}

// ParseContender returns the contender that s names as NAME or NAME@CLASS.
func ParseContender(s string) (Contender, error) {
	name, class, some := strings.Cut(strings.TrimSpace(s), "@")
	if name == "" || some && !slices.Contains(classes, class) {
		return Contender{}, fmt.Errorf("%q is not ENGINE@CLASS, CLASS being one of %s", s, strings.Join(classes, ", "))
	}
	return Contender{Name: name, Class: class}, nil
}

// Duel is one operation on two contenders: as they were named, and wherever both make the same
// promise.
type Duel struct {
	Workload, Params, Operation string
	AsNamed                     *Match // nil if one of them was not measured so
	Equal                       []Match
}

// Match compares the second contender with the first: above 1, the second takes longer.
type Match struct {
	First, Second result.Promise
	Comparison
}

// Versus compares two contenders of a run at every operation that both took part in, round by
// round, whatever they promise: how much of a published difference is the engine's, and how much
// the promise's.
func Versus(run *result.Run, first, second Contender) []Duel {
	var duels []Duel
	for _, op := range operations(run.Cells) {
		d := Duel{Workload: op[0].Workload, Params: op[0].Params, Operation: op[0].Operation}
		for _, a := range named(op, first.Name) {
			for _, b := range named(op, second.Name) {
				m := Match{First: a.Promise, Second: b.Promise, Comparison: Beside(run, b, a)}
				if m.Rounds == 0 {
					continue
				}
				if d.AsNamed == nil && first.fits(a) && second.fits(b) {
					d.AsNamed = &m
				}
				if a.Promise.Label() == b.Promise.Label() {
					d.Equal = append(d.Equal, m)
				}
			}
		}
		if d.AsNamed != nil || len(d.Equal) > 0 {
			duels = append(duels, d)
		}
	}
	return duels
}

// fits reports whether a cell was measured at the contender's promise. A read has none.
func (c Contender) fits(cell result.Cell) bool {
	return c.Class == "" || cell.Promise.Delivered == c.Class || cell.Promise.Delivered == "read"
}

// named returns the cells of one contender that have samples.
func named(cells []result.Cell, name string) []result.Cell {
	var out []result.Cell
	for _, c := range cells {
		if c.Name() == name && c.Status == result.OK && len(c.Samples) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// operations returns the cells of each operation, whatever they promise, in the order of their
// first cells.
func operations(cells []result.Cell) [][]result.Cell {
	type key struct{ workload, params, operation string }
	index := map[key]int{}
	var out [][]result.Cell
	for _, c := range cells {
		k := key{c.Workload, c.Params, c.Operation}
		i, ok := index[k]
		if !ok {
			i = len(out)
			index[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], c)
	}
	return out
}
