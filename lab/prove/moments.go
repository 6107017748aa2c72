package prove

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/assaydb/assay/lab/powerfs"
)

// moments returns the moments before the steps from index first on, and behind the last, in the
// order of their worth: each kind of operation has its turns, those of rare calls first, at once
// before and behind them; between them come any.
func moments(c course, first int, rng *rand.Rand) []int {
	steps := c.steps
	var kinds []string
	of := map[string][]int{}
	for i, k := range surroundings(c) {
		if i < first {
			continue
		}
		if of[k] == nil {
			kinds = append(kinds, k)
		}
		of[k] = append(of[k], i)
	}
	call := map[string]int{}
	for _, s := range steps[first:] {
		call[kindOf(s)]++
	}
	rarity := func(kind string) int { return call[kindOf(steps[of[kind][0]])] }
	slices.SortStableFunc(kinds, func(a, b string) int { return rarity(a) - rarity(b) })
	for _, k := range kinds {
		list := of[k]
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	order, seen := []int{len(steps)}, map[int]bool{len(steps): true}
	for turn := 0; len(seen) < len(steps)-first+1; turn++ {
		for _, k := range kinds {
			if turn >= len(of[k]) {
				continue
			}
			other := first + rng.IntN(len(steps)-first+1)
			for _, i := range []int{of[k][turn], of[k][turn] + 1, other} {
				if !seen[i] {
					seen[i], order = true, append(order, i)
				}
			}
		}
	}
	return order
}

// pressing puts those moments first at which most is at stake when power fails, in the order that
// they have: before what is no write, for until then writes gather of which any may be lost, and
// behind a change of names. What may be left between two writes may be left later, too, as what is
// left when a sync begins may be when it is done.
func (r *recording) pressing(moments []int) []int {
	write := func(i int) bool {
		s := r.steps[i]
		return !s.Done && (s.Kind == 0 || s.Kind == powerfs.OnWrite || s.Until > 0)
	}
	var first, rest []int
	for _, i := range moments {
		named := i > 0 && !write(i-1) && !ends(r.steps[i-1])
		if i == len(r.steps) || named || !write(i) {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	return append(first, rest...)
}

// extent is what a commit did to the disk.
type extent struct {
	began, done int // its first step, and the one behind it
	pairs       int // beside its own, of a large one
}

// extents returns those of all commits, writer by writer.
func (r *recording) extents() (all []extent) {
	for _, list := range r.ledger.acks {
		for _, a := range list {
			all = append(all, extent{r.behind(a.Began), r.behind(a.Done), r.scene.work.pairs(a.N)})
		}
	}
	return all
}

// inside returns moments within commits, of which a part is on the disk then: a few of each, of
// those of most pairs first, then of those that change it most often.
func (r *recording) inside() []int {
	const steps, commits, each = 3, 6, 10
	all := slices.DeleteFunc(r.extents(), func(c extent) bool { return c.done-c.began <= steps })
	slices.SortStableFunc(all, func(a, b extent) int {
		return cmp.Or(cmp.Compare(b.pairs, a.pairs), cmp.Compare(b.done-b.began, a.done-a.began))
	})
	var moments []int
	for _, c := range all[:min(len(all), commits)] {
		n := min(c.done-c.began-1, each)
		for k := range n {
			if i := c.began + 1 + k*(c.done-c.began-1)/n; !slices.Contains(moments, i) {
				moments = append(moments, i)
			}
		}
	}
	return moments
}

// syncs returns the moments before syncs, and the end. Until there, what is certain stays as it is
// while more and more is acknowledged: a sync that was left out shows at one of these moments, or
// nowhere. Those come first that follow a sync amid which its file was written: who trusted that
// one shows there. Then those within large commits, of which a part may be certain, and then those
// until which something was acknowledged since the sync before: the others that follow show no more
// than that one, which is of the rarest kind of theirs. Of each, each file has its turn, and each
// kind, a rare one first: a table is synced once for many commits.
func (r *recording) syncs() []int {
	var first, amid, told, rest []int
	var large []extent
	acked := map[int]bool{}
	for _, c := range r.extents() {
		if acked[c.done] = true; c.pairs > 0 {
			large = append(large, c)
		}
	}
	kinds, files, many := surroundings(r.course()), make([]string, len(r.steps)), map[string]int{}
	for i, s := range r.steps {
		if files[i] = kindOf(s); ends(s) {
			many[kinds[i]]++
		}
	}
	going, written, due, tells, teller := map[string]int{}, map[string]bool{}, false, false, -1
	for i, s := range r.steps {
		tells = tells || acked[i]
		switch {
		case !ends(s):
		case due:
			first = append(first, i)
		case slices.ContainsFunc(large, func(c extent) bool { return c.began < i && i < c.done }):
			amid = append(amid, i)
		case tells:
			told = append(told, i)
		default:
			if rest = append(rest, i); teller >= 0 && many[kinds[i]] < many[kinds[teller]] {
				kinds[teller], files[teller] = kinds[i], files[i]
			}
		}
		if ends(s) && tells {
			tells, teller = false, i
		}
		switch {
		case s.Done:
			going[s.Path]--
			due, written[s.Path] = written[s.Path], false
		case ends(s):
			due = false
		case s.Kind == powerfs.OnSync:
			going[s.Path]++
		case s.Kind == powerfs.OnWrite && going[s.Path] > 0:
			written[s.Path] = true
		}
	}
	return slices.Concat(rareFirst(first, kinds, files), rareFirst(amid, kinds, files), rareFirst(told, kinds, files),
		[]int{len(r.steps)}, rareFirst(rest, kinds, files))
}

// renamed returns the moments right behind a change or an end of a name, one of each kind in turn:
// what has lost its name then is not needed any more, in whatever state the rest is.
func (r *recording) renamed() []int {
	return r.rightBehind(func(s powerfs.Step) bool {
		return s.Kind&(powerfs.OnRename|powerfs.OnRemove|powerfs.OnTruncate) != 0
	})
}

// crossing returns the moments behind writes of less than a page that cross the end of a sector,
// one of each file in turn: of a record that is short the end of one is seldom within it, as of
// those of a manifest.
func (r *recording) crossing() []int {
	const page, sector = 4096, 512
	return r.rightBehind(func(s powerfs.Step) bool {
		n := int64(s.Bytes)
		return s.Kind == powerfs.OnWrite && 0 < n && n < page && s.Off/sector != (s.Off+n-1)/sector
	})
}

// rightBehind returns the moments right behind some steps, one of each kind in turn.
func (r *recording) rightBehind(some func(powerfs.Step) bool) (moments []int) {
	kinds := make([]string, len(r.steps)+1)
	for i, s := range r.steps {
		if some(s) {
			moments, kinds[i+1] = append(moments, i+1), kindOf(s)
		}
	}
	return rareFirst(moments, kinds, kinds)
}

// rareFirst returns moments one of each kind in turn, those of groups in turn and the rarest first.
func rareFirst(moments []int, kindAt, groupAt []string) (all []int) {
	var kinds []string
	of, group := map[string][]int{}, map[string]string{}
	for _, i := range moments {
		k := kindAt[i]
		if of[k] == nil {
			kinds = append(kinds, k)
		}
		of[k], group[k] = append(of[k], i), groupAt[i]
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(len(of[a]), len(of[b])) })
	inTurn(inGroups(kinds, group), of, func(_, _ int, i int) { all = append(all, i) })
	return all
}
