package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// process is the parent's end of a child process.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  tail
	stopped bool
	ending  sync.Once
	err     error // how it ended
}

// errChild is that a child can no longer be used: it crashed, hung or was killed.
type errChild struct {
	text string
	hint string
	hung bool
}

func (e *errChild) Error() string { return e.text }

// startProcess runs command as a child.
func startProcess(command []string) (*process, error) {
	p := &process{cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = time.Second
	isolate(p.cmd)
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

// call sends a request and waits for the answer. A child that gives none within limit has hung and is killed.
// An error in the answer is in the response; an errChild is the end of the process; otherwise ctx ended.
func (p *process) call(ctx context.Context, r request, limit time.Duration) (response, error) {
	if err := json.NewEncoder(p.in).Encode(r); err != nil {
		return response{}, p.ended()
	}
	type answer struct {
		resp response
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		line, err := p.out.ReadBytes('\n')
		if a.err = err; err == nil {
			a.err = json.Unmarshal(line, &a.resp)
		}
		answers <- a
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case a := <-answers:
		if a.err != nil {
			return response{}, p.ended()
		}
		return a.resp, nil
	case <-timer.C:
		_ = p.end(0)
		<-answers
		return response{}, &errChild{hung: true, text: fmt.Sprintf("hung: no answer to %s within %v", r.Command, limit.Round(time.Second)),
			hint: "its process was killed; run this engine alone to see whether it hangs again"}
	case <-ctx.Done():
		_ = p.end(0)
		<-answers
		return response{}, ctx.Err()
	}
}

// ended waits for a process whose output has ended and says how it ended.
func (p *process) ended() error {
	err := p.end(2 * time.Second)
	if err == nil {
		err = errors.New("it exited without an answer")
	}
	text := "crashed: " + err.Error()
	if said := p.stderr.reason(); said != "" {
		text += ": " + said
	}
	return &errChild{text: text, hint: "the engine ended its own process; the other engines were not touched"}
}

// end closes the child's input, which ends it, waits for it at most for grace and then kills it with everything that
// it started. It returns how the process ended; ending twice returns the same.
func (p *process) end(grace time.Duration) error {
	p.ending.Do(func() {
		_ = p.in.Close() // a child that is gone already has closed its end
		p.resume()
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

// suspend stops the process where the system can, so that it uses nothing while others run.
func (p *process) suspend() {
	if !p.stopped && suspend(p.cmd) == nil {
		p.stopped = true
	}
}

// resume lets a suspended process go on.
func (p *process) resume() {
	if p.stopped && resume(p.cmd) == nil {
		p.stopped = false
	}
}

// tail keeps the first and the last of what a process writes to standard error.
type tail struct {
	mu          sync.Mutex
	first, last []byte
}

const tailSize = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := tailSize - len(t.first); room > 0 {
		t.first = append(t.first, b[:min(room, len(b))]...)
	}
	t.last = append(t.last, b...)
	if len(t.last) > tailSize {
		t.last = t.last[len(t.last)-tailSize:]
	}
	return len(b), nil
}

// reason returns the line that says why the process ended: the one that Go's run-time system prints, or the last.
func (t *tail) reason() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := ""
	for line := range strings.Lines(string(t.first) + "\n" + string(t.last)) {
		line = strings.TrimSpace(line)
		for _, start := range []string{"panic: ", "fatal error: ", "unexpected fault address", "SIG"} {
			if strings.HasPrefix(line, start) {
				return line
			}
		}
		if line != "" {
			last = line
		}
	}
	return last
}
