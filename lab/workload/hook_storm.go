package workload

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/eventlog/sqllog"
	"github.com/assaydb/assay/stores/state"
)

// stormWait is how long a process of a storm waits for the store.
const stormWait = 2 * time.Second

// stormRunner has n processes put one key each at the same moment. They are started before: an
// iteration is the time from the word to begin until the last has closed the store, or given up.
type stormRunner struct {
	hookStore
	plain  *sqlEvents // in the form sql
	size   int
	ledger hookLedger
	keys   []int // of the slice: which each process puts
	ready  []*stormProcess

	timeouts           int
	waits, works, cpus []time.Duration // of the slice, by process
}

var (
	_ Resetter = (*stormRunner)(nil)
	_ Crowd    = (*stormRunner)(nil)
	_ Metered  = (*stormRunner)(nil)
	_ Apart    = (*stormRunner)(nil)
)

// stormProcess is a process that waits for the word to begin.
type stormProcess struct {
	cmd    *exec.Cmd
	entry  hookEntry
	stdin  io.Closer
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// stormForms are those of hook, and plain SQLite through database/sql where that is the engine.
func stormForms(engine, options string) []string {
	forms := hookForms(engine, options)
	if engine == "sqlite" {
		if _, err := newSQLEvents(Env{Engine: engine, Options: options}, sqllog.Options{}); err == nil {
			forms = append(forms, plainForm)
		}
	}
	return forms
}

func newStormRunner(env Env) (Runner, error) {
	p := env.params(hookParams)
	size := p.count("n", 1, mostProcesses)
	if p.err != nil {
		return nil, p.err
	}
	if len(env.Self) == 0 {
		return nil, errNoHelpers
	}
	r := &stormRunner{size: size}
	base := env
	if env.Form == plainForm && slices.Contains(stormForms(env.Engine, env.Options), plainForm) {
		var err error
		if r.plain, err = newSQLEvents(env, sqllog.Options{}); err != nil {
			return nil, err
		}
		base.Form = "kv"
	}
	var err error
	if r.hookStore, err = newHookStore(base); err != nil {
		return nil, err
	}
	r.env, r.closed = env, true
	r.versions = append(r.versions, make([]uint64, max(0, size-len(r.versions)))...) // a key for each
	return r, nil
}

// Staying tells that the processes end with the storm.
func (r *stormRunner) Staying() bool { return false }

// Workers returns how many processes put at the same moment.
func (r *stormRunner) Workers() int { return r.size }

// Setup loads the store.
func (r *stormRunner) Setup(ctx context.Context) error {
	err := error(nil)
	if r.plain == nil {
		err = r.hookStore.Setup(ctx)
	} else {
		err = r.setupPlain(ctx)
	}
	r.ledger = newHookLedger(r.versions)
	return err
}

// Prepare draws the keys.
func (r *stormRunner) Prepare(n int) error {
	r.timeouts, r.waits, r.works, r.cpus = 0, nil, nil, nil
	r.keys = r.keys[:0]
	for range n * r.size {
		r.keys = append(r.keys, r.drawKey())
	}
	return nil
}

// Reset starts the processes, and waits until all are ready.
func (r *stormRunner) Reset(ctx context.Context, _, i int) error {
	if err := r.reap(); err != nil {
		return err
	}
	for _, key := range r.keys[i*r.size:][:r.size] {
		entry := r.ledger.begin(hookStep{key: key, put: true})
		p := &stormProcess{entry: entry}
		task := hookTask{form: r.env.Form, url: r.env.url("store"), durability: r.env.Durability, values: r.values,
			key: entry.key, version: entry.version, wait: stormWait}
		if r.plain != nil {
			task.url = r.plain.path
		}
		p.cmd = exec.CommandContext(ctx, r.env.Self[0], slices.Concat(r.env.Self[1:], task.args())...)
		p.cmd.Stderr = &p.stderr
		stdin, err := p.cmd.StdinPipe()
		if err != nil {
			return err
		}
		stdout, err := p.cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := p.cmd.Start(); err != nil {
			return fmt.Errorf("start helper process: %w", err)
		}
		p.stdin, p.stdout = stdin, bufio.NewReader(stdout)
		r.ready = append(r.ready, p)
	}
	for _, p := range r.ready {
		if line, err := p.stdout.ReadString('\n'); err != nil || line != lineReady {
			return fmt.Errorf("helper process said %q before it was ready: %w: %s", line, err,
				strings.TrimSpace(p.stderr.String()))
		}
	}
	return nil
}

// Do gives the word, and waits until the last process has said what became of it.
func (r *stormRunner) Do(context.Context, int, int) error {
	for _, p := range r.ready {
		if err := p.stdin.Close(); err != nil {
			return err
		}
	}
	for _, p := range r.ready {
		if err := r.outcome(p); err != nil {
			return err
		}
	}
	return nil
}

// outcome reads what a process says, up to its last line.
func (r *stormRunner) outcome(p *stormProcess) error {
	var text strings.Builder
	for {
		line, err := p.stdout.ReadString('\n')
		if err != nil {
			return fmt.Errorf("helper process: it ended without a report: %s", strings.TrimSpace(p.stderr.String()))
		}
		text.WriteString(line)
		report, err := parseProcessReport(text.String())
		if err != nil {
			return err
		}
		if !report.closed && !report.busy {
			continue
		}
		r.waits = append(r.waits, report.wait)
		if report.busy {
			r.timeouts++
		} else {
			r.works = append(r.works, report.work)
		}
		return r.ledger.end(p.entry, report)
	}
}

// reap waits for the end of the processes.
func (r *stormRunner) reap() error {
	var errs []error
	for _, p := range r.ready {
		_ = p.stdin.Close() // an error says that it was before
		_, _ = io.Copy(io.Discard, p.stdout)
		if err := p.cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("helper process: %w: %s", err, strings.TrimSpace(p.stderr.String())))
		}
		r.cpus = append(r.cpus, p.cmd.ProcessState.UserTime()+p.cmd.ProcessState.SystemTime())
	}
	r.ready = nil
	return errors.Join(errs...)
}

// Verify compares the store, which no process has open now, with what was acknowledged.
func (r *stormRunner) Verify(ctx context.Context) error {
	if err := r.reap(); err != nil {
		return err
	}
	c := r.comparison(r.ledger.takeTouched(), r.ledger.settle)
	switch {
	case r.plain != nil:
		return r.verifyPlain(ctx, c)
	case r.tool != nil:
		return c.tool(ctx, r.tool)
	}
	return r.with(ctx, func(db *kv.DB) error { return c.db(ctx, db) })
}

// Metrics returns what the processes of the slice met.
func (r *stormRunner) Metrics() []Metric {
	metrics := []Metric{{Name: "timeouts", Value: float64(r.timeouts), Sum: true}}
	if len(r.waits) > 0 {
		metrics = append(metrics, Metric{Name: "lock-wait-p50-ns", Value: float64(durationAt(r.waits, 0.5))},
			Metric{Name: "lock-wait-p99-ns", Value: float64(durationAt(r.waits, 0.99))})
	}
	if len(r.works) > 0 {
		metrics = append(metrics, Metric{Name: "work-p50-ns", Value: float64(durationAt(r.works, 0.5))})
	}
	if len(r.cpus) > 0 {
		metrics = append(metrics, Metric{Name: "cpu-p50-ns", Value: float64(durationAt(r.cpus, 0.5))})
	}
	return metrics
}

// Describe, Size and Compact are those of the database in the form sql.

// Describe tells what the store was when it was created.
func (r *stormRunner) Describe() Description {
	if r.plain != nil {
		return r.plain.Describe()
	}
	return r.hookStore.Describe()
}

// Size returns the space that the store takes.
func (r *stormRunner) Size() (kv.Size, error) {
	if r.plain != nil {
		return r.plain.Size()
	}
	return r.hookStore.Size()
}

// Compact compacts the store.
func (r *stormRunner) Compact(ctx context.Context) error {
	if r.plain != nil {
		return r.plain.Compact(ctx)
	}
	return r.hookStore.Compact(ctx)
}

// Close ends the processes and closes the store.
func (r *stormRunner) Close() error { return errors.Join(r.reap(), r.hookStore.Close()) }

// options are what a process opens kv with.
func (t hookTask) options() []kv.Option {
	options := []kv.Option{kv.WithWeakest(t.durability)}
	if t.wait > 0 {
		options = append(options, kv.WithWait(t.wait))
	}
	return options
}

// stateOptions are what a process opens package state with.
func (t hookTask) stateOptions() *state.Options {
	return &state.Options{Buckets: []state.Bucket{{Name: stateBucket}}, Durability: t.durability, Wait: t.wait}
}
