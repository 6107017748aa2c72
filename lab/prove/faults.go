package prove

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// target is an operation of a faulty scene that is to fail, and how.
type target struct {
	scene int
	powerfs.Fault
	told  bool  // of a short write the process is told how much is done: the next write fails
	space int64 // instead, so many bytes fit on the disk
}

// faults is a job: one operation of a short run fails, or the disk becomes full, and the process
// goes on as far as the engine lets it. Then it is killed, or power fails, before every operation
// that follows.
func (l *lane) faults(ctx context.Context, j *job, until time.Time) (more bool, err error) {
	if j.targets == nil {
		if j.targets, err = l.targetsOf(ctx, j); err != nil {
			return false, err
		}
	}
	for tries := 0; l.anotherFault(j) && (tries == 0 || time.Now().Before(until) ||
		tries < mostFirst && len(l.untried(j.task)) > 0); tries++ {
		err := error(nil)
		switch j.rounds++; {
		case l.Rounds == 0 && j.rounds%16 == 0 && j.fault == result.FaultEIO:
			err = l.restart(ctx, j, true)
		case l.Rounds == 0 && j.rounds%meetEvery == 2 && j.fault == result.FaultEIO && j.caps.Shared:
			err = l.meetAtFault(ctx, j)
		case l.Rounds == 0 && j.followDue():
			err = l.followUp(ctx, j)
		default:
			err = l.faultRound(ctx, j)
		}
		if err != nil {
			return false, err
		}
	}
	return l.anotherFault(j), nil
}

func (l *lane) anotherFault(j *job) bool { return l.anotherBehind(j, j.made) }

// healthy is a faulty scene on a disk that does not fail.
type healthy struct {
	course
	used []int64 // of the disk before each step, in bytes
}

// healthyRuns returns the faulty scenes on a disk that does not fail, which are run once for all
// faults of a pair.
func (l *lane) healthyRuns(ctx context.Context, j *job) ([]healthy, error) {
	j.making.Lock()
	defer j.making.Unlock()
	if j.healthy != nil {
		return j.healthy, nil
	}
	var all []healthy
	for k, s := range faulty {
		rec, err := l.record(ctx, j.task, j.fitted(s), mix(l.Seed, "faulty", k), run{})
		if err != nil {
			return nil, err
		}
		p, err := rec.tape.Play()
		if err != nil {
			return nil, err
		}
		h := healthy{rec.course(), make([]int64, len(rec.steps))}
		for i := range h.used {
			if err := p.Forward(i); err != nil {
				return nil, err
			}
			h.used[i] = p.Used()
		}
		all = append(all, h)
	}
	j.healthy = all
	return all, nil
}

// targetsOf returns the operations of the faulty scenes that are to fail. A write fails as a whole
// and half done, or done; a sync once, with the next one, and with the two operations on its file
// that follow, or all until the store is closed and one more, so that what mends the first failure
// fails as well, and what mends that; a disk becomes full at one write or sync, or for good.
// Nothing fails of the index that processes share who use SQLite, which is made anew behind a
// crash.
func (l *lane) targetsOf(ctx context.Context, j *job) ([]target, error) {
	runs, err := l.healthyRuns(ctx, j)
	if err != nil {
		return nil, err
	}
	var courses []course
	var bytes [][]int   // of each scene and step, see written
	var at [][][]target // how it can fail, as a whole first
	for k, h := range runs {
		of := make([][]target, len(h.steps))
		for i, f := range faultsAt(h.steps) {
			if f.Nth > 0 && !sharedIndex.MatchString(h.steps[i].Path) {
				full := max(h.used[i]+int64(h.steps[i].Bytes)/2, 1)
				if continues(h.steps, i) {
					f.Again = 1 // the process hears of what came before, and writes the rest again
				}
				of[i] = j.variants(k, f, full, h.steps[i], h.endsCommit(i))
			}
		}
		courses, bytes, at = append(courses, h.course), append(bytes, written(h.steps)), append(at, of)
	}
	j.deaths = j.deathsOf(courses, at, rand.New(rand.NewPCG(mix(l.Seed, "deaths"), l.Seed)))
	var all []target
	each := failing
	if j.fault == result.FaultENOSPC {
		each = filling
	}
	places := order(courses, each, rand.New(rand.NewPCG(mix(l.Seed, "targets"), l.Seed)))
	var keeping []unmended
	var again []target
	// all of them fail in one way before one fails in another: its kind does meanwhile
	for v, found := 0, true; found; v++ {
		found = false
		for _, p := range places {
			if list := at[p.of][p.step]; v < len(list) {
				found = true
				switch t := list[(v+p.turn)%len(list)]; {
				case !t.Any:
					all = append(all, t)
				case courses[p.of].keeps[p.step]:
					keeping = append(keeping, unmended{t, courses[p.of].heavy(), bytes[p.of][p.step]})
				default:
					again = append(again, t)
				}
			}
		}
	}
	return amid(all, slices.Concat(byLoss(keeping), again), againEvery), nil
}

// faultsAt returns the fault that strikes each step, if the run is repeated, of which Nth is 0 if
// there is none. Upkeep goes on beside commits, in another order each time, so that an operation is
// found again among those on files of its name; and where commits meet in a slow sync, which they
// do otherwise each time, by how much that is to write.
func faultsAt(steps []powerfs.Step) []powerfs.Fault {
	all, nth := make([]powerfs.Fault, len(steps)), map[powerfs.Fault]uint64{}
	for i, bytes := range written(steps) {
		s := steps[i]
		if s.Kind == 0 {
			continue
		}
		f := powerfs.Fault{Op: s.Kind, Match: digits.ReplaceAllString(path.Base(s.Path), "*")}
		nth[f]++
		if s.Until > 0 {
			for _, f.Pages = range pagesFrom[1 : amountOf(bytes)+1] {
				nth[f]++
			}
		}
		all[i] = f
		all[i].Nth = nth[f]
	}
	return all
}

// continues reports whether a step is the rest of a call's write: the kernel hands on in parts what
// begins within a page and ends in another.
func continues(steps []powerfs.Step, i int) bool {
	const page = 4096
	s := steps[i]
	return i > 0 && s.Kind == powerfs.OnWrite && !s.Cache && s.Off%page == 0 && steps[i-1].Kind == powerfs.OnWrite &&
		steps[i-1].Path == s.Path && steps[i-1].Off+int64(steps[i-1].Bytes) == s.Off && steps[i-1].Off%page > 0
}

// mayFill are the operations that may find no space: a sync, where the file system looks for it
// when it writes back, as btrfs, xfs and NFS do.
const mayFill = powerfs.OnWrite | powerfs.OnCreate | powerfs.OnAllocate | powerfs.OnTruncate | powerfs.OnSync

// untold: of so many writes that are half done one tells nothing of that, and another one, if the
// disk is not full, is wholly done, as of a server whose answer is lost.
const untold = 4

// variants returns how one operation of a scene can fail. What is written during a slow sync that
// fails is lost with the rest, or is not. Most writes that are half done are as with the system's
// own disks: the process is told how much is done, and the write of the rest fails. That is how a
// disk becomes full first. Nobody is told how much of what was mapped is written back: that fails.
// A write that ends a commit is wholly done first where it may be: then all of a commit is there
// that has failed.
func (j *job) variants(scene int, f powerfs.Fault, space int64, of powerfs.Step, ends bool) []target {
	full := j.fault == result.FaultENOSPC
	if full && f.Op&mayFill == 0 {
		return nil
	}
	if f.Err = syscall.EIO; full {
		f.Err = syscall.ENOSPC
	}
	all := []target{{scene: scene, Fault: f}}
	if f.Op == powerfs.OnWrite {
		part, turn := f, (f.Nth+f.Nth/untold)%untold // who writes a header and a page in turn has both
		if part.Done = !full && (ends || turn == untold/2); !part.Done {
			part.Short = true
		}
		all = append(all, target{scene: scene, Fault: part, told: part.Short && turn != 0 && !of.Cache})
		if full || ends && part.Done {
			slices.Reverse(all)
		}
	}
	if full && f.Op == powerfs.OnSync {
		return all
	}
	if f.Op == powerfs.OnSync {
		next, more := f, f
		next.Again, more.Again, more.Any = 1, 2, true
		all = append(all, target{scene: scene, Fault: next}, target{scene: scene, Fault: more})
		more.Again, more.Until = 1, closing+"*"
		all = append(all, target{scene: scene, Fault: more})
	}
	if of.Until > 0 { // a slow sync
		later := f
		later.Later = true
		all = append(all, target{scene: scene, Fault: later})
	}
	if full {
		all = append(all, target{scene: scene, space: space})
	}
	if f.Nth%8 == 0 { // a disk that fails for good shows little: it comes now and then
		f.Sticky = true
		all = append(all, target{scene: scene, Fault: f})
	}
	return all
}

func (l *lane) faultRound(ctx context.Context, j *job) error {
	k := j.made*j.of + j.number
	j.made++
	l.begun(j.task)
	t := target{scene: k % len(faulty)}
	if len(j.targets) > 0 {
		t = j.targets[k%len(j.targets)]
	}
	o, s := t.options(), j.fitted(faulty[t.scene])
	if t.Any { // what could not be mended meets a close, also if it failed last
		s.legs = append(slices.Clone(s.legs), leg{reopen, 1})
	}
	modest := mix(l.Seed, "modest", k) % 4
	s.work.Modest = modest < 2 || t.Short && modest < 3 // what is left of a write ends behind a smaller one
	rec, err := l.record(ctx, j.task, s, mix(l.Seed, "faulty", t.scene), run{options: o})
	if err != nil {
		return err
	}
	rec.seed = mix(l.Seed, "fault", j.fault, k)
	if rec.hung {
		l.warnHung(j.task)
	}
	l.troubled(j.cells, rec)
	first := slices.IndexFunc(rec.steps, func(s powerfs.Step) bool { return s.Failed })
	if first < 0 {
		first = len(rec.steps)
	}
	x := newExplorer(rec, min(first+1, len(rec.steps)), "fault")
	if !j.excused(rec.scene) {
		j.followLater(t, o, rec.mending(first, x.rng), rec.ofCommits(first))
	}
	telling := rec.telling(first)
	x.left = append(telling, slices.DeleteFunc(x.left, func(i int) bool { return slices.Contains(telling, i) })...)
	x.cells = j.cellOf
	every := j.behindFault(rec)
	// First all operations, then more of what follows each.
	most := tellingMoments
	if k >= len(j.targets) {
		most = faultMoments
	}
	x.left, x.states = x.left[:min(most, len(x.left))], every
	if l.Rounds > 0 {
		x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State { return few(every(p, rng), rng) }
		_, err = l.explore(ctx, j.task, x, l.within(turnTime))
		return err
	}
	if t.Op == powerfs.OnSync && t.Again > 0 { // what could not be mended may be copied
		if err := l.exploreGathered(ctx, j, x, first); err != nil {
			return err
		}
	}
	someTime := turnTime
	switch {
	case t.Op != powerfs.OnSync:
	case k < firstFaults:
		someTime = soonTime
	default: // what it has lost is still read
		someTime = certainTime
	}
	one := func(p *powerfs.Player, rng *rand.Rand) []powerfs.State { return every(p, rng)[:1] }
	if t.Op == powerfs.OnWrite { // of which a part or all may be there, unsynced
		one = func(*powerfs.Player, *rand.Rand) []powerfs.State {
			return []powerfs.State{powerfs.Random(everything, 0)}
		}
	}
	return l.explorePasses(ctx, j.task, x, one, someTime)
}

// behindFault returns what makes the states of a moment behind a fault.
func (p *pair) behindFault(rec *recording) func(*powerfs.Player, *rand.Rand) []powerfs.State {
	return func(player *powerfs.Player, rng *rand.Rand) []powerfs.State {
		var states []powerfs.State
		if p.caps.Class == kv.Synced || p.caps.Intact {
			states = player.Some(powerfs.Ordered, rng)
		}
		if states = append(states, rec.killed(player, rng)...); len(states) == 0 {
			states = append(states, powerfs.Random(everything, 0))
		}
		return states
	}
}

// explorePasses explores, as time may end it, of all moments one state alone, then some states, for
// so long, then all.
func (l *lane) explorePasses(ctx context.Context, t *task, x *explorer, one stateFunc,
	someTime time.Duration) error {
	all, every, end := x.left, x.states, time.Now().Add(turnTime)
	x.states = one
	if _, err := l.explore(ctx, t, x, time.Now().Add(certainTime)); err != nil {
		return err
	}
	x.left = all
	x.states = func(p *powerfs.Player, rng *rand.Rand) []powerfs.State { return few(every(p, rng), rng) }
	if _, err := l.explore(ctx, t, x, time.Now().Add(someTime)); err != nil || !time.Now().Before(end) {
		return err
	}
	x.left, x.states = all, every
	_, err := l.explore(ctx, t, x, end)
	return err
}

// The first faults, and the first deaths, are looked at for no longer than soonTime in more than
// one state: each file has had its turn early, and a fault that most stores forget shows in what
// is certain.
const (
	firstFaults = 36
	soonTime    = 2 * turnTime
)

// certainTime is how long a fault may take until all moments behind it were looked at in one state,
// and as long again until those behind a failed sync were in some.
const certainTime = 4 * turnTime

// Moments behind a fault that are looked at: at first a few, then more.
const (
	tellingMoments = 18
	openingMoments = 4
	mendingMoments = 4
	faultMoments   = 24
)

// telling returns the moments behind a fault at step i that show most: right behind it, before the
// last syncs until commits are taken again, when the disk may lack what is read for mending it,
// before and behind the syncs of the commits that are acknowledged then, for until then the disk
// may still need what they replace, and at the end. Such a commit may have begun before the fault,
// beside the one that met it. Who opens the store once more may write over what it was to be opened
// by: so the first syncs of the next opening tell as much as the last ones.
func (r *recording) telling(i int) []int {
	if i >= len(r.steps) {
		return r.tellingSince(i, math.MaxInt64)
	}
	return r.tellingSince(i, r.steps[i].Monotonic)
}

// tellingSince is telling by what was acknowledged since a time.
func (r *recording) tellingSince(i int, since int64) []int {
	var found []int
	var later []ack
	for _, list := range r.ledger.acks {
		for _, a := range list {
			if a.Done > since {
				later = append(later, a)
			}
		}
	}
	slices.SortFunc(later, func(a, b ack) int { return cmp.Compare(a.Done, b.Done) })
	again := len(r.steps)
	if len(later) > 0 {
		again = r.behind(later[0].Began)
	}
	for k := again - 1; k > i && len(found) < mendingMoments; k-- {
		if ends(r.steps[k]) {
			found = append(found, k)
		}
	}
	for _, a := range later[:min(2, len(later))] {
		end := r.behind(a.Done)
		for k := max(r.behind(a.Began), i+1); k < end; k++ {
			if ends(r.steps[k]) {
				found = append(found, k, k+1)
			}
		}
		found = append(found, end)
	}
	slices.Sort(found)
	found = append(r.openingSince(since, again), found...)
	found = append([]int{r.failedBy(i), r.toldBy(since), len(r.steps), min(i+1, len(r.steps))}, found...)
	var few []int
	for _, at := range found {
		if !slices.Contains(few, at) && len(few) < tellingMoments {
			few = append(few, at)
		}
	}
	return few
}

// toldBy returns the moment before the first operation that follows the first error of a commit
// since a time: who made it knows by then what the error says of it. It is the end if there is
// none.
func (r *recording) toldBy(since int64) int {
	for _, f := range r.ledger.failed {
		if f.At > since {
			return r.behind(f.At)
		}
	}
	return len(r.steps)
}

// openingSince returns the moments behind the first syncs of the first opening since a time, which
// is over before a moment.
func (r *recording) openingSince(since int64, end int) (moments []int) {
	opened := int64(math.MaxInt64 - 1)
	for _, at := range r.ledger.opened {
		if at > since {
			opened = min(opened, at)
		}
	}
	for i := r.behind(opened); i < end && len(moments) < openingMoments; i++ {
		if ends(r.steps[i]) {
			moments = append(moments, i+1)
		}
	}
	return moments
}

// behind returns the first moment after a time.
func (r *recording) behind(at int64) int {
	i, _ := slices.BinarySearchFunc(r.steps, at, func(s powerfs.Step,
		at int64) int {
		return cmp.Compare(s.Monotonic, at+1)
	})
	return i
}

// options returns a disk that fails.
func (t target) options() (o powerfs.Options) {
	switch {
	case t.space > 0:
		o.Space = t.space
	case t.Nth > 0:
		o.Faults = []powerfs.Fault{t.Fault}
	}
	if t.told {
		next := t.Fault
		next.Nth++
		next.Short, next.Again = false, 0 // it writes the rest alone
		o.Faults[0].Err, o.Faults[0].Again = 0, 0
		o.Faults = append(o.Faults, next)
	}
	return o
}
