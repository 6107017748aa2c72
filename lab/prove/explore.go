package prove

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
)

// explorer goes through the moments of a recording: before each operation it makes the states that
// a crash may leave, has those verified that are new, and holds all against what was acknowledged
// until then.
type explorer struct {
	rec   *recording
	rng   *rand.Rand
	pass         // the present one
	later []pass // those that take turns with it
	loose []bool // moments that are not looked at: nothing is promised of them; nil is none
	known map[[32]byte]*verified
	cells func(rule powerfs.Rule) *cell
	// keep, if set, is told of each new state that is whole.
	keep func(i int, s powerfs.State, img *powerfs.Image, o outcome)
	// covers: what is looked at counts as covered of the task's operations.
	covers bool
	looked map[int]bool
}

// fresh reports whether a moment is looked at for the first time, and notes it.
func (x *explorer) fresh(i int) bool {
	known := x.looked[i]
	x.looked[i] = true
	return !known
}

// counts has an explorer tell the cells of a job what it finds, and how many of the operations of
// its recording it has looked at.
func (r *runner) counts(j *job, x *explorer) {
	x.cells, x.covers = j.cellOf, true
	r.mu.Lock()
	defer r.mu.Unlock()
	j.ops += len(x.rec.steps) + 1
}

// cover counts a moment that was looked at.
func (r *runner) cover(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.covered++
}

// stateFunc returns the states of the player's moment that are to be looked at.
type stateFunc func(*powerfs.Player, *rand.Rand) []powerfs.State

// pass is a way through moments.
type pass struct {
	left   []int // moments to come, those first that are worth most
	states stateFunc
	weight int   // its share of what is looked at, if there are others
	had    int   // moments, and states that were opened and compared, so far
	then   *pass // what follows it; nil is nothing
}

// turn makes the pass the present one that has had least by its share: one that has many moments
// leaves the others their part, and with it the rules that only they try. It returns false if
// nothing is left.
func (x *explorer) turn() bool {
	all := append(x.later, x.pass)
	for i := range all {
		for len(all[i].left) == 0 && all[i].then != nil {
			weight, had := all[i].weight, all[i].had
			all[i] = *all[i].then
			all[i].weight, all[i].had = weight, had
		}
	}
	all = slices.DeleteFunc(all, func(p pass) bool { return len(p.left) == 0 })
	if len(all) == 0 {
		x.later = nil
		return false
	}
	slices.SortStableFunc(all, func(a, b pass) int { return a.had*b.weight - b.had*a.weight })
	x.pass, x.later = all[0], all[1:]
	return true
}

// verified is a state that was opened and compared.
type verified struct {
	outcome
	lacks bool  // a property, and was counted
	in    *cell // that counts it
}

// newExplorer returns one of the moments of rec from index first on.
func newExplorer(rec *recording, first int, salt string) *explorer {
	x := &explorer{rec: rec, known: map[[32]byte]*verified{}, looked: map[int]bool{}, loose: rec.loose()}
	x.rng = rand.New(rand.NewPCG(mix(rec.seed, "explore", salt), rec.seed))
	x.left = moments(rec.course(), first, x.rng)
	return x
}

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
	keeps  []bool // of each step, that it is a sync for a commit behind a weaker one, which it keeps too
	first  int    // the step at which the first commit begins
	many   bool   // several writers did it, in another order each time
}

func (r *recording) course() course {
	c := course{steps: r.steps, aside: make([]bool, len(r.steps)), shared: r.shared(), stakes: r.stakes(),
		keeps: make([]bool, len(r.steps)), many: r.scene.writers > 1, first: len(r.steps)}
	for i := range c.aside {
		c.aside[i] = true
	}
	for _, list := range r.ledger.acks {
		for k, a := range list {
			for i := r.behind(a.Began - 1); i < r.behind(a.Done); i++ {
				c.aside[i] = false
			}
			c.first = min(c.first, r.behind(a.Began))
			if !a.Weak && k > 0 && list[k-1].Weak {
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
		if c.shared != nil && c.shared[i] {
			all[i] = shared + all[i]
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

// The kind of a sync begins with long if more than so many bytes are in the file, else with shared
// if it is that, or with naming if it is to keep a rename, which others see though it fails; that
// of a write with last if it ends a commit.
const (
	long     = "long "
	longFile = 1 << 20
	shared   = "shared "
	last     = "last "
	naming   = "naming "
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

// chunk is how many moments are looked at while the tape is played once.
const chunk = 12

// explore looks at moments until none is left or until, and returns whether any is left.
func (l *lane) explore(ctx context.Context, t *task, x *explorer, until time.Time) (more bool, err error) {
	for first := true; x.turn() && (first || time.Now().Before(until)); first = false {
		some := slices.Clone(x.left[:min(chunk, len(x.left))])
		slices.Sort(some)
		p, err := x.rec.tape.Play()
		if err != nil {
			return false, err
		}
		done := map[int]bool{}
		for _, i := range some {
			if len(done) > 0 && !time.Now().Before(until) {
				break
			}
			if err := p.Forward(i); err != nil {
				return false, err
			}
			if err := l.exploreMoment(ctx, t, x, p, i); err != nil {
				return false, err
			}
			done[i] = true
			x.had++
			if x.covers && x.fresh(i) {
				l.cover(t)
			}
		}
		// Another pass may go through the same moments: they stay as they are.
		x.left = slices.DeleteFunc(slices.Clone(x.left), func(i int) bool { return done[i] })
	}
	return x.turn(), nil
}

// loose tells of each moment whether nothing is promised of it when power fails: the last commit
// that was acknowledged is a loose one of its one writer, or the next one is, which may have begun.
// nil is that no commit is loose.
func (r *recording) loose() []bool {
	if r.past.Work.Loose == kv.Synced {
		return nil
	}
	all, from, loose := make([]bool, len(r.steps)+1), 0, true
	until := func(end int) {
		for ; from < end; from++ {
			all[from] = loose
		}
	}
	for _, a := range r.ledger.acks[0] {
		until(r.behind(a.Done))
		loose = a.Weak || r.past.Work.class(a.N+1, kv.Synced) != kv.Synced
	}
	until(len(all))
	return all
}

// exploreMoment looks at the states of one moment.
func (l *lane) exploreMoment(ctx context.Context, t *task, x *explorer, p *powerfs.Player, i int) error {
	if x.loose != nil && x.loose[i] {
		return nil
	}
	tr := x.rec.trial(i)
	if at := x.rec.stoppedAt(i); at > 0 {
		tr.at = at
	}
	crashed := map[*cell]bool{}
	for _, s := range x.states(p, x.rng) {
		c := x.cells(s.Rule)
		if c == nil {
			continue
		}
		img, err := p.Image(s)
		if err != nil {
			return err
		}
		sum := img.Sum()
		v, known := x.known[sum]
		if !known {
			o, err := l.examineImage(ctx, t, img, x.rec)
			if err != nil {
				return err
			}
			v = &verified{outcome: o}
			x.known[sum] = v
			x.had++
			if x.keep != nil && o.Broken == "" && o.Torn == "" && !o.Late {
				x.keep(i, s, img, o)
			}
		}
		l.mu.Lock()
		if !crashed[c] {
			crashed[c] = true
			c.crash(tr)
		}
		c.found(t, x, i, s, img, tr, v, known)
		if !known {
			t.saw(c, sum, v.outcome)
			if !v.Late {
				l.images++
			}
		}
		l.mu.Unlock()
	}
	return nil
}

// examineImage has an image verified, and once more if that was late: a machine that stood still,
// as one that was suspended, makes no engine hang.
func (l *lane) examineImage(ctx context.Context, t *task, img *powerfs.Image, rec *recording) (outcome, error) {
	hung := t.hung
	o, err := l.examineOnce(ctx, t, img, rec)
	if err == nil && o.Late && !hung {
		t.hung = false
		o, err = l.examineOnce(ctx, t, img, rec)
	}
	return o, err
}

// examineOnce verifies an image; half of them are written on, and of those half once they were
// opened again.
func (l *lane) examineOnce(ctx context.Context, t *task, img *powerfs.Image, rec *recording) (outcome, error) {
	dir := l.fastFolder("image")
	defer discard(dir)
	if err := img.Export(dir); err != nil {
		return outcome{}, err
	}
	spec := verifySpec{Store: rec.store, Past: rec.past, Salt: mix(rec.seed, "salt", 1)}
	spec.Store.Dir, spec.Copies = dir, rec.copies
	sum := img.Sum()
	if spec.Reopen = sum[1]%2 == 0; sum[0]%2 == 0 {
		spec.More = moreCommits
	}
	return l.verify(ctx, t, spec)
}

// troubled records that a run went wrong by itself.
func (l *lane) troubled(cells []*cell, rec *recording) {
	if rec.trouble == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	tr := rec.trial(len(rec.steps))
	o := outcome{Late: late(rec.trouble)}
	for range tr.writers() {
		o.N = append(o.N, math.MaxUint64) // of what is kept, its images tell
	}
	if !o.Late {
		o.Broken = "while it ran: " + rec.trouble.Error()
	}
	for _, c := range cells {
		c.crash(tr)
		c.record(tr, o)
	}
}

// happened says what a recording did, by kinds of operations, and of files where it is more than
// writes and syncs.
func (r *recording) happened() map[string]int {
	n := map[string]int{}
	for _, s := range r.steps {
		switch s.Kind {
		case 0:
		case powerfs.OnWrite, powerfs.OnSync:
			n[s.Kind.String()]++
		default:
			n[s.Kind.String()+" "+path.Base(digits.ReplaceAllString(s.Path, "#"))]++
		}
	}
	return n
}
