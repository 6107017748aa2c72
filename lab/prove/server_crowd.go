package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/child"
)

// serverPatience bounds waiting for a server and its clients; only a hang lasts as long.
const serverPatience = 2 * time.Minute

// crowd is the clients of a round, each in a process of its own, and what they did.
type crowd struct {
	command []string
	spec    clientSpec
	url     func(params string) string

	mu      sync.Mutex // of what follows, and of what is in clients
	clients []*member
	all     []*Transaction
	news    chan struct{} // has something when there is news
}

// member is a client of a crowd.
type member struct {
	process *child.Process
	acked   int
	failed  int          // transactions, one after the other, for reasons that are not expected
	now     *Transaction // its last one
	told    string       // the error of the last one that has ended
	said    error        // what kept it from going on
	killed  bool
	over    chan struct{} // closed when it has ended
}

// crowd returns a crowd without clients, whose store is one that nobody has used.
func (s *serverRun) crowd(t *task, seed uint64) *crowd {
	s.stores++
	store := fmt.Sprint("round", s.stores)
	return &crowd{command: s.client, spec: clientSpec{Class: t.class, Seed: seed}, news: make(chan struct{}, 1),
		url: func(params string) string { return storeURL(t.entry, store, params) }}
}

// join starts a client that knows the server by params, and returns when it has opened the store.
func (c *crowd) join(ctx context.Context, params string) error {
	p, err := child.Start(c.command)
	if err != nil {
		return err
	}
	spec := c.spec
	spec.URL, spec.Client = c.url(params), len(c.clients)+1
	var first clientLine
	if err := p.Call(ctx, "open", spec, &first, serverPatience); err != nil {
		return errors.Join(err, p.End(0))
	}
	if !first.Ready {
		_ = p.End(0) // what it said is the error
		return &kv.Error{Op: "open a client's store", Err: errors.New(first.Error), Hint: first.Hint}
	}
	m := &member{process: p, over: make(chan struct{})}
	c.mu.Lock()
	c.clients = append(c.clients, m)
	c.mu.Unlock()
	go c.follow(m)
	return nil
}

// mostFailures is how many transactions of a client may fail one after the other, each for a reason
// that is not expected.
const mostFailures = 1000

// follow notes what a client says until it ends.
func (c *crowd) follow(m *member) {
	defer close(m.over)
	defer c.tell()
	for {
		var line clientLine
		if m.process.Receive(&line) != nil {
			return
		}
		c.mu.Lock()
		switch {
		case line.Began != nil:
			m.now = line.Began
			c.all = append(c.all, m.now)
		case line.Ended != nil && m.now != nil:
			*m.now = *line.Ended
			if m.now.Told == Acknowledged {
				m.acked++
			}
			m.told = line.Error
			if m.failed++; line.Error == "" {
				m.failed = 0
			} else if m.failed == mostFailures {
				m.said = errors.New("a client cannot go on: " + line.Error)
			}
		}
		c.mu.Unlock()
		c.tell()
	}
}

func (c *crowd) tell() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// await waits until done, which is called with mu held.
func (c *crowd) await(ctx context.Context, done func() bool) error {
	timer := time.NewTimer(serverPatience)
	defer timer.Stop()
	for {
		c.mu.Lock()
		ready := done()
		err := c.stuck()
		c.mu.Unlock()
		if ready || err != nil {
			return err
		}
		select {
		case <-c.news:
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return c.late()
		}
	}
}

// late is the error of clients that wait too long, with what each of them does.
func (c *crowd) late() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := fmt.Errorf("%w by a client", &lateError{serverPatience})
	for i, m := range c.clients {
		if m.killed || m.now == nil {
			continue
		}
		does := "was told last: " + cmp.Or(m.told, string(m.now.Told))
		if m.now.Told == "" {
			does = fmt.Sprintf("waits for transaction %d since %v", m.now.N, time.Duration(clock()-m.now.Call).Round(time.Second))
		}
		err = fmt.Errorf("%w; client %d, with %d of %d acknowledged, %s", err, i+1, m.acked, m.now.N, does)
	}
	return err
}

// stuck returns what keeps a client from going on, which nobody has killed. mu is held.
func (c *crowd) stuck() error {
	for i, m := range c.clients {
		select {
		case <-m.over:
			if !m.killed {
				return fmt.Errorf("client %d: %w", i+1, m.process.Ended())
			}
		default:
			if m.said != nil {
				return m.said
			}
		}
	}
	return nil
}

// more waits until clients have had n more transactions acknowledged.
func (c *crowd) more(ctx context.Context, n int) error {
	c.mu.Lock()
	want := c.acked() + n
	c.mu.Unlock()
	return c.await(ctx, func() bool { return c.acked() >= want })
}

// acked returns how many transactions were acknowledged. mu is held.
func (c *crowd) acked() (n int) {
	for _, m := range c.clients {
		n += m.acked
	}
	return n
}

// each waits until every client that lives has had n more transactions acknowledged.
func (c *crowd) each(ctx context.Context, n int) error {
	c.mu.Lock()
	want := map[*member]int{}
	for _, m := range c.clients {
		if !m.killed {
			want[m] = m.acked + n
		}
	}
	c.mu.Unlock()
	return c.await(ctx, func() bool {
		for m, acked := range want {
			if m.acked < acked {
				return false
			}
		}
		return true
	})
}

// kill kills a client.
func (c *crowd) kill(m *member) {
	c.mu.Lock()
	m.killed = true
	c.mu.Unlock()
	m.process.Kill()
	<-m.over
	_ = m.process.End(0) // it was killed
}

// living returns the clients that nobody has killed.
func (c *crowd) living() (all []*member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.clients {
		if !m.killed {
			all = append(all, m)
		}
	}
	return all
}

// end lets all clients come to their end, or kills those that do not, and returns what they did.
func (c *crowd) end(grace time.Duration) []Transaction {
	left := c.living()
	for _, m := range left {
		m.process.CloseInput()
	}
	deadline := time.After(grace)
	for _, m := range left {
		select {
		case <-m.over:
		case <-deadline:
			deadline = time.After(0)
		}
		c.kill(m)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Transaction, len(c.all))
	for i, t := range c.all {
		all[i] = *t
	}
	return all
}
