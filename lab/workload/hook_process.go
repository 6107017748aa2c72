package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
)

// processRunner starts a process for each operation, as the tool is run in earnest, and kills some.
type processRunner struct {
	hookStore
	ledger hookLedger
	steps  []processStep // of the slice, by iteration
	drawn  int           // steps so far
	putAt  int           // which of the next putEvery puts

	// The medians of the processes that were not killed: the whole process, and that part of it
	// which opens the store, works and closes it.
	typicalRun, typicalWork time.Duration

	mu   sync.Mutex // guards seen
	seen processStats
}

// crowdRunner is a processRunner whose parameter says how many processes run at a time.
type crowdRunner struct {
	*processRunner
	size int
}

var _ Apart = (*processRunner)(nil)

// Staying tells that each process ends with its iteration.
func (r *processRunner) Staying() bool { return false }

func newCrowdRunner(env Env) (Runner, error) {
	p := env.params(hookParams)
	size := p.count("n", 1, mostProcesses)
	if p.err != nil {
		return nil, p.err
	}
	r, err := newProcessRunner(env)
	if err != nil {
		return nil, err
	}
	return crowdRunner{r.(*processRunner), size}, nil
}

// Workers returns how many processes run at a time.
func (r crowdRunner) Workers() int { return r.size }

// processStep is one process.
type processStep struct {
	hookStep
	kill  killing
	delay float64 // after what share of the typical time it is killed
}

// killing says when a process is killed. Most of the time of a short process is its start, in which
// there is nothing to destroy; so that enough of the kills hit the rest, half of them are aimed at
// it.
type killing uint8

const (
	notKilled  killing = iota
	killedRun          // at any time, by another process
	killedWork         // from when it begins to open the store, by itself
)

// processStats is what was measured in a slice.
type processStats struct {
	runs, waits, works []time.Duration // waits: opening; works: all after that
	spans              []time.Duration // waits and works
	cpus               []time.Duration // of whole processes
	timeouts, killed   int
	openAfter          time.Duration
}

const (
	putEvery  = 5    // one of so many processes puts, the others get
	killShare = 0.05 // to be killed; the few that end before are not, and do not count as killed

	// atOnce is how long the store may take to get free after the last process ended.
	atOnce = time.Second
)

var errNoHelpers = &kv.Error{Op: "workload", Kind: kv.Unsupported, Err: errors.New("no helper processes here"),
	Hint: "use the operations of hook that work in one process"}

func newProcessRunner(env Env) (Runner, error) {
	if len(env.Self) == 0 {
		return nil, errNoHelpers
	}
	s, err := newHookStore(env)
	if err != nil {
		return nil, err
	}
	s.closed = true
	return &processRunner{hookStore: s}, nil
}

// Setup loads the store and learns how long a process takes.
func (r *processRunner) Setup(ctx context.Context) error {
	if err := r.hookStore.Setup(ctx); err != nil {
		return err
	}
	r.ledger = newHookLedger(r.versions)
	for range 3 {
		if err := r.process(ctx, processStep{}); err != nil {
			return err
		}
	}
	r.learn()
	return nil
}

// learn takes the typical times from the processes of the slice.
func (r *processRunner) learn() {
	if len(r.seen.spans) > 0 {
		r.typicalRun, r.typicalWork = durationAt(r.seen.runs, 0.5), durationAt(r.seen.spans, 0.5)
	}
}

// Prepare draws what the processes do, and which are killed when.
func (r *processRunner) Prepare(n int) error {
	r.seen = processStats{}
	r.steps = r.steps[:0]
	for range n {
		if r.drawn%putEvery == 0 {
			r.putAt = r.rand.IntN(putEvery)
		}
		s := processStep{
			hookStep: hookStep{key: r.drawKey(), put: r.drawn%putEvery == r.putAt},
			delay:    r.rand.Float64(),
		}
		r.drawn++
		switch kill := r.rand.Float64(); {
		case kill < killShare/2:
			s.kill = killedRun
		case kill < killShare:
			s.kill = killedWork
		}
		r.steps = append(r.steps, s)
	}
	return nil
}

// Do runs one process.
func (r *processRunner) Do(ctx context.Context, _, i int) error { return r.process(ctx, r.steps[i]) }

func (r *processRunner) process(ctx context.Context, step processStep) error {
	entry := r.ledger.begin(step.hookStep)
	task := hookTask{form: r.env.Form, url: r.env.url("store"), durability: r.env.Durability, values: r.values,
		key: entry.key, version: entry.version}
	report, err := r.start(ctx, task, step)
	if err != nil {
		return err
	}
	r.count(report)
	if err := r.ledger.end(entry, report); err != nil {
		return fmt.Errorf("process: %w", err)
	}
	return nil
}

// start runs the process that does task, kills it if step says so, and returns what it said.
func (r *processRunner) start(ctx context.Context, task hookTask, step processStep) (processReport, error) {
	if step.kill == killedWork {
		task.kill = max(time.Duration(step.delay*float64(r.typicalWork)), 1)
	}
	cmd := exec.CommandContext(ctx, r.env.Self[0], slices.Concat(r.env.Self[1:], task.args())...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return processReport{}, fmt.Errorf("start helper process: %w", err)
	}
	if step.kill == killedRun {
		delay := time.Duration(step.delay * float64(r.typicalRun))
		timer := time.AfterFunc(delay, func() { _ = cmd.Process.Kill() }) // fails if it has ended already
		defer timer.Stop()
	}
	err := cmd.Wait()
	took := time.Since(began)
	killed := step.kill != notKilled && err != nil
	switch {
	case ctx.Err() != nil:
		return processReport{}, ctx.Err()
	case err != nil && (!killed || cmd.ProcessState.Exited() && stderr.Len() > 0):
		return processReport{}, fmt.Errorf("helper process: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	report, err := parseProcessReport(stdout.String())
	report.killed, report.run = killed, took
	report.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err == nil && !killed && !report.closed && !report.busy {
		err = fmt.Errorf("helper process: it ended without a report: %q", stdout.String())
	}
	return report, err
}

func (r *processRunner) count(report processReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.seen
	if report.killed {
		s.killed++
	}
	switch {
	case report.busy:
		s.timeouts++
		s.waits = append(s.waits, report.wait)
	case report.closed:
		s.waits = append(s.waits, report.wait)
		s.works = append(s.works, report.work)
		s.spans = append(s.spans, report.wait+report.work)
		s.runs = append(s.runs, report.run)
		s.cpus = append(s.cpus, report.cpu)
	}
}

// Verify opens the store, which no process has open now, and compares it with what was
// acknowledged.
func (r *processRunner) Verify(ctx context.Context) (err error) {
	r.learn()
	c := r.comparison(r.ledger.takeTouched(), r.ledger.settle)
	if r.tool != nil {
		return r.verifyTool(ctx, c)
	}
	start := time.Now()
	db, err := kv.Open(ctx, r.url, append(slices.Clip(r.needs), kv.WithWait(atOnce))...)
	if err != nil {
		return r.notFree(err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r.seen.openAfter = time.Since(start)
	if r.mayCheck() {
		if err := db.Check(ctx); err != nil {
			return err
		}
	}
	return c.db(ctx, db)
}

// notFree is the error of a store that cannot be opened after the last process.
func (r *processRunner) notFree(err error) error {
	return fmt.Errorf("open after %d processes, %d of them killed: %w", len(r.steps), r.seen.killed, err)
}

// mayCheck reports whether the engine is to check its store after the slice.
func (r *processRunner) mayCheck() bool { return r.seen.killed > 0 && len(r.versions) <= allKeys }

// Metrics returns what the processes of the slice met.
func (r *processRunner) Metrics() []Metric {
	s := &r.seen
	metrics := []Metric{
		{Name: "timeouts", Value: float64(s.timeouts), Sum: true},
		{Name: "killed", Value: float64(s.killed), Sum: true},
		{Name: "open-after-ns", Value: float64(s.openAfter)},
	}
	if len(s.waits) > 0 {
		metrics = append(metrics,
			Metric{Name: "lock-wait-p50-ns", Value: float64(durationAt(s.waits, 0.5))},
			Metric{Name: "lock-wait-p99-ns", Value: float64(durationAt(s.waits, 0.99))})
	}
	if len(s.works) > 0 {
		metrics = append(metrics, Metric{Name: "work-p50-ns", Value: float64(durationAt(s.works, 0.5))},
			Metric{Name: "cpu-p50-ns", Value: float64(durationAt(s.cpus, 0.5))})
	}
	return metrics
}

// durationAt sorts d, which is not empty, and returns its quantile q by nearest rank.
func durationAt(d []time.Duration, q float64) time.Duration {
	slices.Sort(d)
	return d[min(int(q*float64(len(d))), len(d)-1)]
}

// processReport is what a process said, and how it ended.
type processReport struct {
	version    uint64 // read or surely committed; 0 if it did not say
	closed     bool   // it did all it should
	busy       bool   // it did nothing: a lock was taken for too long
	killed     bool
	wait, work time.Duration
	run, cpu   time.Duration // of the whole process, measured outside
}

// parseProcessReport reads the lines of a helper process. The last one is not whole if the process
// was killed, and is then passed over.
func parseProcessReport(text string) (r processReport, err error) {
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "done":
			_, err = fmt.Sscanf(line, lineDone, &r.version)
		case "closed":
			r.closed = true
			_, err = fmt.Sscanf(line, lineClosed, &r.wait, &r.work)
		case "busy":
			r.busy = true
			_, err = fmt.Sscanf(line, lineBusy, &r.wait)
		default:
			err = errors.New("unknown line")
		}
		if err != nil {
			return r, fmt.Errorf("helper process said %q: %w", line, err)
		}
	}
	return r, nil
}
