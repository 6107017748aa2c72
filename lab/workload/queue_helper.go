package workload

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assaydb/assay/kv"
)

// queueHelperName is the first argument of a helper process of queue. The second is what it does,
// the third an Env as JSON.
const queueHelperName = "queue"

// What a process of a queue does with an order "FIRST N".
const (
	produces = "produce" // publishes N jobs, whose serials begin with FIRST, and says lineDone
	consumes = "consume" // takes N jobs, whichever, says lineAcked after each, and lineDone
)

// A helper process of queue says lineReady once, then these.
const (
	lineReady     = "ready\n"
	lineAcked     = "acked %d\n"    // a job's serial
	lineQueueDone = "finished %d\n" // how often it gave up waiting for a lock, and began again
)

// queueProcess is such a process, as the one that started it has it. It has one user at a time, but
// others may end it.
type queueProcess struct {
	args   []string
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *bytes.Buffer
	onAck  func(serial int) // called at each report of a job; may be nil
	killed atomic.Bool      // by kill

	mu  sync.Mutex
	cmd *exec.Cmd // nil when it does not run
}

func newQueueProcess(env Env, does string) *queueProcess {
	self := env.Self
	env.Self, env.Logger = nil, nil
	spec, err := json.Marshal(env)
	if err != nil {
		panic(err) // it is of texts and numbers
	}
	return &queueProcess{args: slices.Concat(self, []string{queueHelperName, does, string(spec)})}
}

// start starts the process, and waits until it has the queue open.
func (p *queueProcess) start() error {
	cmd := exec.Command(p.args[0], p.args[1:]...)
	p.stderr = new(bytes.Buffer)
	cmd.Stderr = p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start helper process: %w", err)
	}
	p.stdin, p.stdout = stdin, bufio.NewReader(stdout)
	p.killed.Store(false)
	p.mu.Lock()
	p.cmd = cmd
	p.mu.Unlock()
	line, err := p.read()
	if err == nil && line != lineReady {
		err = fmt.Errorf("helper process said %q before it was ready", line)
	}
	return err
}

// order tells the process what to do.
func (p *queueProcess) order(first, n int) error {
	_, err := fmt.Fprintln(p.stdin, first, n)
	return err
}

// report returns the serial of a job that the process acknowledged; when it has done what it was
// told, -1 and how often it gave up waiting for a lock.
func (p *queueProcess) report() (serial, busy int, err error) {
	line, err := p.read()
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscanf(line, lineAcked, &serial); err == nil {
		if p.onAck != nil {
			p.onAck(serial)
		}
		return serial, 0, nil
	}
	if _, err := fmt.Sscanf(line, lineQueueDone, &busy); err != nil {
		return 0, 0, fmt.Errorf("helper process said %q: %w", line, err)
	}
	return -1, busy, nil
}

// read returns the next line. At the end of the process's output it ends the process, and says what
// was wrong with it.
func (p *queueProcess) read() (string, error) {
	line, err := p.stdout.ReadString('\n')
	if err == nil {
		return line, nil
	}
	p.end()
	return "", errors.Join(err, p.wait())
}

// wait waits for the end of the process, if it runs.
func (p *queueProcess) wait() error {
	if p.cmd == nil {
		return nil
	}
	err := p.cmd.Wait()
	if err != nil {
		err = fmt.Errorf("helper process: %w: %s", err, strings.TrimSpace(p.stderr.String()))
	}
	p.mu.Lock()
	p.cmd = nil
	p.mu.Unlock()
	return err
}

// end ends the process at once, as kill -9 does, if it runs.
func (p *queueProcess) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // fails if it has ended already
	}
}

// kill is end as an accident that the others survive.
func (p *queueProcess) kill() {
	p.killed.Store(true)
	p.end()
}

// stop lets the process end. Of one that was killed it tells nothing.
func (p *queueProcess) stop() error {
	if p.cmd == nil {
		return nil
	}
	if err := errors.Join(p.stdin.Close(), p.wait()); !p.killed.Load() {
		return err
	}
	return nil
}

// queueHelper is a process that does what its standard input tells it, until that ends.
func queueHelper(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) (err error) {
	var env Env
	if len(args) == 2 {
		err = json.Unmarshal([]byte(args[1]), &env)
	}
	if len(args) != 2 || err != nil || args[0] != produces && args[0] != consumes {
		return &kv.Error{Op: "helper", Kind: kv.Invalid, Err: errors.Join(fmt.Errorf("arguments %q", args), err),
			Hint: helperHint}
	}
	r, err := newQueueRunner(env, queueTask{}, Op{Forms: queueForms})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.jobs, err = r.join(ctx); err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, lineReady); err != nil {
		return err
	}
	orders := bufio.NewScanner(stdin)
	for orders.Scan() {
		var first, n, busy int
		if _, err := fmt.Sscan(orders.Text(), &first, &n); err != nil {
			return fmt.Errorf("order %q: %w", orders.Text(), err)
		}
		if args[0] == produces {
			busy, err = r.produceJobs(ctx, first, n)
		} else {
			busy, err = r.consumeJobs(ctx, n, stdout)
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(stdout, lineQueueDone, busy); err != nil {
			return err
		}
	}
	return orders.Err()
}

// produceJobs publishes n jobs.
func (r *queueRunner) produceJobs(ctx context.Context, first, n int) (busy int, err error) {
	var payload []byte
	for serial := first; serial < first+n && err == nil; serial++ {
		payload = r.values.append(payload[:0], uint64(serial), 0)
		err = again(&busy, func() error { return r.jobs.publish(ctx, payload) })
	}
	return busy, err
}

// patience is how long a consumer waits for jobs that must come.
const patience = time.Minute

// consumeJobs waits for n jobs, one after the other, checks and acknowledges them.
func (r *queueRunner) consumeJobs(ctx context.Context, n int, stdout io.Writer) (busy int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for range n {
		var serial uint64
		err := again(&busy, func() error {
			jobs, err := r.jobs.next(ctx)
			if err != nil {
				return err
			}
			if len(jobs[0].Payload) < 8 {
				return fmt.Errorf("job %d: a payload of %d bytes that was not published", jobs[0].ID,
					len(jobs[0].Payload))
			}
			serial = binary.LittleEndian.Uint64(jobs[0].Payload)
			if err := r.values.check(jobs[0].Payload, serial, 0); err != nil {
				return err
			}
			return again(&busy, func() error { return r.jobs.ack(ctx, jobs[0]) })
		})
		if err == nil {
			_, err = fmt.Fprintf(stdout, lineAcked, serial)
		}
		if err != nil {
			return busy, err
		}
	}
	return busy, nil
}

// again calls fn until it does not fail for want of a lock, and counts how often it did.
func again(busy *int, fn func() error) error {
	for {
		err := fn()
		if !errors.Is(err, kv.Busy) {
			return err
		}
		*busy++
	}
}
