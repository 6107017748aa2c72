package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
	"github.com/assaydb/assay/lab/workload"
)

const (
	// minRounds is how many rounds a group has unless the whole run's time is up: fewer give no interval.
	minRounds = 6
	// aimRounds is how many rounds a group's time is divided into.
	aimRounds = 16
	// A slice shorter than minSlice is lost in the cost of waking the child; one longer than maxSlice gains nothing.
	minSlice, maxSlice = 2 * time.Millisecond, 100 * time.Millisecond
)

// group is one operation on all contenders: the cells that are compared, and measured interleaved.
type group struct {
	r         *runner
	selection Selection
	op        workload.Op
	number    int
	round     int
	settled   int           // the last round whose slices of a cell were forgotten
	reserved  time.Duration // kept free for counting
	cells     []*cell
}

// cell is one operation on one engine at one promise, while it is measured.
type cell struct {
	result.Cell
	key  childKey
	spec cellSpec
	over bool // nothing more is measured, though what was stays
	op   workload.Op

	n      int           // iterations a slice
	target time.Duration // that a slice should take
	took   float64       // of the last slice, in ns
	tooFew bool          // the slices so far held too few iterations to be samples

	loading time.Duration // how long setup took
	resets  bool          // iterations need something put in place, which would be counted with them

	wall                             time.Duration // of all slices
	allocs, allocBytes, cpu, written float64
	writtenKnown                     bool
	metrics                          map[string][]workload.Metric
}

func newGroup(r *runner, s Selection, op workload.Op, number int) *group {
	g := &group{r: r, selection: s, op: op, number: number}
	for _, e := range r.Entries {
		for _, form := range forms(op, e) {
			if r.Form == "" || r.Form == form {
				g.addContender(e, form)
			}
		}
	}
	return g
}

// forms returns the ways to do op on e.
func forms(op workload.Op, e Entry) []string {
	if op.Forms == nil {
		return []string{"kv"}
	}
	return op.Forms(e.Engine, e.Options)
}

// addContender adds a cell for each promise that the engine makes; one cell if the operation only reads.
func (g *group) addContender(e Entry, form string) {
	if err := g.r.broken[e.Name]; err != nil {
		g.add(e, form, g.r.Classes[0], result.Promise{Delivered: "unknown"}).fail(err)
		return
	}
	promises := g.r.promises[e.Name]
	if !g.op.Commits {
		g.add(e, form, kv.Caps{Promises: [3]kv.Promise(promises)}.Cheapest(), result.Promise{Delivered: "read"})
		return
	}
	for _, class := range g.r.Classes {
		p := promises[class]
		switch {
		case !p.Supported && !g.r.named:
		case !p.Supported:
			g.add(e, form, class, result.Promise{Requested: class.String(), Delivered: class.String()}).
				skip(fmt.Sprintf("%s does not deliver %v", e.Name, class))
		case p.Class != class && slices.Contains(g.r.Classes, p.Class):
			// The same as the stronger class, which is measured anyway.
		default:
			g.add(e, form, class, result.Promise{Requested: class.String(), Delivered: p.Class.String(), Intact: p.Intact})
		}
	}
}

func (g *group) add(e Entry, form string, class kv.Durability, p result.Promise) *cell {
	g.r.cells++
	c := &cell{
		key: childKey{e.Name, form, class}, op: g.op,
		Cell: result.Cell{
			Workload: g.selection.Workload.Name, Operation: g.op.Name, Params: g.selection.Query(),
			Engine: e.Name, Form: form, URL: e.URL(), Ranked: !e.Unranked, Promise: g.r.label(e.URL(), p), Status: result.OK,
			Workers: max(g.op.Workers, 1), Items: max(g.op.Items, 1), Rate: g.r.Rate,
		},
		spec: cellSpec{
			Workload: g.selection.Workload.Name, Operation: g.op.Name, Params: g.selection.Params,
			Engine: e.Engine, Options: e.Options, Form: form, Durability: class, Seed: g.r.Seed,
			Dir: filepath.Join(g.r.data, fmt.Sprintf("cell-%d", g.r.cells)), Helper: g.r.Helper,
		},
		metrics: map[string][]workload.Metric{},
	}
	g.cells = append(g.cells, c)
	return c
}

// live returns the cells that can still be measured.
func (g *group) live() []*cell {
	var live []*cell
	for _, c := range g.cells {
		if c.Status == result.OK && !c.over {
			live = append(live, c)
		}
	}
	return live
}

// run measures the group within about share, and in any case before the run's deadline.
func (g *group) run(ctx context.Context, share time.Duration) {
	deadline, patience := time.Now().Add(share), time.Now().Add(2*share)
	for _, c := range g.live() {
		if ctx.Err() == nil && time.Now().Before(g.r.deadline()) {
			g.setup(ctx, c)
		} else {
			c.end(ctx)
		}
	}
	if err := g.r.floor.measure(); err != nil && ctx.Err() == nil {
		g.r.warn("the disk's floor could not be measured: "+err.Error(), kv.HintOf(err))
	}
	g.reserved = g.counting(share)
	deadline, patience = deadline.Add(-g.reserved), patience.Add(-g.reserved)
	g.calibrate(ctx, deadline)
	for ctx.Err() == nil && len(g.live()) > 0 && !g.enough(deadline, patience) {
		g.measureRound(ctx)
	}
	for _, c := range g.live() {
		if c.N == 0 {
			c.end(ctx)
		} else if ctx.Err() == nil {
			g.finish(ctx, c)
			g.count(ctx, c)
		}
	}
	for _, c := range g.cells {
		if ctx.Err() != nil || c.Status == result.Skipped {
			g.r.drop(c.key) // it may still have the store of this cell open
		}
	}
}

// enough reports whether the rounds may stop: every ratio is precise, or time is up. For the rounds that an interval
// needs, a group may go on until patience ends.
func (g *group) enough(deadline, patience time.Time) bool {
	var round time.Duration
	for _, c := range g.live() {
		round += time.Duration(c.took)
	}
	next := time.Now().Add(round)
	if next.After(g.r.deadline().Add(-g.reserved)) || next.After(patience) {
		return g.round > 0
	}
	if g.round-g.settled < minRounds {
		return false
	}
	return next.After(deadline) || g.round%2 == 0 && g.precise()
}

func (g *group) precise() bool {
	var cells []result.Cell
	for _, c := range g.live() {
		cells = append(cells, c.Cell)
	}
	return stats.Precise(cells, g.r.Precision)
}

// setup loads a cell's store.
func (g *group) setup(ctx context.Context, c *cell) {
	start := time.Now()
	resp, ok := g.call(ctx, c, "load", request{Command: cmdSetup, Cell: &c.spec})
	if !ok {
		return
	}
	s := resp.Setup
	c.loading, c.resets = time.Since(start), s.Resets
	for _, setting := range s.Description.Settings {
		c.Settings = append(c.Settings, result.Setting(setting))
	}
	if p := s.Description.Promise; g.op.Commits && p.Supported {
		c.Promise.Delivered, c.Promise.Intact = p.Class.String(), p.Intact
		c.Promise = g.r.label(c.URL, c.Promise)
	}
	opened := int64(s.Description.Open)
	c.Open = &opened
	c.Size = &result.Size{Loaded: &s.Size.Allocated}
	c.Files, c.Goroutines = &s.Size.Files, &s.Goroutines
}

// calibrate warms every cell up and finds the number of iterations that fill its slice.
func (g *group) calibrate(ctx context.Context, deadline time.Time) {
	live := g.live()
	for i, c := range live {
		// Calibrating costs about as much as three slices.
		left := min(time.Until(deadline), time.Until(g.r.deadline()))
		target := left / time.Duration(len(live)*aimRounds+3*(len(live)-i))
		target = min(max(target, minSlice), maxSlice)
		resp, ok := g.call(ctx, c, "warm up", request{Command: cmdCalibrate, Target: target})
		if !ok {
			continue
		}
		c.n, c.target, c.took = resp.Slice.N, target, resp.Slice.NS*float64(resp.Slice.N)
		if g.r.Rate > 0 {
			// An open loop takes the time that its schedule says.
			c.n = whole(int(g.r.Rate*max(target, 50*time.Millisecond).Seconds()), cycleOf(g.op))
			c.took = float64(c.n) / g.r.Rate * float64(time.Second)
		}
	}
}

// measureRound runs one slice of every cell, in random order.
func (g *group) measureRound(ctx context.Context) {
	g.round++
	live := g.live()
	g.r.random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	for _, c := range live {
		if ctx.Err() != nil {
			return
		}
		spec := &sliceSpec{N: c.n, Rate: g.r.Rate, Forget: c.tooFew}
		resp, ok := g.call(ctx, c, "measure", request{Command: cmdSlice, Slice: spec})
		if !ok {
			continue
		}
		if c.tooFew {
			c.forget()
			g.settled = g.round - 1
		}
		c.took = float64(resp.Slice.Wall)
		c.record(g.round, resp.Slice)
		if g.round <= refitRounds && g.r.Rate == 0 {
			c.refit(resp.Slice)
		}
	}
}

func (g *group) finish(ctx context.Context, c *cell) {
	resp, ok := g.call(ctx, c, "close", request{Command: cmdFinish})
	if !ok {
		return
	}
	c.Size.Churned = &resp.Finish.Churned.Allocated
	if resp.Finish.Compacted != nil {
		c.Size.Compacted = &resp.Finish.Compacted.Allocated
	}
}

// call lets the cell's child run for one request. It returns false, and the cell has ended, if that failed.
func (g *group) call(ctx context.Context, c *cell, phase string, req request) (response, bool) {
	g.r.Progress(Progress{Workload: c.Workload, Operation: c.Operation, Params: c.Params, Phase: phase, Engine: c.Name(), Round: g.round,
		Group: g.number, Groups: g.r.groups, Elapsed: time.Since(g.r.started), Budget: g.r.Budget})
	p, err := g.r.child(c.key)
	if err != nil {
		c.fail(err)
		return response{}, false
	}
	p.Resume()
	limit, cut := g.patience(req.Command)
	var resp response
	err = p.Call(ctx, string(req.Command), req, &resp, limit)
	var gone *child.Error
	switch {
	case errors.As(err, &gone):
		g.r.drop(c.key)
		if gone.Hung && cut {
			c.end(ctx)
		} else {
			c.fail(err)
		}
		return resp, false
	case err != nil: // interrupted: what was measured stays
		g.r.drop(c.key)
		return resp, false
	case resp.Refused:
		c.skip(resp.Error)
		c.Hint = resp.Hint
		return resp, false
	case resp.Error != "":
		c.fail(&child.Error{Text: resp.Error, Hint: resp.Hint})
		return resp, false
	}
	p.Suspend()
	return resp, true
}

// patience returns how long a request may take, and whether that is cut short by the budget, so that an engine that does
// not answer in time need not have hung. Loading may take half of what is left of the budget: it depends on the size.
func (g *group) patience(cmd command) (limit time.Duration, cut bool) {
	left := max(time.Until(g.r.started.Add(g.r.Budget)), time.Second)
	limit = g.r.Hang
	if cmd == cmdSetup && left/2 > limit {
		return left / 2, true
	}
	return min(limit, left), left < limit
}

// record adds a slice to the cell's figures.
func (c *cell) record(round int, s *sliceReport) {
	c.N += int64(s.N)
	c.Samples = append(c.Samples, result.Sample{Round: round, N: int64(s.N), NS: s.NS})
	c.Latency = &s.Latency
	c.RSS = &s.RSS
	c.wall += s.Wall
	c.allocs += s.Allocs
	c.allocBytes += s.AllocBytes
	c.cpu += float64(s.CPU)
	if s.Written != nil {
		c.written += float64(*s.Written)
		c.writtenKnown = true
	}
	for _, m := range s.Metrics {
		c.metrics[m.Name] = append(c.metrics[m.Name], m)
	}
}

// fail ends the cell: an engine that returned an error or a wrong answer has no time.
func (c *cell) fail(err error) {
	c.Status, c.Error, c.Hint = result.Failed, err.Error(), kv.HintOf(err)
	var gone *child.Error
	if errors.As(err, &gone) {
		c.Hint = gone.Hint
	}
}

// end ends the cell because the budget is spent, or ctx ended. What was measured stays.
func (c *cell) end(ctx context.Context) {
	c.over = true
	switch {
	case c.N > 0:
	case ctx.Err() != nil:
		c.skip("the run was interrupted")
	default:
		c.skip("no time was left for it")
		c.Hint = "measure longer with --budget, or fewer workloads"
	}
}

func (c *cell) skip(why string) { c.Status, c.Error = result.Skipped, why }

// results returns the cells as they go into the document.
func (g *group) results() []result.Cell {
	out := make([]result.Cell, len(g.cells))
	for i, c := range g.cells {
		if c.Status == result.OK && c.N > 0 {
			per := func(sum float64) *float64 { v := sum / float64(c.N); return &v }
			c.Allocs, c.AllocBytes, c.CPU = per(c.allocs), per(c.allocBytes), per(c.cpu)
			if c.Written == nil && c.writtenKnown {
				c.Written = per(c.written)
			}
			c.Metrics = combine(c.metrics)
		}
		c.checkRate()
		if c.Status != result.OK {
			c.Samples, c.Latency, c.N = nil, nil, 0
		}
		out[i] = c.Cell
	}
	return out
}

// checkRate ends a cell of an open loop whose engine did not keep up: its latencies grow with the length of the run.
func (c *cell) checkRate() {
	if c.Rate == 0 || c.Status != result.OK || c.N == 0 {
		return
	}
	const slack = 0.9
	if achieved := float64(c.N) / c.wall.Seconds(); achieved < slack*c.Rate {
		c.skip(fmt.Sprintf("it did not keep up: %.3g operations a second of %.3g", achieved, c.Rate))
		c.Hint = "lower --rate"
	}
}

// combine makes one figure of those of all slices.
func combine(metrics map[string][]workload.Metric) []result.Metric {
	var out []result.Metric
	for name, list := range metrics {
		m := result.Metric{Name: name}
		values := make([]float64, len(list))
		for i, one := range list {
			values[i] = one.Value
			m.Value += one.Value
		}
		if !list[0].Sum {
			mid, _ := stats.Median(values)
			m.Value = mid.Mid
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b result.Metric) int { return strings.Compare(a.Name, b.Name) })
	return out
}
