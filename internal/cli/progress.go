package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/prove"
)

// progress shows where the lab, or what takes long, stands: one line of a terminal that is written
// again and again, else a line now and then. It never erases more than its own line: terminals that
// keep what is erased would keep every frame.
type progress struct {
	out      io.Writer
	live     bool
	deadline time.Time // zero if nobody knows
	began    time.Time // of what has no deadline

	mu          sync.Mutex
	text        string
	interrupted bool

	stop    chan struct{} // nil if nothing is written but what show and say print
	stopped chan struct{}
}

// refresh is how often the line is written on a terminal, and silence how long what takes long says
// nothing elsewhere.
const (
	refresh = 200 * time.Millisecond
	silence = 15 * time.Second
)

// newProgress is that of a run or a proof, whose steps make the lines. Without a budget nobody
// knows when it ends.
func newProgress(w io.Writer, started time.Time, budget time.Duration) *progress {
	p := &progress{out: w, live: isTerminal(w) && !textOnly(), text: "starting", began: started}
	if budget > 0 {
		p.deadline = started.Add(budget)
	}
	if p.live {
		p.start()
	}
	return p
}

// newMeter is newProgress for what takes as long as it takes, or until ctx ends: the text that show
// was given last is a line now and then.
func newMeter(ctx context.Context, w io.Writer, text string) *progress {
	p := &progress{out: w, live: isTerminal(w) && !textOnly(), text: text, began: time.Now()}
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.interrupted = true
	})
	p.start()
	return p
}

func (p *progress) start() {
	p.stop, p.stopped = make(chan struct{}), make(chan struct{})
	go p.draw()
}

// draw writes the line until end.
func (p *progress) draw() {
	defer close(p.stopped)
	every, write, last := silence, p.line, ""
	if p.live {
		every, write, last = refresh, p.frame, "\r\x1b[K"
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			fmt.Fprint(p.out, last)
			return
		case <-tick.C:
			write()
		}
	}
}

// frame writes the line of a terminal once.
func (p *progress) frame() {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.out, "\r"+cutLine(p.timed(), reportOptions(p.out).Width)+"\x1b[K")
}

// line prints the text as a line that stays.
func (p *progress) line() {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out, p.timed())
}

// timed returns the text with the time that is left, or has passed.
func (p *progress) timed() string {
	switch passed := time.Since(p.began).Round(time.Second); {
	case p.interrupted:
		return "interrupted, and waiting for the engine; a second interrupt ends it at once · " + p.text
	case !p.deadline.IsZero():
		return fmt.Sprintf("%6v left  %s", max(time.Until(p.deadline), 0).Round(time.Second), p.text)
	case !p.began.IsZero() && passed > 0:
		return fmt.Sprintf("%s · %v", p.text, passed)
	}
	return p.text
}

// cutLine returns the beginning of text that a terminal of width columns does not break.
func cutLine(text string, width int) string {
	line := []rune(text)
	if width > 1 && len(line) >= width {
		line = line[:width-1]
	}
	return string(line)
}

// show puts text into the line; where there is no terminal it prints line, if that is not empty.
func (p *progress) show(text, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = text
	if !p.live && line != "" {
		fmt.Fprintln(p.out, line)
	}
}

// say prints a line that stays: above that of a terminal.
func (p *progress) say(line string) { fmt.Fprintln(p, line) }

// Write writes lines that stay, as say does.
func (p *progress) Write(lines []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	return p.out.Write(lines)
}

// end removes the line.
func (p *progress) end() {
	if p.stop != nil {
		close(p.stop)
		<-p.stopped
	}
}

// ofRun returns a function that is told of every step of a run, one at a time.
func (p *progress) ofRun() func(bench.Progress) {
	var last bench.Progress
	began := map[int]int{} // how often, of each operation
	return func(s bench.Progress) {
		where := fmt.Sprintf("[%d/%d] %s %s", s.Group, s.Groups, s.Workload, s.Operation)
		if s.Params != "" {
			where += " " + s.Params
		}
		if s.Group != last.Group {
			began[s.Group]++
		}
		if began[s.Group] > 1 {
			where += " · again, for more rounds"
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

// proofProgress is that of a proof, which counts what, and whose budget says nothing of how long so
// many rounds take.
func (a *app) proofProgress(o prove.Options, what string) (*progress, func(prove.Progress)) {
	budget := o.Budget
	if o.Rounds > 0 {
		budget = 0
	}
	p := newProgress(a.stderr, time.Now(), budget)
	return p, p.ofProof(what)
}

// ofProof returns a function that is told of every step of a proof, one at a time.
func (p *progress) ofProof(what string) func(prove.Progress) {
	said := -silence
	done, unkept := 0, 0
	return func(s prove.Progress) {
		text := fmt.Sprintf("[%d/%d] %s %s %s · %d %s", s.Done, s.All, s.Engine, s.Class, s.Fault, s.Images, what)
		if s.Unkept > 0 {
			text += fmt.Sprintf(" · %d broken", s.Unkept)
		}
		line := ""
		if s.Done != done || s.Unkept != unkept || s.Elapsed-said >= silence {
			line = fmt.Sprintf("%s · at most %v left", text, max(s.Budget-s.Elapsed, 0).Round(time.Second))
			if s.Rounds > 0 {
				line = fmt.Sprintf("%s · after %v", text, s.Elapsed.Round(time.Second))
			}
			said, done, unkept = s.Elapsed, s.Done, s.Unkept
		}
		p.show(text, line)
	}
}
