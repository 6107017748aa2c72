package prove

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/child"
)

// writer is the parent's end of a process that commits.
type writer struct {
	p       *child.Process
	opening chan struct{} // closed when the process is about to open the store
	enough  chan struct{} // closed at the acknowledgement that was waited for
	done    chan doneMessage
	over    chan struct{} // closed at the end of the process's output

	releaseSyncs func() // once it has ended; nil is that its syncs are its own

	mu     sync.Mutex
	ledger ledger
	target int
	seen   int // acknowledgements
}

// ledger is what a process said of its commits.
type ledger struct {
	acks    [][]ack // of each writer, in order
	failed  []failure
	resumed []resumption
	opened  []int64 // when stores were about to be opened
	copies  []copied
	upkeep  string // how the first compaction or backup failed
}

// wrong returns what a process said that no failure of a disk excuses.
func (l ledger) wrong() error {
	for _, f := range l.failed {
		if f.Wrong {
			return errors.New(f.Text)
		}
	}
	return nil
}

// startWriter starts a process that does what spec says, once ready, if not nil, has returned its
// error. enough is closed at its target-th acknowledgement.
func startWriter(command []string, spec writeSpec, target int, ready func(*writer) error) (*writer, error) {
	p, err := child.Start(command)
	if err != nil {
		return nil, err
	}
	w := &writer{p: p, opening: make(chan struct{}), enough: make(chan struct{}), done: make(chan doneMessage, 1),
		over: make(chan struct{}), ledger: ledger{acks: make([][]ack, len(spec.From))}, target: target}
	go w.listen()
	if ready != nil {
		if err := ready(w); err != nil {
			w.stop()
			return nil, err
		}
	}
	if err := p.Send(request{Write: &spec}); err != nil {
		w.stop()
		return nil, p.Ended()
	}
	return w, nil
}

// listen takes down what the process says until its output ends. It never lets the process wait.
func (w *writer) listen() {
	defer close(w.over)
	for {
		var m message
		if w.p.Receive(&m) != nil {
			return
		}
		w.mu.Lock()
		w.note(m)
		w.mu.Unlock()
		if m.Done != nil {
			w.done <- *m.Done
		}
	}
}

func (w *writer) note(m message) {
	switch {
	case m.Opening > 0:
		if w.ledger.opened = append(w.ledger.opened, m.Opening); len(w.ledger.opened) == 1 {
			close(w.opening)
		}
	case m.Ack != nil:
		w.ledger.acks[m.Ack.W] = append(w.ledger.acks[m.Ack.W], *m.Ack)
		if w.seen++; w.seen == w.target {
			close(w.enough)
		}
	case m.Failed != nil:
		w.ledger.failed = append(w.ledger.failed, *m.Failed)
	case m.Resumed != nil:
		w.ledger.resumed = append(w.ledger.resumed, *m.Resumed)
	case m.Copied != nil:
		w.ledger.copies = append(w.ledger.copies, *m.Copied)
	case m.Upkeep != "":
		w.ledger.upkeep = cmp.Or(w.ledger.upkeep, m.Upkeep)
	}
}

// handOver has the process hand its syncs over, and returns the descriptor that takes them.
func (w *writer) handOver() (fd int, err error) {
	if err := w.p.Send(request{HandOver: true}); err != nil {
		return 0, w.p.Ended()
	}
	d, err := w.wait(context.Background(), nil) // it ends with the process
	switch {
	case err != nil:
		return 0, err
	case d == nil:
		return 0, w.p.Ended()
	case d.Error != "":
		return 0, &kv.Error{Kind: kv.Unsupported, Err: errors.New(d.Error), Hint: d.Hint}
	}
	return d.Syncs, nil
}

// wait waits until one of events is closed, the process has answered its request or ended, or ctx
// has ended. It returns the answer, if there was one.
func (w *writer) wait(ctx context.Context, event <-chan struct{}) (*doneMessage, error) {
	select {
	case <-event:
		return nil, nil
	case d := <-w.done:
		return &d, nil
	case <-w.over:
		select {
		case d := <-w.done:
			return &d, nil
		default:
			return nil, nil
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// said returns how much the process has said.
func (w *writer) said() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen + len(w.ledger.failed) + len(w.ledger.resumed)
}

// told returns what the process has said.
func (w *writer) told() ledger {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger
}

// ended returns how the process ended by itself, if it has.
func (w *writer) ended() error {
	select {
	case <-w.over:
		return w.p.Ended()
	default:
		return nil
	}
}

// stop kills the process, unless it has ended, and returns what it had said.
func (w *writer) stop() ledger {
	w.p.Kill()
	<-w.over
	_ = w.p.End(0) // it was killed
	if w.releaseSyncs != nil {
		w.releaseSyncs()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ledger
}

// trouble returns what went wrong in a process that nothing was done to: an answer that is an
// error, a commit that failed, as did a compaction or a backup, or its end.
func trouble(d *doneMessage, l ledger, ended error) error {
	switch {
	case ended != nil:
		return ended
	case d != nil && d.Error != "":
		return errors.New(d.Error)
	case len(l.failed) > 0:
		return errors.New(l.failed[0].Text)
	case l.upkeep != "":
		return errors.New(l.upkeep)
	}
	return nil
}
