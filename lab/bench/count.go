package bench

import (
	"context"
	"os"
	"path/filepath"
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
func (g *group) count(ctx context.Context, c *cell) {
	if c.Status != result.OK || c.N == 0 || c.resets || !g.op.Commits && c.written == 0 || ctx.Err() != nil ||
		time.Until(g.r.deadline()) < 2*c.loading+countTime || !g.r.counts() {
		return
	}
	if err := g.countOne(ctx, c); err != nil && ctx.Err() == nil {
		g.r.warn("syncs and writes of "+c.Workload+"/"+c.Operation+" on "+c.Name()+" were not counted: "+err.Error(),
			"")
	}
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

func (g *group) countOne(ctx context.Context, c *cell) error {
	s, err := g.r.counter()
	if err != nil {
		return err
	}
	defer g.r.drop(c.key) // it may have files open there
	spec := c.spec
	spec.Dir = filepath.Join(s.path, filepath.Base(spec.Dir))
	if _, err := g.ask(ctx, c, request{Command: cmdSetup, Cell: &spec}); err != nil {
		return err
	}
	warm, err := g.ask(ctx, c, request{Command: cmdSlice, Slice: &sliceSpec{N: max(c.Workers, 2)}})
	if err != nil {
		return err
	}
	n := min(max(int(float64(countTime)/max(warm.Slice.NS, 1)), minCounted, 2*c.Workers), maxCounted)
	n = max(n/cycleOf(c.op), 1) * cycleOf(c.op)
	if _, err := g.ask(ctx, c, request{Command: cmdPrepare, Slice: &sliceSpec{N: n}}); err != nil {
		return err
	}
	before := s.disk.Counters()
	if _, err := g.ask(ctx, c, request{Command: cmdDo, Slice: &sliceSpec{N: n}}); err != nil {
		return err
	}
	used := s.disk.Counters().Sub(before)
	if _, err := g.ask(ctx, c, request{Command: cmdFinish}); err != nil {
		return err
	}
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
