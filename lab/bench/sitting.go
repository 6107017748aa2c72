package bench

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

const (
	// aimRounds is how many rounds a sitting has; the first may have fewer, and later ones then
	// have as many as that. So all processes are measured over the same part of their lives,
	// whatever the budget: stores grow, and so does what an operation costs. Where some leave amid
	// the first, the others have the rest of their time.
	aimRounds = 12
	// A slice shorter than minSlice is lost in the cost of waking the child and of settling.
	minSlice = 4 * time.Millisecond
	// What an operation takes is found in slices of about this length, twice.
	trySlice = 4 * time.Millisecond
	// heavyPart is the part of all its time that a group may spend on loading and yet plan to load
	// again.
	heavyPart = 4
	// Every process works before it is measured, beside the others of its group, for so long for
	// each of them.
	warmReads, warmCommits = 10 * time.Millisecond, 40 * time.Millisecond
	// One that commits first fills the log beside the store's file, by so many operations or bytes,
	// if they fit into warmStretch times that: a commit takes SQLite twice as long until its log of
	// 1,000 pages was full once. A small commit writes one of them, which lies in two of the file
	// system's.
	warmOperations = 1000
	warmWritten    = 8 << 20
	warmStretch    = 10
)

// maxSlice is how long a slice is at most: the next is too far away from those of the others.
var maxSlice = 56 * time.Millisecond

// sit measures the cells of a group that are live, each in a fresh process with a fresh store,
// until about the time given.
func (g *group) sit(ctx context.Context, until time.Time) {
	began, first := time.Now(), g.sittings == 0
	live := g.live()
	g.slices = 0
	for _, c := range live {
		if _, err := g.r.child(c.key); err != nil { // all begin to start together
			c.fail(err)
		}
	}
	g.load(ctx)
	g.r.rest()
	all := time.Duration(float64(time.Until(g.r.deadline())) * float64(len(live)) / float64(max(g.r.left(g.number), 1)))
	if g.loading = time.Since(began); first && g.loading > all/heavyPart {
		// One load should do. The time of further ones goes to rounds now.
		g.heavy, until = true, began.Add(all)
	}
	patience := began.Add(max(2*until.Sub(began), all/2)) // for the rounds that an interval needs
	if err := g.r.floor.measure(); err != nil && ctx.Err() == nil {
		g.r.warn("the disk's floor could not be measured: "+err.Error(), kv.HintOf(err))
	}
	spent := &g.r.run.Spent
	loaded := spend(&spent.Load, began)
	g.warm(ctx)
	if first {
		g.calibrate(ctx, until)
	}
	warmed := spend(&spent.Warm, loaded)
	before, measured := g.round, g.r.run.Measured
	if first {
		g.length = aimRounds
	}
	for ctx.Err() == nil && len(g.live()) > 0 && !g.enough(until, patience, g.round-before) {
		g.measureRound(ctx, g.round-before)
		if first && g.round == aimRounds/2 { // the first has most of those who are far behind
			g.look()
			g.length += aimRounds / 2 * (len(live) - len(g.live())) / max(len(g.live()), 1)
		}
	}
	ended := spend(&spent.Between, warmed)
	spent.Between -= g.r.run.Measured - measured
	if first {
		g.length = min(g.round, aimRounds)
	}
	if ctx.Err() == nil && ended.Before(g.r.deadline()) {
		g.r.ahead(len(live)) // the next sitting has about as many
	}
	for _, c := range g.live() {
		if c.N == 0 {
			c.end(ctx)
		}
	}
	if ctx.Err() == nil { // also of those who left amid it
		g.finish(ctx, slices.DeleteFunc(live, func(c *cell) bool { return c.Status != result.OK || c.over }), first)
	}
	g.r.endAll() // the next sitting has processes of its own
	g.lasted = time.Since(began)
	g.sittings++
	g.look()
	spend(&spent.Close, ended)
}

// spend adds the time since start to sum, and returns the time that it is now.
func spend(sum *time.Duration, start time.Time) time.Time {
	now := time.Now()
	*sum += now.Sub(start)
	return now
}

// live returns the cells that go on.
func (g *group) live() []*cell {
	var live []*cell
	for _, c := range g.cells {
		if c.Status == result.OK && !c.over && c.Early == "" {
			live = append(live, c)
		}
	}
	return live
}

// enough reports whether a sitting may end after so many rounds.
func (g *group) enough(until, patience time.Time, rounds int) bool {
	var round time.Duration
	for _, c := range g.live() {
		round += time.Duration(c.took)
	}
	next := time.Now().Add(round)
	if g.r.over(g) {
		return true
	}
	if next.After(g.r.deadline()) || next.After(patience) {
		return rounds > 0
	}
	if g.sittings == 0 {
		return rounds >= stats.MinRounds && next.After(until) || rounds >= g.length && !g.heavy
	}
	return rounds >= g.length
}

// load loads the stores of the cells that are live: in the first sitting no more at the same time
// than there are processors, for what it tells of each, and all in later ones.
func (g *group) load(ctx context.Context) {
	live := g.live()
	setup := func(c *cell) request { return request{Command: cmdSetup, Cell: &c.spec} }
	if g.sittings > 0 {
		g.together(ctx, live, "load", setup, func(c *cell, resp response) {
			*c.Open = min(*c.Open, int64(resp.Setup.Description.Open)) // what disturbs it makes it longer
		})
		return
	}
	for cells := range slices.Chunk(live, runtime.GOMAXPROCS(0)) {
		if ctx.Err() != nil || time.Now().After(g.r.deadline()) {
			for _, c := range cells {
				c.end(ctx)
			}
			continue
		}
		start := time.Now()
		g.together(ctx, cells, "load", setup, func(c *cell, resp response) {
			c.loading = time.Since(start)
			g.loaded(c, resp.Setup)
		})
	}
}

// loaded keeps what a store told when it was loaded.
func (g *group) loaded(c *cell, s *setupReport) {
	if s.Resets && g.r.Rate > 0 {
		c.skip("an open loop has no time to put in place what each operation needs")
		c.Hint = "leave --rate out"
		return
	}
	c.resets, c.Settings = s.Resets, nil
	c.apart, c.staying = s.Apart, s.Staying
	c.Workers, c.op.Workers, c.op.Cycle = s.Workers, s.Workers, s.Cycle
	if s.Cycle > 1 && s.Workers == 1 { // of several workers it may be a turn of all
		c.Cycle = s.Cycle
	}
	for _, setting := range s.Description.Settings {
		c.Settings = append(c.Settings, result.Setting(setting))
	}
	if p := s.Description.Promise; g.op.Commits && p.Supported {
		c.Promise.Delivered, c.Promise.Intact = p.Class.String(), p.Intact
		c.Promise = g.r.label(c.URL, c.Promise)
	}
	opened := int64(s.Description.Open)
	c.Open = &opened
	if c.Size == nil {
		c.Size = &result.Size{Loaded: &s.Size.Allocated}
	}
	c.Files, c.Goroutines = &s.Size.Files, &s.Goroutines
}

// calibrate warms every cell up and finds the number of iterations that fill its slice.
func (g *group) calibrate(ctx context.Context, until time.Time) {
	live := g.live()
	for i, c := range live {
		left := min(time.Until(until), time.Until(g.r.deadline())) - time.Duration(len(live)-i)*2*trySlice
		target := min(max(left/time.Duration(len(live)*aimRounds)-settling, minSlice), maxSlice)
		resp, ok := g.call(ctx, c, "warm up", request{Command: cmdCalibrate, Target: min(target, trySlice)})
		if !ok {
			continue
		}
		perOp := resp.Slice.NS
		c.n, c.settles, c.target = fit(target, perOp, cycleOf(c.op)), c.settle(perOp), target
		c.took = perOp * float64(c.n+c.settles)
		if g.r.Rate > 0 {
			// An open loop takes the time that its schedule says.
			c.n = whole(int(g.r.Rate*max(target, 50*time.Millisecond).Seconds()), cycleOf(c.op))
			c.took = float64(c.n) / g.r.Rate * float64(time.Second)
		}
	}
}

// warm lets every cell's new process work, all at the same time: nothing of it counts.
func (g *group) warm(ctx context.Context) {
	req := request{Command: cmdWarm, Target: warmReads}
	if g.op.Commits {
		req.Target, req.Least = warmCommits, warmOperations
	}
	if g.op.Workers <= 1 { // else one cell after the other, each with nobody beside it
		req.Target *= time.Duration(len(g.live()))
	}
	g.together(ctx, g.live(), "warm up", func(*cell) request { return req }, nil)
}

// measureRound runs one slice of every cell, in turns of a part of it, each in random order. rounds
// are those of the sitting before this one.
func (g *group) measureRound(ctx context.Context, rounds int) {
	g.round++
	g.r.rounds++
	live, done := g.live(), map[*cell]*sliceReport{}
	for turn := range mostParts {
		g.r.random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
		for _, c := range live {
			n := c.part(turn)
			if n == 0 || ctx.Err() != nil || turn > 0 && done[c] == nil {
				continue
			}
			spec := &sliceSpec{N: n, Settle: c.settles, Rate: g.r.Rate, Forget: c.tooFew && turn == 0}
			start := time.Now()
			resp, ok := g.call(ctx, c, "measure", request{Command: cmdSlice, Slice: spec})
			if !ok {
				delete(done, c)
				continue
			}
			if turn == 0 {
				c.took = 0
			}
			c.took += float64(time.Since(start))
			g.r.run.Measured += resp.Slice.Wall
			done[c] = done[c].with(resp.Slice)
		}
	}
	for _, c := range live {
		slice := done[c]
		if slice == nil {
			continue
		}
		if c.tooFew {
			c.forget()
		}
		g.slices++
		c.record(g.r.rounds, g.sittings, slice)
		if g.sittings == 0 && rounds < refitRounds && g.r.Rate == 0 {
			c.refit(slice)
		}
	}
}

// finish closes the stores of cells. The first sitting also tells what space they take.
func (g *group) finish(ctx context.Context, cells []*cell, first bool) {
	req := request{Command: cmdFinish, Compact: first && g.op.Sized}
	g.together(ctx, cells, "close", func(*cell) request { return req }, func(c *cell, resp response) {
		if first {
			c.Size.Churned = &resp.Finish.Churned.Allocated
		}
		if resp.Finish.Compacted != nil {
			c.Size.Compacted = &resp.Finish.Compacted.Allocated
		}
		h, err := hdrhistogram.Decode(resp.Finish.Latencies)
		if err != nil {
			c.fail(err)
			return
		}
		if c.latencies != nil {
			h.Merge(c.latencies)
		}
		c.latencies = h
		l := latencyOf(h)
		c.Latency = &l
	})
}

// call lets the cell's child run for one request. It returns false, and the cell has ended, if that
// failed.
func (g *group) call(ctx context.Context, c *cell, phase string, req request) (response, bool) {
	p, ok := g.begin(c, phase)
	if !ok {
		return response{}, false
	}
	limit, cut := g.r.patience(req.Command)
	var resp response
	err := p.Call(ctx, string(req.Command), req, &resp, limit)
	return resp, g.answered(ctx, c, p, resp, err, cut)
}

// together lets the children of cells run for a request each, at the same time where one is a
// single worker's, and hands on what they answered unless done is nil.
func (g *group) together(ctx context.Context, cells []*cell, phase string, req func(*cell) request,
	done func(*cell, response)) {
	if len(cells) == 0 {
		return
	}
	if cells[0].Workers > 1 {
		for _, c := range cells {
			if resp, ok := g.call(ctx, c, phase, req(c)); ok && done != nil {
				done(c, resp)
			}
		}
		return
	}
	limit, cut := g.r.patience(req(cells[0]).Command)
	type answer struct {
		c    *cell
		p    *child.Process
		resp response
		err  error
	}
	var all []*answer
	for _, c := range cells {
		if p, ok := g.begin(c, phase); ok {
			all = append(all, &answer{c: c, p: p})
		}
	}
	var wg sync.WaitGroup
	for _, a := range all {
		wg.Go(func() {
			r := req(a.c)
			a.err = a.p.Call(ctx, string(r.Command), r, &a.resp, limit)
		})
	}
	wg.Wait()
	for _, a := range all {
		if g.answered(ctx, a.c, a.p, a.resp, a.err, cut) && done != nil {
			done(a.c, a.resp)
		}
	}
}

// begin wakes the cell's child.
func (g *group) begin(c *cell, phase string) (*child.Process, bool) {
	g.r.Progress(Progress{Workload: c.Workload, Operation: c.Operation, Params: c.Params, Phase: phase,
		Engine: c.Name(), Round: g.round,
		Group: g.number, Groups: len(g.r.groups), Elapsed: time.Since(g.r.started), Budget: g.r.Budget})
	p, err := g.r.child(c.key)
	if err != nil {
		c.fail(err)
		return nil, false
	}
	p.Resume()
	return p, true
}

// answered stops the cell's child, and returns false if what it was asked for failed; the cell has
// then ended.
func (g *group) answered(ctx context.Context, c *cell, p *child.Process, resp response, err error, cut bool) bool {
	var gone *child.Error
	switch {
	case errors.As(err, &gone):
		g.r.drop(c.key)
		if gone.Hung && cut {
			c.end(ctx)
		} else {
			c.fail(err)
		}
		return false
	case err != nil: // interrupted: what was measured stays
		g.r.drop(c.key)
		return false
	case resp.Refused:
		c.skip(resp.Error)
		c.Hint = resp.Hint
		return false
	case resp.Error != "":
		c.fail(&child.Error{Text: resp.Error, Hint: resp.Hint})
		return false
	}
	p.Suspend()
	return true
}

// patience returns how long a request may take, and whether that is cut short by the budget.
// Loading may take half of what is left of it, as that depends on the size.
func (r *runner) patience(cmd command) (limit time.Duration, cut bool) {
	left := max(time.Until(r.started.Add(r.Budget)), time.Second)
	limit, short := r.hang()
	if cmd == cmdSetup && left/2 > limit {
		return left / 2, true
	}
	return min(limit, left), short || left < limit
}
