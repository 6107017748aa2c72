package drivertest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
)

// A child is the test binary run again. It reads requests, a JSON list of words on a line, and
// answers each with a reply on a line. Standard output holds nothing else: the child leaves before
// the testing package prints.

// childVar names the environment variable that makes a test binary run as a child.
const childVar = "ASSAY_DRIVERTEST_CHILD"

// patience bounds waiting for a process that should answer; only a hang lasts as long.
const patience = 60 * time.Second

type reply struct {
	Value string `json:",omitempty"`
	Err   string `json:",omitempty"`
	Kind  kv.Kind
}

func (r reply) String() string {
	if r.Err == "" {
		return fmt.Sprintf("success %q", r.Value)
	}
	return fmt.Sprintf("error %s (%v)", r.Err, r.Kind)
}

// child is the parent's end.
type child struct {
	e       *env
	cmd     *exec.Cmd
	in      io.WriteCloser
	replies chan reply // closed when the child's output ends
	stderr  strings.Builder
}

// spawn starts a child, which ends with the case at the latest.
func (e *env) spawn() *child {
	e.Helper()
	self, err := os.Executable()
	e.must(err)
	root, _, _ := strings.Cut(e.test, "/")
	c := &child{e: e, cmd: exec.Command(self, "-test.run=^"+root+"$"), replies: make(chan reply, 1000)}
	c.cmd.Env = append(os.Environ(), childVar+"=1")
	c.cmd.Stderr = &c.stderr
	c.in, err = c.cmd.StdinPipe()
	e.must(err)
	out, err := c.cmd.StdoutPipe()
	e.must(err)
	e.must(c.cmd.Start())
	go func() {
		defer close(c.replies)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var r reply
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				r = reply{Err: fmt.Sprintf("unreadable answer %q", lines.Text())}
			}
			c.replies <- r
		}
	}()
	e.Cleanup(c.kill)
	return c
}

// send asks without waiting for the answer.
func (c *child) send(words ...string) {
	c.e.Helper()
	c.e.did("another process: %s", strings.Join(words, " "))
	line, err := json.Marshal(words)
	c.e.must(err)
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		c.e.Logf("the child does not read: %v", err)
	}
}

// next returns the next answer; ok is false if the child died or did not answer, and what tells
// which.
func (c *child) next() (r reply, what string, ok bool) {
	select {
	case r, ok := <-c.replies:
		if !ok {
			err := c.cmd.Wait()
			return r, fmt.Sprintf("died (%v): %s", err, head(c.stderr.String())), false
		}
		return r, "", true
	case <-time.After(patience):
		return r, fmt.Sprintf("gave no answer in %v", patience), false
	}
}

// ask sends and returns the answer. A child that does not answer ends the case.
func (c *child) ask(words ...string) reply {
	c.e.Helper()
	c.send(words...)
	r, what, ok := c.next()
	if !ok {
		c.e.Fatalf("the child, asked to %q, %s", words, what)
	}
	return r
}

// must asks for what has to succeed.
func (c *child) must(words ...string) string {
	c.e.Helper()
	r := c.ask(words...)
	if r.Err != "" {
		c.e.Fatalf("the child, asked to %q: %s", words, r.Err)
	}
	return r.Value
}

// kill ends the child at once and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// head returns the first lines of a crash report.
func head(s string) string {
	lines := strings.SplitN(s, "\n", 13)
	return strings.Join(lines[:min(len(lines), 12)], "\n")
}

// runChild does what the parent asks for, if this process is a child, and then does not return.
func runChild() {
	if os.Getenv(childVar) == "" {
		return
	}
	var p part
	requests := bufio.NewScanner(os.Stdin)
	for requests.Scan() {
		var words []string
		if err := json.Unmarshal(requests.Bytes(), &words); err != nil || len(words) == 0 {
			p.answer("", fmt.Errorf("unreadable request %q", requests.Text()))
			continue
		}
		p.answer(p.do(words[0], words[1:]))
	}
	if p.db != nil {
		p.db.Close()
	}
	os.Exit(0)
}

// part is the child's state.
type part struct {
	db *kv.DB
	tx *kv.Tx // held by "begin"
}

func (p *part) answer(value string, err error) {
	r := reply{Value: value}
	if err != nil {
		r.Err, r.Kind = err.Error(), kv.KindOf(err)
	}
	line, _ := json.Marshal(r)
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		os.Exit(1) // the parent is gone
	}
}

func (p *part) do(verb string, words []string) (value string, err error) {
	switch verb {
	case "open": // URL, class
		class, err := kv.ParseDurability(words[1])
		if err != nil {
			return "", err
		}
		p.db, err = kv.Open(ctx, words[0], kv.WithWeakest(class))
		return "", err
	case "put": // class, key, value
		class, err := kv.ParseDurability(words[0])
		if err != nil {
			return "", err
		}
		return "", p.db.Update(ctx, class, func(tx *kv.Tx) error { return tx.Put([]byte(words[1]), []byte(words[2])) })
	case "get": // key
		err := p.db.View(ctx, func(s *kv.Snapshot) error {
			v, err := s.Get([]byte(words[0]))
			value = string(v)
			return err
		})
		return value, err
	case "begin": // class, key, value
		class, err := kv.ParseDurability(words[0])
		if err != nil {
			return "", err
		}
		if p.tx, err = p.db.Begin(ctx, class); err != nil {
			return "", err
		}
		return "", p.tx.Put([]byte(words[1]), []byte(words[2]))
	case "commit":
		return "", p.tx.Commit()
	case "snapshot": // held until the child ends
		_, err := p.db.Snapshot(ctx)
		return "", err
	case "record": // class, first number; never answers but with acknowledgements
		return "", p.record(words)
	case "verify large":
		return p.verifyLarge(words)
	case "commit large": // never answers but with what it does
		return "", p.commitLarge(words)
	case "probe": // URL, class
		return probe(words[0], words[1])
	case "close":
		err := p.db.Close()
		p.db = nil
		return "", err
	}
	return "", errors.New("unknown verb " + verb)
}
