package result

import "slices"

// Table is the cells of one workload, with one set of parameters, at one promise: what may be compared.
type Table struct {
	Workload string
	Params   string
	Promise  Promise // Delivered and Intact; Proof is "proved" if all cells are, "disproved" if any is
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
	for i, c := range cells {
		p := c.Promise.class()
		t := slices.IndexFunc(tables, func(t Table) bool {
			return t.Workload == c.Workload && t.Params == c.Params && t.Promise.class() == p
		})
		if t < 0 {
			t = len(tables)
			tables = append(tables, Table{Workload: c.Workload, Params: c.Params, Promise: p})
			tables[t].Promise.Proof = c.Promise.Proof
		}
		tables[t].Promise.Proof = weaker(tables[t].Promise.Proof, c.Promise.Proof)
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

// class returns the part of a promise that decides what may be compared. A read promises nothing.
func (p Promise) class() Promise {
	if p.Delivered == "read" {
		return Promise{Delivered: "read"}
	}
	return Promise{Delivered: p.Delivered, Intact: p.Intact}
}

func weaker(a, b string) string {
	for _, proof := range []string{"disproved", "unproved"} {
		if a == proof || b == proof {
			return proof
		}
	}
	return a
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

// rank orders promises from the strongest to the weakest, and reads last.
func rank(p Promise) int {
	r := map[string]int{"synced": 0, "flushed": 2, "buffered": 4, "": 6, "read": 8}[p.Delivered]
	if !p.Intact {
		r++
	}
	return r
}
