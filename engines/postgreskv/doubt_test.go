package postgreskv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/kv"
)

// fate is what a wire does with the next commit.
type fate uint8

const (
	passes      fate = iota
	getsLost         // on its way there
	answerLost       // on the way back
	comesLate        // the client is cut off, and the server gets it when the test says so
	cutsOff          // it gets lost, and so is all that comes after it
	afterwards       // of cutsOff
	commitsText = "COMMIT\x00"
)

// wire is a server's socket, behind which connections break.
type wire struct {
	t      *testing.T
	server string
	listen net.Listener
	next   atomic.Uint32 // a fate
	late   chan struct{} // closed when the late commit is to come
	came   chan struct{} // closed when the server has answered it
	ended  sync.WaitGroup
}

// newWire returns one, and the parameters of a URL that leads through it.
func newWire(t *testing.T) (w *wire, dsn string) {
	t.Helper()
	s := postgrestest.Start(t)
	dir := t.TempDir()
	listen, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	w = &wire{t: t, server: s.Socket(), listen: listen, late: make(chan struct{}), came: make(chan struct{})}
	w.ended.Go(w.serve)
	t.Cleanup(func() {
		listen.Close()
		w.ended.Wait()
	})
	// the text of each statement goes with it
	return w, paramsOf("host=" + dir + " user=assay dbname=postgres default_query_exec_mode=exec")
}

func (w *wire) serve() {
	for {
		client, err := w.listen.Accept()
		if err != nil {
			return
		}
		if fate(w.next.Load()) == afterwards {
			client.Close()
			continue
		}
		server, err := net.Dial("unix", w.server)
		if err != nil {
			w.t.Error(err)
			client.Close()
			return
		}
		c := &connection{wire: w, client: client, server: server}
		w.ended.Go(c.forth)
		w.ended.Go(c.back)
	}
}

// connection is one through a wire.
type connection struct {
	*wire
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
		met := passes
		if bytes.Contains(b[:n], []byte(commitsText)) {
			if met = fate(c.next.Load()); met == cutsOff {
				c.next.Store(uint32(afterwards))
			} else {
				c.next.Store(uint32(passes))
			}
		}
		switch met {
		case getsLost, cutsOff:
			return
		case answerLost:
			c.lost.Store(true)
		case comesLate:
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

func openTable(t *testing.T, dsn string) *kv.DB {
	t.Helper()
	db, err := kv.Open(t.Context(), "postgres:kv?"+dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// add adds one to a number, and returns how often it has run.
func add(t *testing.T, db *kv.DB) (runs int, err error) {
	err = db.Update(t.Context(), kv.Synced, func(tx *kv.Tx) error {
		runs++
		v, err := tx.Get([]byte("sum"))
		if err != nil && !errors.Is(err, kv.NotFound) {
			return err
		}
		return tx.Put([]byte("sum"), append(v, '+'))
	})
	return runs, err
}

// TestLooksForLostCommits: a commit that did not arrive is run again, one whose answer was lost is
// not, and each is there once.
func TestLooksForLostCommits(t *testing.T) {
	t.Parallel()
	w, dsn := newWire(t)
	db := openTable(t, dsn)
	for i, c := range []struct {
		fate fate
		runs int
	}{{passes, 1}, {getsLost, 2}, {answerLost, 1}, {answerLost, 1}, {getsLost, 2}, {passes, 1}} {
		w.next.Store(uint32(c.fate))
		runs, err := add(t, db)
		if err != nil || runs != c.runs {
			t.Errorf("step %d: ran %d times, %v; want %d", i, runs, err, c.runs)
		}
		if v, err := db.Get(t.Context(), []byte("sum")); err != nil || len(v) != i+1 {
			t.Fatalf("step %d: the sum is %d, %v", i, len(v), err)
		}
	}
}

// TestALateCommitDoesNothing: the server gets the commit of a client that has given it up, when it
// has done the same and more.
func TestALateCommitDoesNothing(t *testing.T) {
	t.Parallel()
	w, dsn := newWire(t)
	db := openTable(t, dsn)
	put := func(value string) {
		t.Helper()
		if err := db.Put(t.Context(), kv.Synced, []byte("k"), []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	put("first")
	w.next.Store(uint32(comesLate))
	put("old")
	put("new")
	close(w.late)
	<-w.came
	if v, err := db.Get(t.Context(), []byte("k")); string(v) != "new" {
		t.Errorf("got %q, %v, want new", v, err)
	}
}

// TestACommitStaysInDoubt where nobody answers, and the store goes on when somebody does.
func TestACommitStaysInDoubt(t *testing.T) {
	t.Parallel()
	w, dsn := newWire(t)
	db := openTable(t, dsn+"&timeout=3")
	w.next.Store(uint32(cutsOff))
	if _, err := add(t, db); !errors.Is(err, kv.InDoubt) {
		t.Fatalf("got %v, want in doubt", err)
	}
	if _, err := db.Get(t.Context(), []byte("sum")); err == nil || errors.Is(err, kv.NotFound) {
		t.Errorf("a read of a server that is not there: %v", err)
	}
	w.next.Store(uint32(passes))
	if _, err := add(t, db); err != nil {
		t.Fatal(err)
	}
	if v, err := db.Get(t.Context(), []byte("sum")); err != nil || len(v) != 1 {
		t.Errorf("the sum is %d, %v", len(v), err)
	}
}

// TestWaitsForAServerThatStartsAgain: what is under way when it ends is done when it is back, and a
// wait ends with its context.
func TestWaitsForAServerThatStartsAgain(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t)
	db := openTable(t, paramsOf(s.DSN())+"&timeout=600")
	for i := range 3 {
		if i%2 == 0 {
			s.Stop()
		} else if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- db.Put(ctx, kv.Synced, []byte("never"), nil) }()
		cancel()
		if err := <-done; !errors.Is(err, kv.Canceled) {
			t.Errorf("a wait that was ended: %v", err)
		}
		key := fmt.Appendf(nil, "key %d", i)
		go func() { done <- db.Put(t.Context(), kv.Synced, key, key) }()
		if err := s.Launch(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if v, err := db.Get(t.Context(), key); string(v) != string(key) {
			t.Fatalf("%s: %q, %v", key, v, err)
		}
	}
}
