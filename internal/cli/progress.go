package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/prove"
)

// progress shows where the lab stands: one line of a terminal that is written again and again, else
// a line for each larger step. It never erases more than its own line: terminals that keep what is
// erased would keep every frame.
type progress struct {
	out      io.Writer
	live     bool
	deadline time.Time // zero if nobody knows

	mu   sync.Mutex
	text string

	stop    chan struct{}
	stopped chan struct{}
}

// refresh is how often the line is written.
const refresh = 200 * time.Millisecond

func newProgress(w io.Writer, started time.Time, budget time.Duration) *progress {
	p := newMeter(w)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadline = started.Add(budget)
	return p
}

// newMeter is newProgress for what takes as long as it takes.
func newMeter(w io.Writer) *progress {
	p := &progress{out: w, live: isTerminal(w) && !textOnly(), text: "starting",
		stop: make(chan struct{}), stopped: make(chan struct{})}
	if p.live {
		go p.draw()
	}
	return p
}

// draw writes the line until end.
func (p *progress) draw() {
	defer close(p.stopped)
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			fmt.Fprint(p.out, "\r\x1b[K")
			return
		case <-tick.C:
			p.frame()
		}
	}
}

// frame writes the line once.
func (p *progress) frame() {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.text
	if !p.deadline.IsZero() {
		text = fmt.Sprintf("%6v left  %s", max(time.Until(p.deadline), 0).Round(time.Second), text)
	}
	fmt.Fprint(p.out, "\r"+cutLine(text, reportOptions(p.out).Width)+"\x1b[K")
}

// cutLine returns the beginning of text that a terminal of width columns does not break.
func cutLine(text string, width int) string {
	line := []rune(text)
	if width > 1 && len(line) >= width {
		line = line[:width-1]
	}
	return string(line)
}

// show puts text into the line of a terminal; elsewhere it prints line, if that is not empty.
func (p *progress) show(text, line string) {
	if p.live {
		p.mu.Lock()
		p.text = text
		p.mu.Unlock()
	} else if line != "" {
		fmt.Fprintln(p.out, line)
	}
}

// say prints a line that stays: above that of a terminal.
func (p *progress) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		line = "\r\x1b[K" + line
	}
	fmt.Fprintln(p.out, line)
}

// end removes the line.
func (p *progress) end() {
	if p.live {
		close(p.stop)
		<-p.stopped
	}
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
			p.say(planText(s))
			return
		case s.Phase == "measure":
			text += fmt.Sprintf(" · round %d · %s", s.Round, s.Engine)
		default:
			text += fmt.Sprintf(" · %s · %s", s.Phase, s.Engine)
		}
		switch {
		case s.Phase == "probe" && last.Phase == "":
			line = text
		case s.Group != last.Group:
			line = where
		}
		last = s
		p.show(text, line)
	}
}

// planText says how long a run must be to decide everything, and what tells that.
func planText(s bench.Progress) string {
	const step = 10 * time.Second
	return fmt.Sprintf("to decide everything takes about --budget %v, by %s", (s.Needs + step - 1).Truncate(step), s.By)
}

// proofLine is how long a proof may go on without a line.
const proofLine = 15 * time.Second

// ofProof returns a function that is told of every step of a proof, one at a time.
func (p *progress) ofProof() func(prove.Progress) {
	said := -proofLine
	done, unkept := 0, 0
	return func(s prove.Progress) {
		text := fmt.Sprintf("[%d/%d] %s %s %s · %d crashes and disk faults verified", s.Done, s.All, s.Engine, s.Class,
			s.Fault, s.Images)
		if s.Unkept > 0 {
			text += fmt.Sprintf(" · %d broken", s.Unkept)
		}
		line := ""
		if s.Done != done || s.Unkept != unkept || s.Elapsed-said >= proofLine {
			line = fmt.Sprintf("%s · at most %v left", text, max(s.Budget-s.Elapsed, 0).Round(time.Second))
			said, done, unkept = s.Elapsed, s.Done, s.Unkept
		}
		p.show(text, line)
	}
}
