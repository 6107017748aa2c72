package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// The operations of a count: enough that what happens at every commit stands out, few enough that
// what happens once in thousands, as a compaction, does not.
const (
	minCounted = 8
	maxCounted = 64
	countTime  = 50 * time.Millisecond
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

// count finds out how many syncs and writes an operation of each cell takes, in a short untimed run
// on a disk that counts them. What goes wrong there leaves the figures out, and the cell as it was
// measured. Cells are counted at the same time, each alone on a disk; those of several workers, who
// share syncs as time has it, one after the other.
func (r *runner) count(ctx context.Context) {
	var alone, together []*cell
	for _, g := range r.groups {
		for _, c := range g.cells {
			switch {
			case c.Status != result.OK || c.N == 0 || c.resets || !g.op.Commits && c.written == 0:
			case c.Workers > 1:
				together = append(together, c)
			default:
				alone = append(alone, c)
			}
		}
	}
	if len(alone)+len(together) == 0 || ctx.Err() != nil || !r.counts() {
		return
	}
	// More than there are processors: half of the time a child and its disk wait for one another.
	r.countAll(ctx, alone, 2*runtime.GOMAXPROCS(0))
	r.countAll(ctx, together, 1)
}

// countAll counts cells on so many disks at the same time, as long as there is time.
func (r *runner) countAll(ctx context.Context, cells []*cell, disks int) {
	errs := make([]error, len(cells))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(disks, len(cells)) {
		disk, err := r.counter()
		if err != nil {
			r.warn("syncs and writes per operation are not counted: "+err.Error(), kv.HintOf(err))
			break
		}
		wg.Go(func() {
			var p *child.Process // for one cell after the other, until one fails
			defer func() {
				if p != nil {
					_ = p.End(5 * time.Second) // its results are in already
				}
			}()
			for i := int(next.Add(1)) - 1; i < len(cells) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				c := cells[i]
				// A crowd's slice may take seconds.
				if time.Until(r.deadline()) < 2*c.loading+countTime+time.Duration(2*c.took) {
					continue
				}
				if p == nil {
					if p, errs[i] = child.Start(r.Child); errs[i] != nil {
						p = nil
						continue
					}
				}
				errs[i] = r.countOne(ctx, p, disk, c)
				if _, err := r.ask(ctx, p, request{Command: cmdFinish}); errs[i] != nil || err != nil {
					_ = p.End(0)
					p = nil
				}
			}
		})
	}
	wg.Wait()
	for i, c := range cells {
		if errs[i] != nil && ctx.Err() == nil {
			r.warn("syncs and writes of "+c.Workload+"/"+c.Operation+" on "+c.Name()+" were not counted: "+
				errs[i].Error(), kv.HintOf(errs[i]))
		}
	}
}

// counter mounts one more disk that counts.
func (r *runner) counter() (*storage, error) {
	dir := filepath.Join(r.dir.Path, fmt.Sprintf("count-%d", len(r.counters)))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s, err := openStorage(dir, powerfs.Latency{})
	if err == nil {
		r.counters = append(r.counters, s)
	}
	return s, err
}

// countOne counts what a cell's operations use on a disk, in a store of their own.
func (r *runner) countOne(ctx context.Context, p *child.Process, disk *storage, c *cell) error {
	ask := func(req request) (response, error) { return r.ask(ctx, p, req) }
	spec := c.spec
	spec.Dir = filepath.Join(disk.path, filepath.Base(spec.Dir))
	if _, err := ask(request{Command: cmdSetup, Cell: &spec}); err != nil {
		return err
	}
	warm, err := ask(request{Command: cmdSlice, Slice: &sliceSpec{N: max(c.Workers, 2)}})
	if err != nil {
		return err
	}
	n := min(max(int(float64(countTime)/max(warm.Slice.NS, 1)), minCounted, 2*c.Workers), maxCounted)
	n = max(n/cycleOf(c.op), 1) * cycleOf(c.op)
	if _, err := ask(request{Command: cmdPrepare, Slice: &sliceSpec{N: n}}); err != nil {
		return err
	}
	before := disk.disk.Counters()
	if _, err := ask(request{Command: cmdDo, Slice: &sliceSpec{N: n}}); err != nil {
		return err
	}
	used := disk.disk.Counters().Sub(before)
	per := func(count int64) *float64 { v := float64(count) / float64(n); return &v }
	c.Counted = n
	c.Syncs, c.Writes, c.Written = per(used.Syncs), per(used.Writes), per(used.Bytes)
	return nil
}

// ask lets a process that counts do one request.
func (r *runner) ask(ctx context.Context, p *child.Process, req request) (resp response, err error) {
	limit, _ := r.patience(req.Command)
	if err := p.Call(ctx, string(req.Command), req, &resp, limit); err != nil {
		return resp, err
	}
	if resp.Error != "" {
		return resp, &child.Error{Text: resp.Error, Hint: resp.Hint}
	}
	return resp, nil
}
