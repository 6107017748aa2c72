package result

import "slices"

// Table is the cells of one workload, with one set of parameters, at one promise: what may be
// compared.
type Table struct {
	Workload string
	Params   string
	// Promise is Delivered, Intact and Proof: Proved if that of any ranked cell is; Images is then
	// the fewest of those.
	Promise  Promise
	Unproved []string // the contenders among proved ones that are not: ranked all the same, and to be marked
	Groups   []Group
}

// Group is the cells of one operation in a table.
type Group struct {
	Operation string
	Cells     []int // indices in the slice of cells that the table was made from
}

// Tables returns the tables that the cells make, in the order in which their cells first occur;
// those of reads come after those of commits of the same workload, and a stronger promise before a
// weaker one.
func Tables(cells []Cell) []Table {
	var tables []Table
	for _, i := range rankedFirst(cells) {
		c := cells[i]
		t := slices.IndexFunc(tables, func(t Table) bool {
			return t.Workload == c.Workload && t.Params == c.Params &&
				(t.Promise.Same(c.Promise) || !c.Ranked && t.Promise.Label() == c.Promise.Label())
		})
		if t < 0 {
			t = len(tables)
			p := c.Promise.class()
			p.Proof = c.Promise.Proof
			tables = append(tables, Table{Workload: c.Workload, Params: c.Params, Promise: p})
		}
		if c.Ranked {
			tables[t].add(c)
		}
		g := slices.IndexFunc(tables[t].Groups, func(g Group) bool { return g.Operation == c.Operation })
		if g < 0 {
			g = len(tables[t].Groups)
			tables[t].Groups = append(tables[t].Groups, Group{Operation: c.Operation})
		}
		tables[t].Groups[g].Cells = append(tables[t].Groups[g].Cells, i)
	}
	for i := range tables {
		if tables[i].Promise.Proof != Proved {
			tables[i].Unproved = nil // all are
		}
	}
	orderTables(tables)
	return tables
}

// add notes how well the promise of a ranked cell is proved.
func (t *Table) add(c Cell) {
	switch p := &t.Promise; {
	case p.Delivered == "read":
	case c.Promise.Proof == Unproved:
		if !slices.Contains(t.Unproved, c.Name()) {
			t.Unproved = append(t.Unproved, c.Name())
		}
	case p.Proof != c.Promise.Proof || p.Images == 0:
		p.Proof, p.Images = c.Promise.Proof, c.Promise.Images
	default:
		p.Images = min(p.Images, c.Promise.Images)
	}
}

// rankedFirst returns the indices of cells, those that are not ranked last: nobody proves the
// harness's own floor, and it is shown beside what there is.
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

// Same reports whether two promises are the same, so that their cells are compared. One that nobody
// proved is compared with one that was proved, and marked; one that was seen broken is not: it is
// another promise.
func (p Promise) Same(other Promise) bool { return p.class() == other.class() }

// class returns the part of a promise that decides what may be compared. A read promises nothing.
func (p Promise) class() Promise {
	c := Promise{Delivered: p.Delivered}
	if p.Delivered != "read" {
		c.Intact = p.Intact
		if p.Proof == Disproved {
			c.Proof = Disproved
		}
	}
	return c
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

// rank orders promises from the strongest to the weakest, of equal ones the proved first, and reads
// last.
func rank(p Promise) int {
	r := map[string]int{"synced": 0, "flushed": 2, "buffered": 4, "": 6, "read": 8}[p.Delivered]
	if !p.Intact {
		r++
	}
	return 4*r + map[string]int{Proved: 0, Unproved: 1, Disproved: 2}[p.Proof]
}
