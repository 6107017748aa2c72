package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/prove"
)

// progress shows where the lab stands: a bar on a terminal, else a line for each larger step.
type progress struct {
	mu   sync.Mutex
	text string // beside the bar

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
	p := &progress{text: "starting", bars: mpb.New(mpb.WithOutput(w), mpb.WithWidth(min(max(width-60, 10), 60)), mpb.WithRefreshRate(150*time.Millisecond))}
	p.bar = p.bars.AddBar(barSteps,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.text
		})),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			left := max(budget-time.Since(started), 0).Round(time.Second)
			return fmt.Sprintf(" at most %v left", left)
		})),
	)
	return p
}

// show puts text beside the bar, of which done of all is full; without a terminal it prints line, if that is not empty.
func (p *progress) show(text, line string, done, all time.Duration) {
	switch {
	case p.bar != nil:
		p.mu.Lock()
		p.text = text
		p.mu.Unlock()
		p.bar.SetCurrent(int64(barSteps * float64(min(done, all)) / float64(all+1)))
	case line != "":
		fmt.Fprintln(p.lines, line)
	}
}

// end removes the bar.
func (p *progress) end() {
	if p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
}

// ofRun returns a function that is told of every step of a run, one at a time.
func (p *progress) ofRun() func(bench.Progress) {
	var last bench.Progress
	return func(s bench.Progress) {
		where := fmt.Sprintf("[%d/%d] %s %s", s.Group, s.Groups, s.Workload, s.Operation)
		if s.Params != "" {
			where += " " + s.Params
		}
		text, line := where, ""
		switch {
		case s.Phase == "probe":
			text = "asking the engines what they promise"
		case s.Phase == "plan":
			text = fmt.Sprintf("to decide all this takes about --budget %v", s.Needs.Round(10*time.Second))
		case s.Phase == "measure":
			text += fmt.Sprintf(" · round %d · %s ", s.Round, s.Engine)
		default:
			text += fmt.Sprintf(" · %s · %s ", s.Phase, s.Engine)
		}
		switch {
		case s.Phase == "probe" && last.Phase == "", s.Phase == "plan":
			line = text
		case s.Group != last.Group:
			line = where
		}
		last = s
		p.show(text, line, s.Elapsed, s.Budget)
	}
}

// proofLine is how long a proof may go on without a line.
const proofLine = 15 * time.Second

// ofProof returns a function that is told of every step of a proof, one at a time.
func (p *progress) ofProof() func(prove.Progress) {
	said := -proofLine
	done := 0
	return func(s prove.Progress) {
		text := fmt.Sprintf("[%d/%d] %s %s %s · %d crashes and disk faults verified", s.Done, s.All, s.Engine, s.Class, s.Fault, s.Images)
		if s.Unkept > 0 {
			text += fmt.Sprintf(" · %d broken", s.Unkept)
		}
		line := ""
		if s.Done != done || s.Elapsed-said >= proofLine {
			line = fmt.Sprintf("%s · at most %v left", text, max(s.Budget-s.Elapsed, 0).Round(time.Second))
			said, done = s.Elapsed, s.Done
		}
		p.show(text+" ", line, s.Elapsed, s.Budget)
	}
}
