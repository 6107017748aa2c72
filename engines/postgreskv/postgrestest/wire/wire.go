// Package wire puts a wire between tests and a server of PostgreSQL, that breaks at commits.
package wire

import (
	"bytes"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// Fate is what a wire does with the next commit.
type Fate uint8

// The fates.
const (
	Passes     Fate = iota
	GetsLost        // on its way there
	AnswerLost      // on the way back
	ComesLate       // the client is cut off, and the server gets it when the test says so
	CutsOff         // it gets lost, and so is all that comes after it
	afterwards      // of CutsOff
)

const commitsText = "COMMIT\x00"

// Wire is a server's socket, behind which connections break.
type Wire struct {
	t      *testing.T
	server string
	dir    string
	listen net.Listener
	next   atomic.Uint32 // a Fate
	late   chan struct{} // closed when the late commit is to come
	came   chan struct{} // closed when the server has answered it
	ended  sync.WaitGroup
}

// New returns a wire to the server that listens on a socket.
func New(t *testing.T, socket string) *Wire {
	t.Helper()
	dir := t.TempDir()
	listen, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{t: t, server: socket, dir: dir, listen: listen, late: make(chan struct{}), came: make(chan struct{})}
	w.ended.Go(w.serve)
	t.Cleanup(func() {
		listen.Close()
		w.ended.Wait()
	})
	return w
}

// DSN leads through the wire. The text of each statement goes with it.
func (w *Wire) DSN() string {
	return "host=" + w.dir + " user=assay dbname=postgres default_query_exec_mode=exec"
}

// Next says what becomes of the next commit, and of those after CutsOff.
func (w *Wire) Next(f Fate) { w.next.Store(uint32(f)) }

// Late lets the server have the commit that comes late, and waits for its answer.
func (w *Wire) Late() {
	close(w.late)
	<-w.came
}

func (w *Wire) serve() {
	for {
		client, err := w.listen.Accept()
		if err != nil {
			return
		}
		if Fate(w.next.Load()) == afterwards {
			client.Close()
			continue
		}
		server, err := net.Dial("unix", w.server)
		if err != nil {
			w.t.Error(err)
			client.Close()
			return
		}
		c := &connection{Wire: w, client: client, server: server}
		w.ended.Go(c.forth)
		w.ended.Go(c.back)
	}
}

// connection is one through a wire.
type connection struct {
	*Wire
	client, server net.Conn
	lost           atomic.Bool // the next answer, and the connection with it
}

// forth passes on what the client says.
func (c *connection) forth() {
	defer c.server.Close()
	defer c.client.Close()
	b := make([]byte, 1<<16)
	for {
		n, err := c.client.Read(b)
		if err != nil {
			return
		}
		met := Passes
		if bytes.Contains(b[:n], []byte(commitsText)) {
			if met = Fate(c.next.Load()); met == CutsOff {
				c.next.Store(uint32(afterwards))
			} else {
				c.next.Store(uint32(Passes))
			}
		}
		switch met {
		case GetsLost, CutsOff:
			return
		case AnswerLost:
			c.lost.Store(true)
		case ComesLate:
			c.lost.Store(true)
			c.client.Close()
			<-c.late
			if _, err := c.server.Write(b[:n]); err != nil {
				c.t.Error(err)
			}
			<-c.came
			return
		}
		if _, err := c.server.Write(b[:n]); err != nil {
			return
		}
	}
}

// back passes on what the server says.
func (c *connection) back() {
	defer c.client.Close()
	b := make([]byte, 1<<16)
	for {
		n, err := c.server.Read(b)
		if err != nil {
			return
		}
		if c.lost.Load() {
			select {
			case <-c.late: // it is the answer to the late one
				close(c.came)
			default:
			}
			return
		}
		if _, err := c.client.Write(b[:n]); err != nil {
			return
		}
	}
}
