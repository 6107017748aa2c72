package prove

import (
	"cmp"
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
}

// order returns the operations that processes asked for, one of each kind in turn. A kind that
// several courses have counts once, and its turns come from all of them: time is short, and every
// recording creates a store and closes it. Of six operations four are syncs, of which a failure is
// forgotten most easily, two of them, while there are any, of more than a page, and one is a
// write. Each file has its turn, in commits and beside them, before another kind of a file that
// had one: a store has few files, and does a hundred kinds of operations on its log. Before them
// come syncs that several commits wait for, those of long files and behind renames, and the writes
// that end commits; all files of a backup that is made count as one. Of a file the rarest kinds
// come first, and between them the most frequent ones, which are what commits do. Of a kind those
// of one writer come first, which are found again in a repeated run, then those behind a
// commit, and those of a heavy course last.
func order(courses []course, rng *rand.Rand) []chosen {
	of, group, heavy := map[string][]chosen{}, map[string]string{}, make([]int, len(courses))
	many := make([]int, len(courses))
	var kinds [4][]string // of large syncs, of the others, of writes, of the rest
	for n, c := range courses {
		steps := c.steps
		around, bytes, nth := surroundings(c), written(steps), map[string]int{}
		if heavy[n] = c.heavy(); c.many {
			many[n] = 1
		}
		for _, i := range rng.Perm(len(steps)) {
			k := around[i]
			if steps[i].Kind == 0 {
				continue
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
			for _, g := range special {
				if strings.HasPrefix(k, g) && heavy[n] == 0 {
					group[k] = g
				}
			}
			it := chosen{of: n, step: i, nth: nth[k]}
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
				cmp.Compare(a.unborn, b.unborn), cmp.Compare(heavy[a.of], heavy[b.of]))
		})
	}
	var ranks [4][]chosen
	for r, list := range kinds {
		slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(len(of[a]), len(of[b])) })
		inTurn(inGroups(fromBothEnds(list), group), of, func(turn, _ int, c chosen) {
			c.turn = turn
			ranks[r] = append(ranks[r], c)
		})
	}
	large, small, writes, rest := &ranks[0], &ranks[1], &ranks[2], &ranks[3]
	var all []chosen
	for len(*large)+len(*small)+len(*writes)+len(*rest) > 0 {
		if len(*large) == 0 {
			large = small
		}
		for _, from := range []*[]chosen{large, small, writes, large, small, rest} {
			if len(*from) > 0 {
				all, *from = append(all, (*from)[0]), (*from)[1:]
			}
		}
	}
	return all
}

// special are groups of kinds that are looked at before those of single files.
var special = []string{shared, long, last, naming}

// inGroups returns kinds, one of each group in turn, the special ones first.
func inGroups(kinds []string, group map[string]string) (all []string) {
	groups, of := slices.Clone(special), map[string][]string{}
	for _, k := range kinds {
		g := group[k]
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
		of[g] = append(of[g], k)
	}
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
		return 0
	case kind == powerfs.OnSync:
		return 1
	case kind == powerfs.OnWrite:
		return 2
	}
	return 3
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
	for _, p := range order([]course{{steps: steps}}, rng) {
		all = append(all, p.step)
	}
	return all
}
