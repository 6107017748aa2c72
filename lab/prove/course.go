package prove

import (
	"regexp"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/powerfs"
)

var digits = regexp.MustCompile(`[0-9]+`)

// kindOf returns what kind of operation a step is: the call, and the file without its number.
func kindOf(s powerfs.Step) string {
	kind := s.Kind.String()
	if s.Done {
		kind = "done"
	}
	return kind + " " + digits.ReplaceAllString(s.Path, "#")
}

// ends reports whether a step makes durable what a sync is for.
func ends(s powerfs.Step) bool { return s.Done || s.Kind == powerfs.OnSync && s.Until == 0 }

// course is what a run did to its disk.
type course struct {
	steps  []powerfs.Step
	aside  []bool // of each step, that no commit was under way; nil is nobody knows
	shared []bool // of each step, that it is a sync for several commits; nil is nobody knows
	stakes []int  // of each step, see there
	// of each step, that it is a sync for a commit behind a weaker one, which it keeps too, or one
	// amid that
	keeps []bool
	first int  // the step at which the first commit begins
	held  int  // the step behind the first commit that is not a weaker one
	many  bool // several writers did it, in another order each time
}

func (r *recording) course() course {
	c := course{steps: r.steps, aside: make([]bool, len(r.steps)), shared: r.shared(), stakes: r.stakes(),
		keeps: make([]bool, len(r.steps)), many: r.scene.writers > 1, first: len(r.steps), held: len(r.steps)}
	for i := range c.aside {
		c.aside[i] = true
	}
	bytes := written(r.steps)
	for _, list := range r.ledger.acks {
		for k, a := range list {
			for i := r.behind(a.Began - 1); i < r.behind(a.Done); i++ {
				c.aside[i] = false
			}
			c.first = min(c.first, r.behind(a.Began))
			if a.Weak {
				for i := r.behind(a.Began); i < r.behind(a.Done); i++ {
					c.keeps[i] = bytes[i] > 0 && r.steps[i].Kind == powerfs.OnSync
				}
				continue
			}
			c.held = min(c.held, r.behind(a.Done))
			if k > 0 && list[k-1].Weak {
				for i := r.behind(list[k-1].Done); i <= r.lastSyncOf(a); i++ {
					c.keeps[i] = r.steps[i].Kind == powerfs.OnSync
				}
			}
		}
	}
	return c
}

// shared tells of each step whether it is a sync that several commits wait for: they began before
// it and are acknowledged between its end and the next one's.
func (r *recording) shared() []bool {
	all, end := make([]bool, len(r.steps)), make([]int, len(r.steps))
	for i, s := range r.steps {
		if s.Done {
			end[r.beginning(i)] = i
		}
	}
	for i, s := range r.steps {
		if end[i] == 0 {
			continue
		}
		next := slices.IndexFunc(r.steps[end[i]+1:], func(n powerfs.Step) bool { return n.Done && n.Path == s.Path })
		waited := 0
		for _, list := range r.ledger.acks {
			for _, a := range list {
				at := r.behind(a.Done)
				if a.Began < s.Monotonic && at > end[i] && (next < 0 || at <= end[i]+1+next) {
					waited++
				}
			}
		}
		all[i] = waited > 1
	}
	return all
}

// surroundings returns what kind of operation each step is, about how much is written or synced by
// it, and what it stands between: the sync of a log in a commit is another than that before the log
// is copied. That of a large commit, if it fails, leaves a hole, where that of a small one leaves a
// page that the next commit writes once more. Others may wait for a sync that takes a while, and so
// may several commits, of which each must hear of its failure. What is done between commits, as by
// opening and closing, is another thing than what they do. So is the sync of a long file, of which
// who mends it may take a part for the whole, and the last write of a commit before its sync, with
// which all of a commit may be there that is said to have failed.
func surroundings(c course) []string {
	steps := c.steps
	kinds := make([]string, len(steps)+2)
	for i, s := range steps {
		kinds[i+1] = kindOf(s)
	}
	all, size := make([]string, len(steps)), map[string]int{} // of each file
	for i, bytes := range written(steps) {
		all[i] = kinds[i+1] + amounts[amountOf(bytes)] + " behind " + kinds[i] + " before " + kinds[i+2]
		if steps[i].Until > 0 {
			all[i] = "slow " + all[i]
		}
		if c.aside != nil && c.aside[i] {
			all[i] = "aside " + all[i]
		}
		switch {
		case c.shared != nil && c.shared[i]:
			all[i] = shared + all[i]
		case c.orders(i):
			all[i] = orders + all[i]
		}
		if c.endsCommit(i) {
			all[i] = last + kinds[i+1]
		}
		if steps[i].Kind == powerfs.OnSync && i > 0 && steps[i-1].Kind == powerfs.OnRename && !beside(steps[i-1]) {
			all[i] = naming + all[i]
		}
		switch s := steps[i]; {
		case s.Kind == powerfs.OnCreate || s.Kind == powerfs.OnTruncate:
			size[s.Path] = 0
		case s.Kind == powerfs.OnSync && size[s.Path] > longFile:
			all[i] = long + all[i]
		default:
			size[s.Path] += s.Bytes
		}
	}
	return all
}

// beside reports whether a step is of files beside the store, as those of a backup that is made.
func beside(s powerfs.Step) bool { return strings.HasPrefix(strings.TrimPrefix(s.Path, "/"), ".") }

// orders reports whether step i is a sync right before a write to another file: what is written
// there may count on it.
func (c course) orders(i int) bool {
	if c.steps[i].Kind != powerfs.OnSync || beside(c.steps[i]) {
		return false
	}
	next := slices.IndexFunc(c.steps[i+1:], func(s powerfs.Step) bool { return s.Kind != 0 })
	if next < 0 {
		return false
	}
	s := c.steps[i+1+next]
	return s.Kind == powerfs.OnWrite && s.Path != c.steps[i].Path && !beside(s)
}

// endsCommit reports whether step i is the write right before the sync that a commit waits for.
func (c course) endsCommit(i int) bool {
	return c.stakes != nil && i+1 < len(c.steps) && c.steps[i].Kind == powerfs.OnWrite &&
		c.steps[i+1].Path == c.steps[i].Path && c.stakes[i+1] == acknowledged
}

// sortsOf returns what kind of operation each step is, as surroundings does, without what it stands
// between.
func sortsOf(c course) []string {
	all := surroundings(c)
	for i, kind := range all {
		all[i], _, _ = strings.Cut(kind, " behind ")
	}
	return all
}

// written returns how many bytes each step writes, or, if it is a sync, have been written to the
// file since the one before.
func written(steps []powerfs.Step) []int {
	all, unsynced := make([]int, len(steps)), map[string]int{}
	for i, s := range steps {
		all[i] = s.Bytes
		if unsynced[s.Path] += s.Bytes; s.Kind == powerfs.OnSync {
			all[i], unsynced[s.Path] = unsynced[s.Path], 0
		}
	}
	return all
}

// amounts are a page, some, many and more than a MiB, from one page more on than those before have.
var (
	amounts   = [...]string{"", ", some pages,", ", many pages,", ", most pages,"}
	pagesFrom = [...]int{0, 2, 17, 257}
)

// The kind of a sync begins with long if more than so many bytes are in the file, else with naming
// if it is to keep a rename, which others see though it fails, with shared if it is that, or with
// orders if what another file gets next may count on it; that of a write with last if it ends a
// commit.
const (
	long     = "long "
	longFile = 1 << 20
	shared   = "shared "
	last     = "last "
	naming   = "naming "
	orders   = "orders "
)

func amountOf(bytes int) int {
	switch {
	case bytes <= 4<<10:
		return 0
	case bytes <= 64<<10:
		return 1
	case bytes <= 1<<20:
		return 2
	}
	return 3
}
