package etcdkv_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/engines/etcdkv/etcdtest"
	"github.com/assaydb/assay/kv"
)

// follower is a store that is reached by one node of three, which does not lead the others.
type follower struct {
	*testing.T
	*etcdtest.Cluster
	node int
	db   *kv.DB
}

func newFollower(t *testing.T) follower {
	t.Helper()
	f := follower{T: t, Cluster: etcdtest.Start(t, 3)}
	leader, err := f.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.node = (leader + 1) % 3
	if f.db, err = kv.Open(t.Context(), "etcd:parted?"+f.NodeParams(f.node)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.db.Close() })
	if err := f.put(); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f follower) put() error { return f.db.Put(f.Context(), kv.Synced, []byte("k"), []byte("1")) }

// part parts the node from the others, and returns when it knows.
func (f follower) part() {
	f.Helper()
	client, err := f.Client()
	if err != nil {
		f.Fatal(err)
	}
	defer client.Close()
	f.Part(f.node)
	for {
		status, err := client.Status(f.Context(), f.Endpoints()[f.node])
		if err == nil && status.Leader == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestAPartedNodeRefuses: what a node is asked that is parted from the others is refused, and not
// in doubt, once it knows; and goes on once they are together again.
func TestAPartedNodeRefuses(t *testing.T) {
	f := newFollower(t)
	f.part()
	if err := f.put(); !errors.Is(err, kv.Aborted) || errors.Is(err, kv.InDoubt) || kv.HintOf(err) == "" {
		t.Errorf("put at a parted node: %v", err)
	}
	f.Part()
	err := f.put()
	for ; errors.Is(err, kv.Aborted); err = f.put() {
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Errorf("put at a node that is back: %v", err)
	}
}

// TestAViewGoesOnAtAPartedNode: what a View shows was fixed when it began, and each node that has
// it can tell it alone. No other View begins there.
func TestAViewGoesOnAtAPartedNode(t *testing.T) {
	f := newFollower(t)
	view := func(fn func(s *kv.Snapshot)) error {
		return f.db.View(t.Context(), func(s *kv.Snapshot) error { fn(s); return nil })
	}
	err := view(func(s *kv.Snapshot) {
		f.part()
		if v, err := s.Get([]byte("k")); err != nil || string(v) != "1" {
			t.Errorf("get: %q, %v", v, err)
		}
		n := 0
		for range s.Scan(kv.Range{}) {
			n++
		}
		if err := s.Err(); err != nil || n != 1 {
			t.Errorf("scan: %d pairs, %v", n, err)
		}
	})
	if err != nil {
		t.Errorf("the View: %v", err)
	}
	if err := view(func(*kv.Snapshot) {}); !errors.Is(err, kv.Aborted) {
		t.Errorf("a View that begins at a parted node: %v", err)
	}
}

// TestOthersGoOnWhereANodeIsParted: who knows all nodes opens a store and commits, however many
// requests it takes and whichever node is asked first.
func TestOthersGoOnWhereANodeIsParted(t *testing.T) {
	f := newFollower(t)
	f.part()
	key := []byte("k")
	for range 3 { // a request more or less each time, so that each node is met by each
		db, err := kv.Open(t.Context(), "etcd:parted?"+f.Params())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for reads := range 4 {
			for range 3 {
				err := db.Update(t.Context(), kv.Synced, func(tx *kv.Tx) error {
					for range reads {
						if _, err := tx.Get(key); err != nil {
							return err
						}
					}
					return tx.Put(key, []byte("2"))
				})
				if err != nil {
					t.Fatalf("%d reads and a commit: %v", reads, err)
				}
			}
		}
	}
}

// TestOnlyThePartedNodeIsReachedForAWhile: the client asks the nodes that it has reached. Right
// after it began, or where connections broke, that may be the parted one alone.
func TestOnlyThePartedNodeIsReachedForAWhile(t *testing.T) {
	const while = 2 * time.Second
	f := newFollower(t)
	endpoints := f.Endpoints()
	var doors []*door
	for i := range endpoints {
		if i != f.node {
			d := newDoor(t, endpoints[i])
			doors, endpoints[i] = append(doors, d), d.l.Addr().String()
		}
	}
	shut := func() {
		for _, d := range doors {
			d.shut(while)
		}
	}
	url := "etcd:parted?endpoints=" + strings.Join(endpoints, ",")
	open, err := kv.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	f.part()

	for what, do := range map[string]func(ctx context.Context) error{
		"open": func(ctx context.Context) error {
			db, err := kv.Open(ctx, url)
			if err != nil {
				return err
			}
			return db.Close()
		},
		"open to read": func(ctx context.Context) error {
			db, err := kv.Open(ctx, url+"&mode=ro")
			if err != nil {
				return err
			}
			return db.Close()
		},
		"put":  func(ctx context.Context) error { return open.Put(ctx, kv.Synced, []byte("k"), []byte("2")) },
		"view": func(ctx context.Context) error { return open.View(ctx, func(*kv.Snapshot) error { return nil }) },
	} {
		shut()
		if err := do(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if what == "put" {
			continue // it has begun
		}
		shut()
		short, cancel := context.WithTimeout(t.Context(), while/4)
		if err := do(short); !errors.Is(err, kv.Canceled) {
			t.Errorf("%s whose context ends before: %v", what, err)
		}
		cancel()
	}
}

// door stands before an address.
type door struct {
	l    net.Listener
	mu   sync.Mutex
	open time.Time // hands on nothing until then
	ends []net.Conn
}

func newDoor(t *testing.T, address string) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{l: l}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go d.pass(from, address)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		d.shut(0)
	})
	return d
}

// shut breaks all connections. Later ones are made, and nothing goes through them for so long.
func (d *door) shut(wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = time.Now().Add(wait)
	for _, c := range d.ends {
		c.Close()
	}
	d.ends = nil
}

func (d *door) pass(from net.Conn, address string) {
	defer from.Close()
	d.mu.Lock()
	d.ends = append(d.ends, from)
	wait := time.Until(d.open)
	d.mu.Unlock()
	time.Sleep(wait)
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		to.Close()
	}()
	_, _ = io.Copy(from, to)
}
