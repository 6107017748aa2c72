package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/child"
	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
	"github.com/assaydb/assay/lab/workload"
)

// cell is one operation on one engine at one promise, while it is measured.
type cell struct {
	result.Cell
	key  childKey
	spec cellSpec
	over bool // nothing more is measured, though what was stays
	op   workload.Op

	n       int           // iterations a slice
	settles int           // iterations before those, which are not counted
	target  time.Duration // that a slice should take
	took    float64       // of the last slice, with everything around it, in ns
	tooFew  bool          // the slices so far held too few iterations to be samples

	loading time.Duration // how long setup took
	resets  bool          // iterations need something put in place, which would be counted with them

	apart   bool // other processes do the operation
	staying bool // they live on after it

	wall                             time.Duration // of all slices
	allocs, allocBytes, cpu, written float64
	writtenKnown                     bool
	metrics                          map[string][]workload.Metric
	latencies                        *hdrhistogram.Histogram // of the sittings that ended
}

// record adds a slice to the cell's figures.
func (c *cell) record(round, process int, s *sliceReport) {
	c.N += int64(s.N)
	c.Samples = append(c.Samples, result.Sample{Round: round, N: int64(s.N), NS: s.NS, Process: process})
	if !c.apart {
		c.RSS = &s.RSS
	}
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
func (g *group) results(ctx context.Context) []result.Cell {
	out := make([]result.Cell, len(g.cells))
	for i, c := range g.cells {
		if c.Status == result.OK && c.N == 0 {
			c.end(ctx)
		}
		if c.Status == result.OK && c.N > 0 {
			per := func(sum float64) *float64 { v := sum / float64(c.N); return &v }
			if !c.apart {
				c.Allocs, c.AllocBytes = per(c.allocs), per(c.allocBytes)
			}
			told := !c.apart || !c.staying && othersCounted
			if told {
				c.CPU = per(c.cpu)
			}
			if c.Written == nil && c.writtenKnown && told {
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

// checkRate ends a cell of an open loop whose engine did not keep up: its latencies grow with the
// length of the run.
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
