package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/assaydb/assay/lab/bench"
)

// progress shows where a run stands: a bar on a terminal, else one line for each operation.
type progress struct {
	mu   sync.Mutex
	last bench.Progress

	lines io.Writer // without a terminal

	bars *mpb.Progress
	bar  *mpb.Bar
}

const barSteps = 1000

func newProgress(w io.Writer, started time.Time, budget time.Duration) *progress {
	if !isTerminal(w) {
		return &progress{lines: w}
	}
	width := reportOptions(w).Width
	p := &progress{bars: mpb.New(mpb.WithOutput(w), mpb.WithWidth(min(max(width-60, 10), 60)), mpb.WithRefreshRate(150*time.Millisecond))}
	p.bar = p.bars.AddBar(barSteps,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return p.text() })),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			left := max(budget-time.Since(started), 0).Round(time.Second)
			return fmt.Sprintf(" at most %v left", left)
		})),
	)
	return p
}

// update is told of every step.
func (p *progress) update(s bench.Progress) {
	p.mu.Lock()
	fresh := s.Group != p.last.Group || s.Phase == "probe" && p.last.Phase == ""
	p.last = s
	p.mu.Unlock()
	if p.bar != nil {
		p.bar.SetCurrent(int64(barSteps * float64(min(s.Elapsed, s.Budget)) / float64(s.Budget+1)))
		return
	}
	if fresh {
		fmt.Fprintln(p.lines, p.text())
	}
}

// text says in few words what is going on.
func (p *progress) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.last
	switch {
	case s.Phase == "":
		return "starting"
	case s.Phase == "probe":
		return "asking the engines what they promise"
	case p.bar == nil:
		return fmt.Sprintf("[%d/%d] %s %s", s.Group, s.Groups, s.Workload, s.Operation)
	case s.Phase == "measure":
		return fmt.Sprintf("[%d/%d] %s %s · round %d · %s ", s.Group, s.Groups, s.Workload, s.Operation, s.Round, s.Engine)
	}
	return fmt.Sprintf("[%d/%d] %s %s · %s · %s ", s.Group, s.Groups, s.Workload, s.Operation, s.Phase, s.Engine)
}

// end removes the bar.
func (p *progress) end() {
	if p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
}
