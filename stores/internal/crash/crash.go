// Package crash runs a store's test binary again as a process that works on a task and reports as
// it goes, so that it can be killed. It is for the conformance suites of stores.
package crash

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// variable holds the task of a child, in its environment.
const variable = "ASSAY_STORE_TASK"

// Child is a process that works on a task. Reports is closed at the end of its output.
type Child[R any] struct {
	Reports chan R
	dir     string // its folder for temporary files, which a killed process cannot remove
	cmd     *exec.Cmd
	stdin   io.Closer
	stderr  strings.Builder
}

// Start runs the test binary again, with the top-level test of t selected, for a task: that test
// must call Work, in itself or in a suite that it runs. The process is killed at the end of the
// test.
func Start[R any](t *testing.T, task any) *Child[R] {
	t.Helper()
	c, err := Spawn[R](t, task)
	if err != nil {
		t.Fatalf("start a process: %v", err)
	}
	t.Cleanup(c.End)
	return c
}

// Spawn is Start for any goroutine of the test. The caller takes the Reports to their end and waits
// for the process.
func Spawn[R any](t *testing.T, task any) (*Child[R], error) {
	top, below, _ := strings.Cut(t.Name(), "/")
	if strings.Contains(below, "/") {
		return nil, errors.New("a suite must be run by a top-level test")
	}
	return Run[R](top, task)
}

// Run is Spawn for a benchmark, too: it runs the test called name, which must call Work.
func Run[R any](name string, task any) (*Child[R], error) {
	text, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Child[R]{cmd: exec.Command(binary, "-test.run=^"+regexp.QuoteMeta(name)+"$"), Reports: make(chan R, 64)}
	if c.dir, err = os.MkdirTemp("", name); err != nil {
		return nil, err
	}
	c.cmd.Env = append(os.Environ(), variable+"="+string(text), "TMPDIR="+c.dir, "TMP="+c.dir, "TEMP="+c.dir)
	if err := c.start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	return c, nil
}

// start starts the process and the reading of its reports.
func (c *Child[R]) start() (err error) {
	c.cmd.Stderr = &c.stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(c.Reports)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var r R
			if json.Unmarshal(lines.Bytes(), &r) == nil { // the last line may be cut
				c.Reports <- r
			}
		}
	}()
	return nil
}

// Kill kills the process (SIGKILL).
func (c *Child[R]) Kill() error { return c.cmd.Process.Kill() }

// End kills the process, if it lives, and waits until it is gone. What it may still have reported
// is dropped.
func (c *Child[R]) End() {
	_ = c.Kill() // an error says that it has ended
	for range c.Reports {
	}
	_ = c.wait() // likewise
}

// Proceed lets the process go on that is in Await.
func (c *Child[R]) Proceed() error { return c.stdin.Close() }

// Await waits in a process for its parent's Proceed, or death.
func Await() { _, _ = io.Copy(io.Discard, os.Stdin) }

// Wait waits for the end of the process, once Reports is closed.
func (c *Child[R]) Wait() error {
	if err := c.wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, c.stderr.String())
	}
	return nil
}

// CPU returns the processor time that the process took, once it has ended.
func (c *Child[R]) CPU() time.Duration {
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
}

// wait waits for the end of the process and removes its temporary files.
func (c *Child[R]) wait() error {
	return errors.Join(c.cmd.Wait(), os.RemoveAll(c.dir))
}

// AfterReports runs a task, kills the process after n reports and returns all that it reported.
func AfterReports[R any](t *testing.T, task any, n int) (all []R) {
	t.Helper()
	c := Start[R](t, task)
	for r := range c.Reports {
		if all = append(all, r); len(all) == n {
			if err := c.Kill(); err != nil {
				t.Fatalf("kill: %v", err)
			}
		}
	}
	err := c.Wait()
	if len(all) < n {
		t.Fatalf("the child ended after %d reports: %v", len(all), err)
	}
	return all
}

// Work does the task in the environment, if there is one, and ends the process.
func Work[T any](t *testing.T, do func(T) error) {
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	var task T
	err := json.Unmarshal([]byte(text), &task)
	if err == nil {
		err = do(task)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", t.Name(), err)
		os.Exit(1)
	}
	os.Exit(0)
}
