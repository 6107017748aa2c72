// Package child drives child processes of this program over pipes: the parent sends JSON requests,
// one a line, to a child's standard input, and reads JSON answers, one a line, from its standard
// output.
//
// A child is in a process group of its own and ends when its input does, so that none outlives its
// parent.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Process is the parent's end of a child process. It is used by one goroutine at a time; Kill and
// PID may be called at any time.
type Process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  tail
	stopped bool
	ending  sync.Once
	err     error // how it ended
}

// Error is that a child can no longer be used: it crashed, hung or was killed.
type Error struct {
	Text string // one line: what happened, and what the process said last
	Hint string
	Hung bool
	// Killed is that somebody has killed it (SIGKILL), as a system does that has no memory left.
	Killed bool
}

func (e *Error) Error() string { return e.Text }

// Start runs command as a child.
func Start(command []string) (*Process, error) { return startWith(command, isolate) }

// StartHeir runs command as a child that the death of this process does not kill: it sees the end
// of its input, and may put things in order.
func StartHeir(command []string) (*Process, error) { return startWith(command, separate) }

func startWith(command []string, prepare func(*exec.Cmd)) (*Process, error) {
	p := &Process{cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = time.Second
	prepare(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, nil
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Send writes a request without waiting for an answer.
func (p *Process) Send(request any) error { return json.NewEncoder(p.in).Encode(request) }

// Receive waits for one answer. It returns io.EOF, or another error of the pipe, once the process
// has ended; half an answer counts as none.
func (p *Process) Receive(answer any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, answer)
}

// Call sends a request and waits for the answer. A child that gives none within limit has hung and
// is killed; what names the request in that error. An Error is the end of the process; any other
// error is that ctx ended, which also kills it.
func (p *Process) Call(ctx context.Context, what string, request, answer any, limit time.Duration) error {
	if err := p.Send(request); err != nil {
		return p.Ended()
	}
	received := make(chan error, 1)
	go func() { received <- p.Receive(answer) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-received:
		if err != nil {
			return p.Ended()
		}
		return nil
	case <-timer.C:
		_ = p.End(0)
		<-received
		return &Error{Hung: true, Text: fmt.Sprintf("hung: no answer to %s within %v", what, limit.Round(time.Second)),
			Hint: "its process was killed; run this engine alone to see whether it hangs again"}
	case <-ctx.Done():
		_ = p.End(0)
		<-received
		return ctx.Err()
	}
}

// Ended waits for a process whose output has ended and says how it ended, as an Error.
func (p *Process) Ended() error {
	err := p.End(2 * time.Second)
	if err == nil {
		err = errors.New("it exited without an answer")
	}
	text := "crashed: " + err.Error()
	if said := p.stderr.reason(); said != "" {
		text += ": " + said
	}
	return &Error{Text: text, Hint: "the engine ended its own process; the other engines were not touched",
		Killed: killed(err)}
}

// killed reports whether a process ended by SIGKILL.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// CloseInput ends the child's input, which ends the child; End waits for it.
func (p *Process) CloseInput() { _ = p.in.Close() } // a child that is gone already has closed its end

// Kill kills the process at once (SIGKILL), stopped or not. End must still be called.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() } // it may have ended by itself

// End closes the child's input, which ends it, waits for it at most for grace and then kills it
// with everything that it started. It returns how the process ended; ending twice returns the same.
func (p *Process) End(grace time.Duration) error {
	p.ending.Do(func() {
		p.CloseInput()
		p.Resume()
		done := make(chan error, 1)
		go func() { done <- p.cmd.Wait() }()
		select {
		case p.err = <-done:
		case <-time.After(grace):
			killTree(p.cmd)
			p.err = <-done
		}
	})
	return p.err
}

// Suspend stops the process where the system can (CanStop), so that it uses nothing while others
// run.
func (p *Process) Suspend() {
	if !p.stopped && suspend(p.cmd) == nil {
		p.stopped = true
	}
}

// Resume lets a suspended process go on.
func (p *Process) Resume() {
	if p.stopped && resume(p.cmd) == nil {
		p.stopped = false
	}
}
