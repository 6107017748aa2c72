package statetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"testing"

	"github.com/assaydb/assay/stores/state"
)

// taskVariable names the environment variable that makes a test binary do a task and end.
const taskVariable = "ASSAY_STATETEST_TASK"

// task is what a child does.
type task struct {
	Dir    string
	Job    string // a key of jobs
	Bucket string
	ID     int           // of the process among others
	Count  int           // how often
	From   int           // the first version to write
	Seed   uint64        // everything random comes from it
	Wait   time.Duration // Options.Wait; 0 is patience
	Class  string        // of durability
}

// report is a line that a child writes.
type report struct {
	What    string // "ready", "held", "done", "acknowledged", "saw"; "failed" with Err
	ID      int    `json:",omitempty"` // whose key
	Version int    `json:",omitempty"`
	Took    time.Duration
	Err     string `json:",omitempty"`
}

// child is the parent's end of a process.
type child struct {
	s       *suite
	cmd     *exec.Cmd
	in      io.WriteCloser
	reports chan report // closed when the child's output ends
	stderr  strings.Builder
}

// start starts a process that does the task, which ends with the case at the latest.
func (s *suite) start(t task) *child {
	s.Helper()
	c, err := s.spawn(t)
	s.must("start", err)
	s.Cleanup(c.kill)
	return c
}

func (s *suite) spawn(t task) (*child, error) {
	t.Dir = s.dir
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	root, _, _ := strings.Cut(s.Name(), "/")
	c := &child{s: s, cmd: exec.Command(self, "-test.run=^"+root+"$"), reports: make(chan report, 1000)}
	c.cmd.Env = append(os.Environ(), taskVariable+"="+string(text))
	c.cmd.Stderr = &c.stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.read(out)
	return c, nil
}

// read passes on whole lines; the last one of a process that was killed may be cut.
func (c *child) read(out io.Reader) {
	defer close(c.reports)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r report
		if err := json.Unmarshal(line, &r); err != nil {
			r = report{What: "failed", Err: fmt.Sprintf("unreadable line %q", line)}
		}
		c.reports <- r
	}
}

// kill ends the process at once and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// wait waits for a report of the kind.
func (c *child) wait(what string) report {
	c.s.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case r, ok := <-c.reports:
			switch {
			case !ok:
				c.s.Fatalf("a process ended before it was %s: %v: %s", what, c.cmd.Wait(), c.stderr.String())
			case r.What == what:
				return r
			case r.What == "failed":
				c.s.Fatalf("a process failed before it was %s: %s", what, r.Err)
			}
		case <-timer.C:
			c.s.Fatalf("a process was not %s within %v", what, patience)
		}
	}
}

// proceed lets a process go on that waits for it.
func (c *child) proceed() { _ = c.in.Close() }

// atOnce lets n processes do a job at the same time and returns how they ended.
func (s *suite) atOnce(n int, t task) []report {
	s.Helper()
	var children []*child
	for i := range n {
		t.ID = i
		children = append(children, s.start(t))
	}
	for _, c := range children {
		c.wait("ready")
	}
	for _, c := range children {
		c.proceed()
	}
	var all []report
	for _, c := range children {
		all = append(all, c.wait("done"))
	}
	return all
}

// runChild does the task in the environment, if there is one, and ends the process.
func runChild(t *testing.T, target Target) {
	text := os.Getenv(taskVariable)
	if text == "" {
		return
	}
	var job task
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		fmt.Fprintln(os.Stderr, t.Name(), err)
		os.Exit(1)
	}
	out := json.NewEncoder(os.Stdout)
	if err := job.run(target, func(r report) { _ = out.Encode(r) }); err != nil {
		_ = out.Encode(report{What: "failed", Err: err.Error()})
		os.Exit(1)
	}
	os.Exit(0)
}

// jobs is what a child can do.
var jobs = map[string]func(ctx context.Context, store *state.Store, t task, tell func(report)) error{
	"put":       jobPut,
	"get":       jobGet,
	"increment": jobIncrement,
	"hold":      jobHold,
	"hold view": jobHoldView,
	"work":      jobWork,
}

func (t task) run(target Target, tell func(report)) error {
	o := target.options()
	if t.Wait > 0 {
		o.Wait = t.Wait
	}
	if t.Class != "" {
		if err := o.Durability.UnmarshalText([]byte(t.Class)); err != nil {
			return err
		}
	}
	o.MigrationWait = patience
	o.Legacy = legacy
	store, err := state.New(target.URL(t.Dir), &o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := jobs[t.Job](ctx, store, t, tell); err != nil {
		return err
	}
	tell(report{What: "done", ID: t.ID, Version: len(store.Incidents())})
	return nil
}

// gate tells that the process is ready and waits for the parent.
func gate(tell func(report), what string) {
	tell(report{What: what})
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func jobPut(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	gate(tell, "ready")
	return store.Put(ctx, t.Bucket, fmt.Appendf(nil, "p%d", t.ID), fmt.Appendf(nil, "%d", t.ID))
}

func jobGet(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	gate(tell, "ready")
	_, err := store.Get(ctx, t.Bucket, legacyKey(t.ID))
	return err
}

func jobIncrement(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	gate(tell, "ready")
	for range t.Count {
		if err := increment(ctx, store); err != nil {
			return err
		}
	}
	return jobPut(ctx, store, t, tell)
}

func jobHold(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	return store.Update(ctx, t.Bucket, func(tx *state.Tx) error {
		if err := tx.Put([]byte("held"), []byte("yes")); err != nil {
			return err
		}
		gate(tell, "held")
		return nil
	})
}

func jobHoldView(ctx context.Context, store *state.Store, t task, tell func(report)) error {
	return store.View(ctx, t.Bucket, func(v *state.View) error {
		if _, err := v.Has([]byte("k")); err != nil {
			return err
		}
		gate(tell, "held")
		return nil
	})
}
