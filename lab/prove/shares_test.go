package prove

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// A promise of which few states were found has the next slice before one that is worth more, unless
// its engine is so slow that it would have all of the time.
func TestWhatLagsComesFirst(t *testing.T) {
	t.Parallel()
	of := func(class kv.Durability, states int, spent time.Duration) *job {
		p := &pair{states: states, spent: spent}
		p.caps.Class = class
		return &job{task: &task{pair: p, weight: 1}, spent: spent}
	}
	const half = DefaultBudget / 2
	synced := of(kv.Synced, 2400, 80*time.Second)
	for _, c := range []struct {
		name    string
		other   *job
		elapsed time.Duration
		want    bool // that it comes before the synced one
	}{
		{"one that lags", of(kv.Flushed, 700, 50*time.Second), half, true},
		{"one that has its part", of(kv.Flushed, 1100, 50*time.Second), half, false},
		{"one that is slow to open", of(kv.Flushed, 700, 300*time.Second), half, false},
	} {
		if got := c.other.before(synced, c.elapsed); got != c.want {
			t.Errorf("%s: before a synced one: %v, want %v", c.name, got, c.want)
		}
	}
	if !synced.before(of(kv.Flushed, 1600, 80*time.Second), time.Minute) {
		t.Error("a synced one with half as much again has no slice before a flushed one")
	}
}

// Of a promise of which ample was found nothing more is looked for before that holds of all.
func TestWhatHasAmpleStatesComesLast(t *testing.T) {
	t.Parallel()
	of := func(class kv.Durability, states int) *job {
		p := &pair{states: states, spent: time.Hour}
		p.caps.Class = class
		return &job{task: &task{pair: p, weight: 1}, spent: time.Hour}
	}
	few := of(kv.Buffered, ampleStates-1)
	if ample := of(kv.Synced, ampleStates); ample.before(few, time.Hour) || !few.before(ample, time.Hour) {
		t.Error("a promise that is worth more, of which ample was found, comes before one of which there is less")
	}
	if more := of(kv.Synced, ampleStates); !more.before(of(kv.Buffered, ampleStates), time.Hour) {
		t.Error("where there is ample of both, the one that is worth more comes last")
	}
}

// Where time is too short for enough states of each promise, none counts as lagging.
func TestShortRunsGoByWorth(t *testing.T) {
	for budget, want := range map[time.Duration]time.Duration{90 * time.Second: 0, DefaultBudget: time.Minute} {
		r := &runner{Options: Options{Budget: budget}}
		if got := r.counted(time.Minute); got != want {
			t.Errorf("%v of %v: %v counts, want %v", time.Minute, budget, got, want)
		}
	}
}

// invented is what a task takes: until its first state, and for each.
type invented struct{ first, state time.Duration }

// shareOut has lanes do slices of jobs, which take invented times, until the budget is used up.
func shareOut(t *testing.T, jobs []*job, budget time.Duration, costs func(*job) invented) (now time.Duration) {
	t.Helper()
	const lanes, slice = 4, 300 * time.Millisecond
	type going struct {
		*job
		took, until time.Duration
	}
	var running []going
	for {
		for len(running) < lanes {
			j := choose(jobs, lanes, now)
			if j == nil || now >= budget && j.spent > 0 {
				break
			}
			if j.spent > 0 && slices.ContainsFunc(jobs, func(o *job) bool { return !o.busy && o.spent == 0 }) {
				t.Fatalf("%s %s has a second slice, and others none", j.entry.Name, j.fault)
			}
			c := costs(j)
			took := max(slice, c.state)
			if j.spent == 0 {
				took = c.first + c.state
			}
			j.busy = true
			running = append(running, going{j, took, now + took})
		}
		if len(running) == 0 {
			return now
		}
		slices.SortFunc(running, func(a, b going) int { return int(a.until - b.until) })
		g := running[0]
		running, now = running[1:], g.until
		found := int(g.took / costs(g.job).state)
		if g.spent == 0 {
			found = 1
		}
		g.busy, g.job.spent, g.pair.spent = false, g.job.spent+g.took, g.pair.spent+g.took
		if keeps, whole := claims(g.caps, g.fault, "ordered/nothing"); keeps || whole {
			g.pair.states += found
		}
	}
}

// Where recording takes long, or verifying, or all of it, no task has nothing while others have
// many times their share.
func TestNoTaskStarves(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	quick := invented{200 * ms, 20 * ms}
	for name, costs := range map[string]func(pair int, fault string) invented{
		"all alike": func(int, string) invented { return quick },
		"a recording that takes long": func(pair int, fault string) invented {
			if pair < 5 && fault == result.FaultPower {
				return invented{15 * time.Second, 20 * ms}
			}
			return quick
		},
		"engines that are slow to open": func(pair int, _ string) invented {
			if pair < 5 {
				return invented{2 * time.Second, time.Second}
			}
			return quick
		},
		"a slow machine": func(int, string) invented { return invented{4 * time.Second, 500 * ms} },
	} {
		of := map[*pair]int{}
		var jobs []*job
		for n := range 28 {
			p := &pair{caps: caps{Promise: kv.Promise{Class: kv.Synced, Intact: true}}}
			switch p.entry.Name = fmt.Sprint(n); n % 3 {
			case 1:
				p.caps.Class = kv.Flushed
			case 2:
				p.caps.Class, p.caps.Intact = kv.Flushed, false
			}
			of[p] = n
			for _, f := range Faults {
				jobs = append(jobs, &job{task: &task{pair: p, fault: f, weight: weightOf(p.caps, f)}})
			}
		}
		const budget = 390 * time.Second
		longest := 16 * time.Second
		now := shareOut(t, jobs, budget, func(j *job) invented { return costs(of[j.pair], j.fault) })
		for _, j := range jobs {
			weights := 0
			for _, o := range jobs {
				if o.pair == j.pair {
					weights += o.weight
				}
			}
			fair := j.pair.spent * time.Duration(j.weight) / time.Duration(weights)
			if j.spent == 0 || j.spent < fair/2-longest {
				t.Errorf("%s: %s of %s has %v, its share is %v", name, j.fault, j.entry.Name, j.spent, fair)
			}
		}
		for p, n := range of {
			if even := 4 * now / 28; p.spent < even/3 && p.states < result.EnoughStates {
				t.Errorf("%s: promise %d has %v of %v, and %d states", name, n, p.spent, even, p.states)
			}
		}
	}
}

// What nobody promises is tried beside, and proves nothing.
func TestAStoreThatMayBreakIsMostlyKilled(t *testing.T) {
	t.Parallel()
	c := caps{Promise: kv.Promise{Class: kv.Flushed}}
	rest := 0
	for _, f := range Faults[1:] {
		rest += weightOf(c, f)
	}
	if kill := weightOf(c, result.FaultKill); kill < 2*rest {
		t.Errorf("kills have a weight of %d, all that is not promised %d", kill, rest)
	}
	p := &pair{caps: c, claims: true}
	kill, power := &task{pair: p, fault: result.FaultKill}, &task{pair: p, fault: result.FaultPower}
	killed, cut := p.newCell(kill.fault, ""), p.newCell(power.fault, "ordered/nothing")
	power.saw(cut, [32]byte{1}, outcome{})
	kill.saw(killed, [32]byte{1}, outcome{})
	kill.saw(killed, [32]byte{1}, outcome{})
	kill.saw(killed, [32]byte{2}, outcome{})
	if p.states != 2 || killed.States != 2 || cut.States != 1 {
		t.Errorf("%d states of the promise, %d of kills and %d of power cuts, want 2, 2 and 1", p.states,
			killed.States, cut.States)
	}
}

// A kill and a power cut may leave the same.
func TestAStateShowsAPromiseOnce(t *testing.T) {
	t.Parallel()
	p := &pair{caps: caps{Promise: kv.Promise{Class: kv.Synced, Intact: true}}, claims: true}
	for _, f := range []string{result.FaultKill, result.FaultPower} {
		(&task{pair: p, fault: f}).saw(p.newCell(f, ""), [32]byte{1}, outcome{})
	}
	if p.states != 1 {
		t.Errorf("one state counts %d times", p.states)
	}
}

// Where nothing is promised under the faults asked for, it would lag for ever.
func TestAPairThatPromisesNothingDoesNotLag(t *testing.T) {
	t.Parallel()
	r := &runner{rules: []string{"ordered/nothing"}}
	p := &pair{caps: caps{Promise: kv.Promise{Class: kv.Flushed}}}
	power := r.newTask(p, result.FaultPower)
	power.saw(power.cells[0], [32]byte{1}, outcome{})
	if p.states != 1 {
		t.Errorf("with power cuts alone %d states count, want 1", p.states)
	}
	kill := r.newTask(p, result.FaultKill)
	power.saw(power.cells[0], [32]byte{2}, outcome{})
	kill.saw(kill.cells[0], [32]byte{3}, outcome{})
	if p.states != 2 {
		t.Errorf("with kills %d states count, want 2", p.states)
	}
}
