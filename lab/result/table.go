package result

import "slices"

// Table is the cells of one workload, with one set of parameters, at one promise: what may be compared.
type Table struct {
	Workload string
	Params   string
	Promise  Promise // Delivered, Intact and Proof; Images is the fewest of any cell
	Groups   []Group
}

// Group is the cells of one operation in a table.
type Group struct {
	Operation string
	Cells     []int // indices in the slice of cells that the table was made from
}

// Tables returns the tables that the cells make, in the order in which their cells first occur; those of reads come
// after those of commits of the same workload, and a stronger promise before a weaker one.
func Tables(cells []Cell) []Table {
	var tables []Table
	for _, i := range rankedFirst(cells) {
		c := cells[i]
		t := slices.IndexFunc(tables, func(t Table) bool {
			return t.Workload == c.Workload && t.Params == c.Params && (t.Promise.Same(c.Promise) || !c.Ranked && t.Promise.Label() == c.Promise.Label())
		})
		if t < 0 {
			t = len(tables)
			p := c.Promise.class()
			p.Images = c.Promise.Images
			tables = append(tables, Table{Workload: c.Workload, Params: c.Params, Promise: p})
		}
		if c.Ranked {
			tables[t].Promise.Images = min(tables[t].Promise.Images, c.Promise.Images)
		}
		g := slices.IndexFunc(tables[t].Groups, func(g Group) bool { return g.Operation == c.Operation })
		if g < 0 {
			g = len(tables[t].Groups)
			tables[t].Groups = append(tables[t].Groups, Group{Operation: c.Operation})
		}
		tables[t].Groups[g].Cells = append(tables[t].Groups[g].Cells, i)
	}
	orderTables(tables)
	return tables
}

// rankedFirst returns the indices of cells, those that are not ranked last: nobody proves the harness's own floor, and it
// is shown beside what there is.
func rankedFirst(cells []Cell) []int {
	var ranked, rest []int
	for i, c := range cells {
		if c.Ranked {
			ranked = append(ranked, i)
		} else {
			rest = append(rest, i)
		}
	}
	return append(ranked, rest...)
}

// Same reports whether two promises are the same, and as well proved: only then are their cells compared.
func (p Promise) Same(other Promise) bool { return p.class() == other.class() }

// class returns the part of a promise that decides what may be compared. A read promises nothing.
func (p Promise) class() Promise {
	if p.Delivered == "read" {
		return Promise{Delivered: "read"}
	}
	return Promise{Delivered: p.Delivered, Intact: p.Intact, Proof: p.Proof}
}

// orderTables sorts by workload and parameters, in the order of their first cells, then by promise.
func orderTables(tables []Table) {
	type key struct{ workload, params string }
	first := map[key]int{}
	for i, t := range tables {
		if _, seen := first[key{t.Workload, t.Params}]; !seen {
			first[key{t.Workload, t.Params}] = i
		}
	}
	slices.SortStableFunc(tables, func(a, b Table) int {
		if d := first[key{a.Workload, a.Params}] - first[key{b.Workload, b.Params}]; d != 0 {
			return d
		}
		return rank(a.Promise) - rank(b.Promise)
	})
}

// rank orders promises from the strongest to the weakest, of equal ones the proved first, and reads last.
func rank(p Promise) int {
	r := map[string]int{"synced": 0, "flushed": 2, "buffered": 4, "": 6, "read": 8}[p.Delivered]
	if !p.Intact {
		r++
	}
	return 4*r + map[string]int{Proved: 0, Unproved: 1, Disproved: 2}[p.Proof]
}
