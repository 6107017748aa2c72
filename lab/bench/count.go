package bench

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// The operations of a count: enough that what happens at every commit stands out, few enough that
// what happens once in thousands, as a compaction, does not.
const (
	minCounted = 8
	maxCounted = 64
	countTime  = 100 * time.Millisecond
)

// counts reports whether the run counts what commits ask of the disk. Where no disk that counts can
// be mounted, the run says so once.
func (r *runner) counts() bool {
	if r.countable == nil {
		err := powerfs.Available()
		if err != nil {
			r.warn("syncs and writes per operation are not counted: "+err.Error(), "")
		}
		able := err == nil
		r.countable = &able
	}
	return *r.countable
}

// count finds out how many syncs and writes an operation takes, in a short untimed run on a disk
// that counts them. What goes wrong there leaves the figures out, and the cell as it was measured.
func (g *group) count(ctx context.Context) {
	var cells []*cell
	for _, c := range g.cells {
		if c.Status == result.OK && c.N > 0 && !c.resets && (g.op.Commits || c.written != 0) && ctx.Err() == nil &&
			time.Until(g.r.deadline()) >= 2*c.loading+countTime && g.r.counts() {
			cells = append(cells, c)
		}
	}
	errs := make([]error, len(cells))
	for i, c := range cells {
		if _, errs[i] = g.r.counter(); errs[i] == nil {
			_, errs[i] = g.r.child(c.key)
		}
	}
	var wg sync.WaitGroup
	for i, c := range cells { // all load together, and are then stopped: only one works while it is counted
		if errs[i] == nil {
			spec := c.spec
			spec.Dir = filepath.Join(g.r.counted.path, filepath.Base(spec.Dir))
			wg.Go(func() { _, errs[i] = g.ask(ctx, c, request{Command: cmdSetup, Cell: &spec}) })
		}
	}
	wg.Wait()
	for i, c := range cells {
		if errs[i] == nil && time.Until(g.r.deadline()) < time.Duration(2*c.took) {
			continue // a crowd's slice may take seconds
		}
		if errs[i] == nil {
			errs[i] = g.countOne(ctx, c)
		}
		if errs[i] != nil && ctx.Err() == nil {
			g.r.warn("syncs and writes of "+c.Workload+"/"+c.Operation+" on "+c.Name()+" were not counted: "+
				errs[i].Error(), "")
		}
	}
	g.r.endAll() // and closes the stores
}

// counter returns the disk that counts, mounted once for all cells.
func (r *runner) counter() (*storage, error) {
	if r.counted != nil {
		return r.counted, nil
	}
	dir := filepath.Join(r.dir.Path, "count")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s, err := openStorage(dir, powerfs.Latency{})
	if err == nil {
		r.counted = s
	}
	return s, err
}

// countOne counts what a cell's operations use. Its child has the store open.
func (g *group) countOne(ctx context.Context, c *cell) error {
	warm, err := g.ask(ctx, c, request{Command: cmdSlice, Slice: &sliceSpec{N: max(c.Workers, 2)}})
	if err != nil {
		return err
	}
	n := min(max(int(float64(countTime)/max(warm.Slice.NS, 1)), minCounted, 2*c.Workers), maxCounted)
	n = max(n/cycleOf(c.op), 1) * cycleOf(c.op)
	if _, err := g.ask(ctx, c, request{Command: cmdPrepare, Slice: &sliceSpec{N: n}}); err != nil {
		return err
	}
	before := g.r.counted.disk.Counters()
	if _, err := g.ask(ctx, c, request{Command: cmdDo, Slice: &sliceSpec{N: n}}); err != nil {
		return err
	}
	used := g.r.counted.disk.Counters().Sub(before)
	per := func(count int64) *float64 { v := float64(count) / float64(n); return &v }
	c.Counted = n
	c.Syncs, c.Writes, c.Written = per(used.Syncs), per(used.Writes), per(used.Bytes)
	return nil
}

// ask lets the cell's child run for one request that is not measured.
func (g *group) ask(ctx context.Context, c *cell, req request) (resp response, err error) {
	p, err := g.r.child(c.key)
	if err != nil {
		return resp, err
	}
	p.Resume()
	defer p.Suspend()
	limit, _ := g.patience(req.Command)
	if err := p.Call(ctx, string(req.Command), req, &resp, limit); err != nil {
		return resp, err
	}
	if resp.Error != "" {
		return resp, &child.Error{Text: resp.Error, Hint: resp.Hint}
	}
	return resp, nil
}
