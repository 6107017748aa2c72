package prove

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/powerfs"
)

// chosen is an operation: a step of one of several recordings, how many of its kind were chosen of
// that one before it, and of all.
type chosen struct {
	of, step, nth, turn int
	unborn              int // 1: there was no commit yet, and a failure has nothing to lose
	light               int // see course.light
}

// order returns the operations that processes asked for, one of each kind in turn. A kind that
// several courses have counts once, and its turns come from all of them: time is short, and every
// recording creates a store and closes it. Of six operations as many are of a rank as the ranks in
// each say. Each file has its turn, in commits and beside them, before another kind of a file that
// had one: a store has few files, and does a hundred kinds of operations on its log. Before them
// come syncs that several commits wait for, those of long files, behind renames and before what
// another file gets, and the writes that end commits; all files of a backup that is made count as
// one. Of a file the rarest kinds come first, and between them the most frequent ones, which are
// what commits do; those that keep weaker commits come before others, and last those that come
// before all commits alone. Of a kind those of one writer come first, which are found again in a
// repeated run, then those behind a commit, then syncs that are to keep weaker commits, not the
// first ones, and those of a heavy course last.
func order(courses []course, each []int, rng *rand.Rand) []chosen {
	of, group, heavy := map[string][]chosen{}, map[string]string{}, make([]int, len(courses))
	many := make([]int, len(courses))
	var kinds [ranks][]string
	for n, c := range courses {
		steps := c.steps
		around, bytes, nth := surroundings(c), written(steps), map[string]int{}
		if heavy[n] = c.heavy(); c.many {
			many[n] = 1
		}
		for _, i := range c.keepingFirst(rng) {
			k := around[i]
			if steps[i].Kind == 0 {
				continue
			}
			if strings.HasPrefix(k, last) { // each course's have their turn
				k = fmt.Sprint(k, " ", n)
			}
			if of[k] == nil {
				r := rankOf(steps[i].Kind, bytes[i])
				kinds[r] = append(kinds[r], k)
				switch group[k] = kindOf(steps[i]); {
				case beside(steps[i]):
					group[k] = steps[i].Kind.String() + " beside"
				case c.aside != nil && c.aside[i]:
					group[k] = "aside " + group[k]
				}
			}
			if strings.HasPrefix(k, orders) {
				group[k] = orders + kindOf(steps[i])
			}
			for _, g := range special {
				if strings.HasPrefix(k, g) && heavy[n] == 0 {
					group[k] = g
				}
			}
			it := chosen{of: n, step: i, nth: nth[k], light: c.light(i)}
			if i < c.first {
				it.unborn = 1
			}
			of[k] = append(of[k], it)
			nth[k]++
		}
	}
	for _, k := range slices.Sorted(maps.Keys(of)) { // jobs that share the work have the same order
		list := of[k]
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		slices.SortStableFunc(list, func(a, b chosen) int {
			return cmp.Or(cmp.Compare(a.nth, b.nth), cmp.Compare(many[a.of], many[b.of]),
				cmp.Compare(a.unborn, b.unborn), cmp.Compare(a.light, b.light),
				cmp.Compare(heavy[a.of], heavy[b.of]))
		})
	}
	var in [ranks][]chosen
	for r, list := range kinds {
		slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(len(of[a]), len(of[b])) })
		list = fromBothEnds(list)
		slices.SortStableFunc(list, func(a, b string) int {
			return cmp.Or(cmp.Compare(of[a][0].unborn, of[b][0].unborn), cmp.Compare(of[a][0].light, of[b][0].light))
		})
		inTurn(inGroups(list, group), of, func(turn, _ int, c chosen) {
			c.turn = turn
			in[r] = append(in[r], c)
		})
	}
	return byRank(in, each)
}

// byRank returns the operations of all ranks, as many of one in turn as each says.
func byRank(of [ranks][]chosen, each []int) (all []chosen) {
	for left := true; left; {
		left = false
		for _, r := range each {
			if r == largeSyncs && len(of[r]) == 0 {
				r = syncs
			}
			if list := of[r]; len(list) > 0 {
				left, all, of[r] = true, append(all, list[0]), list[1:]
			}
		}
	}
	return all
}

// The ranks of operations.
const (
	largeSyncs = iota // of more than a page; where there are none left, other ones
	syncs
	writes
	rest
	ranks
)

// Of six operations that fail four are syncs, of which a failure is forgotten most easily. Where a
// disk is full that is told when something is written or made: half of them are writes.
var (
	failing = []int{largeSyncs, syncs, writes, largeSyncs, syncs, rest}
	filling = []int{writes, largeSyncs, writes, rest, writes, syncs}
)

// special are groups of kinds that are looked at before those of single files; behind them come
// those of each file that begin with orders.
var special = []string{shared, long, last, naming}

// inGroups returns kinds, one of each group in turn, the special ones first.
func inGroups(kinds []string, group map[string]string) (all []string) {
	groups, rest, of := slices.Clone(special), []string(nil), map[string][]string{}
	for _, k := range kinds {
		switch g := group[k]; {
		case of[g] != nil || slices.Contains(special, g):
		case strings.HasPrefix(g, orders):
			groups = append(groups, g)
		default:
			rest = append(rest, g)
		}
		of[group[k]] = append(of[group[k]], k)
	}
	groups = append(groups, rest...)
	inTurn(groups, of, func(_, _ int, k string) { all = append(all, k) })
	return all
}

// inTurn gives do one of each kind, then another one of each that has more, and so on: the turn,
// the place of the kind, and which.
func inTurn[T any](kinds []string, of map[string][]T, do func(turn, kind int, v T)) {
	for turn, found := 0, true; found; turn++ {
		found = false
		for n, k := range kinds {
			if turn < len(of[k]) {
				found = true
				do(turn, n, of[k][turn])
			}
		}
	}
}

// light is 0 if a step is a sync that is to keep weaker commits, too, and there are others before
// them, 1 if there are none, and 2 if it keeps no more than its own commit.
func (c course) light(i int) int {
	switch {
	case c.keeps == nil || !c.keeps[i]:
		return 2
	case i < c.held:
		return 1
	}
	return 0
}

// keepingFirst returns the steps in a random order, those first that are to keep weaker commits.
func (c course) keepingFirst(rng *rand.Rand) []int {
	all := rng.Perm(len(c.steps))
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(c.light(a), c.light(b)) })
	return all
}

// heavy is 1 if a course writes so much that each of its states takes long to be looked at, else 0.
func (c course) heavy() int {
	const much = 8 << 20
	bytes := 0
	for _, s := range c.steps {
		bytes += s.Bytes
	}
	return min(bytes/much, 1)
}

func rankOf(kind powerfs.FaultOp, bytes int) int {
	switch {
	case kind == powerfs.OnSync && amountOf(bytes) > 0:
		return largeSyncs
	case kind == powerfs.OnSync:
		return syncs
	case kind == powerfs.OnWrite:
		return writes
	}
	return rest
}

// fromBothEnds returns the first of a list, the last, the second, and so on.
func fromBothEnds(list []string) []string {
	var all []string
	for i, j := 0, len(list)-1; i <= j; i, j = i+1, j-1 {
		if all = append(all, list[i]); i < j {
			all = append(all, list[j])
		}
	}
	return all
}

// turns is order of the steps of one recording.
func turns(steps []powerfs.Step, rng *rand.Rand) []int {
	var all []int
	for _, p := range order([]course{{steps: steps}}, failing, rng) {
		all = append(all, p.step)
	}
	return all
}

// unmended is a sync that is to keep weaker commits, and that fails with what is to mend it. More
// is missed of a file the more it was to write.
type unmended struct {
	target
	heavy, bytes int
}

// byLoss returns them, of each file in turn those first that were to write most.
func byLoss(syncs []unmended) (all []target) {
	slices.SortStableFunc(syncs, func(a, b unmended) int {
		return cmp.Or(cmp.Compare(a.heavy, b.heavy), cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.Again, b.Again))
	})
	var files []string
	of := map[string][]unmended{}
	for _, u := range syncs {
		file := fmt.Sprint(u.scene, u.Match)
		if of[file] == nil {
			files = append(files, file)
		}
		of[file] = append(of[file], u)
	}
	inTurn(files, of, func(_, _ int, u unmended) { all = append(all, u.target) })
	return all
}

// againEvery: of so many faults one is a sync with which the operations fail that are to mend it,
// first of those that are to keep more than their own commit.
const againEvery = 6

// amid returns the elements of all with one of others among each n, while there are any, the first
// of them third, and the rest of them behind the last.
func amid[T any](all, others []T, n int) (merged []T) {
	for k := 2; len(all) > 0 && len(others) > 0; k = n - 1 {
		k = min(k, len(all))
		merged = append(append(merged, all[:k]...), others[0])
		all, others = all[k:], others[1:]
	}
	return slices.Concat(merged, all, others)
}
