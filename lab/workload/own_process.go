package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/assaydb/assay/kv"
)

// ownHelperName is the first argument of a helper process of a workload from a file. The second is
// an ownTask as JSON.
const ownHelperName = "own"

// processSteps is how many steps an iteration of processes is. They take much longer than it takes
// to tell a process to do them.
const processSteps = 20

// An order of a helper process of a file is "draw N", the first number, or "do N".
const (
	ordersDraw = 0
	ordersDo   = 1
)

// ownTask is what a helper process needs to know.
type ownTask struct {
	Env             Env
	Name, Operation string
	Text            []byte
	Part            int // of the runner: whose records are its own
}

// ownProcesses has each part of an ownRunner done by a process, which lives as long as it does.
// This process loads the store and checks it: it draws the same steps as they do.
type ownProcesses struct {
	*ownRunner
	task    ownTask
	helpers []*ownProcess
	idle    chan *ownProcess
	busy    atomic.Int64 // calls of the slice that gave up waiting for a lock, and were made again
}

// ownProcess is a process, and how many iterations of the slice it has left.
type ownProcess struct {
	*queueProcess
	left int
}

var (
	_ Metered = (*ownProcesses)(nil)
	_ Apart   = (*ownProcesses)(nil)
)

// Staying tells that the processes live on.
func (r *ownProcesses) Staying() bool { return true }

// Setup loads the store and starts the processes.
func (r *ownProcesses) Setup(ctx context.Context) error {
	if err := r.ownRunner.Setup(ctx); err != nil {
		return err
	}
	if !r.each && r.db.Mode() != kv.Shared {
		return &kv.Error{Op: "workload", Engine: r.env.Engine, Kind: kv.Unsupported,
			Err:  errors.New("one process alone may have the store open"),
			Hint: "use an engine that several processes may open, as sqlite, or open: each"}
	}
	for i := range r.parts {
		task := r.task
		task.Part, task.Env.Self, task.Env.Logger = i, nil, nil
		spec, err := json.Marshal(task)
		if err != nil {
			return err
		}
		p := &ownProcess{queueProcess: &queueProcess{args: slices.Concat(r.env.Self,
			[]string{ownHelperName, string(spec)})}}
		r.helpers = append(r.helpers, p)
		if err := p.start(); err != nil {
			return err
		}
	}
	return nil
}

// Prepare has all processes draw the steps of the next slice.
func (r *ownProcesses) Prepare(n int) error {
	r.busy.Store(0)
	r.idle = make(chan *ownProcess, len(r.helpers))
	for i, p := range r.helpers {
		p.left = n / len(r.helpers)
		if i < n%len(r.helpers) {
			p.left++
		}
		r.parts[i].plan.draw(p.left * processSteps)
		if p.left == 0 {
			continue
		}
		if err := r.told(p, ordersDraw, p.left*processSteps); err != nil {
			return err
		}
		r.idle <- p
	}
	return nil
}

// told has a process do something, and waits for it.
func (r *ownProcesses) told(p *ownProcess, order, n int) error {
	if err := p.order(order, n); err != nil {
		return err
	}
	_, busy, err := p.report()
	r.busy.Add(int64(busy))
	return err
}

// Do has an idle process do its next steps.
func (r *ownProcesses) Do(ctx context.Context, _, _ int) error {
	p := <-r.idle
	defer context.AfterFunc(ctx, p.end)()
	err := r.told(p, ordersDo, processSteps)
	if p.left--; p.left > 0 {
		r.idle <- p
	}
	return errors.Join(ctx.Err(), err)
}

// Metrics tells how often a process gave up waiting for a lock, if one did.
func (r *ownProcesses) Metrics() []Metric {
	if n := r.busy.Load(); n > 0 {
		return []Metric{{Name: "timeouts", Value: float64(n), Sum: true}}
	}
	return nil
}

// Close ends the processes, then what ownRunner does.
func (r *ownProcesses) Close() error {
	var errs []error
	for _, p := range r.helpers {
		errs = append(errs, p.stop())
	}
	r.helpers = nil
	return errors.Join(append(errs, r.ownRunner.Close())...)
}

// ownHelper is a process that does what its standard input tells it, until that ends.
func ownHelper(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) (err error) {
	var task ownTask
	if len(args) == 1 {
		err = json.Unmarshal([]byte(args[0]), &task)
	}
	if len(args) != 1 || err != nil {
		return &kv.Error{Op: "helper", Kind: kv.Invalid, Err: errors.Join(fmt.Errorf("arguments %q", args), err),
			Hint: helperHint}
	}
	r, err := task.runner()
	if err != nil {
		return err
	}
	part := r.parts[task.Part]
	for range part.records {
		part.plan.model.add() // as the process that loaded them has it
	}
	if !r.each {
		if r.db, err = r.open(ctx); err != nil {
			return err
		}
		part.db = r.within(r.db)
		defer func() { err = errors.Join(err, r.Close()) }()
	}
	if _, err := io.WriteString(stdout, lineReady); err != nil {
		return err
	}
	return r.serve(ctx, part, stdin, stdout)
}

// runner returns the runner of which a process is a part.
func (t ownTask) runner() (*ownRunner, error) {
	w, _, err := Own(t.Name, t.Text)
	if err != nil {
		return nil, err
	}
	op, ok := w.Op(t.Operation)
	if !ok {
		return nil, fmt.Errorf("%s has no operation %q", t.Name, t.Operation)
	}
	t.Env.Self = []string{ownHelperName} // which New asks for; it starts nothing
	r, err := op.New(t.Env)
	if err != nil {
		return nil, err
	}
	processes, ok := r.(*ownProcesses)
	if !ok || t.Part < 0 || t.Part >= len(processes.parts) {
		return nil, fmt.Errorf("%s has no process %d", t.Operation, t.Part)
	}
	return processes.ownRunner, nil
}

// serve does what orders say.
func (r *ownRunner) serve(ctx context.Context, part *ycsbRunner, stdin io.Reader, stdout io.Writer) error {
	orders := bufio.NewScanner(stdin)
	for orders.Scan() {
		var order, n, busy int
		if _, err := fmt.Sscan(orders.Text(), &order, &n); err != nil {
			return fmt.Errorf("order %q: %w", orders.Text(), err)
		}
		if order == ordersDraw {
			part.plan.draw(n)
			part.at = 0
			n = 0
		}
		for range n {
			if err := again(&busy, func() error { return r.step(ctx, part, 0, part.at) }); err != nil {
				return err
			}
			part.at++
		}
		if _, err := fmt.Fprintf(stdout, lineQueueDone, busy); err != nil {
			return err
		}
	}
	return orders.Err()
}
