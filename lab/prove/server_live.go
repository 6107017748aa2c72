package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// What a round is like: short enough that its history can be held against one order as a whole.
const (
	serverClients = 5           // if Writers does not say
	roundFaults   = 3           // of one round, one after the other
	acksBetween   = 25          // acknowledged between them, and meanwhile where somebody can
	acksOfEach    = 5           // by each client, when all is well again
	clusterHold   = time.Second // a cluster is without a node for at least so long
)

// liveRound inflicts a fault amid the transactions of clients, several times, and judges what
// remains.
func (s *serverRun) liveRound(ctx context.Context, t *task, seed uint64) error {
	server, err := s.server(ctx, t.entry)
	if err != nil {
		return err
	}
	c := s.crowd(t, seed)
	defer c.end(0)
	d := &disturbance{crowd: c, server: server, rng: rand.New(rand.NewPCG(seed, 1))}
	if err := d.begin(ctx, t.fault, s.clientsOf()); err != nil {
		return err
	}
	for range roundFaults {
		if err := errors.Join(c.more(ctx, acksBetween), d.disturb(ctx, t.fault)); err != nil {
			return err
		}
	}
	if err := c.each(ctx, acksOfEach); err != nil {
		return err
	}
	all := c.end(serverPatience)
	s.noteHistory(t, seed, all, d.kills)
	f, err := s.judgementOf(t, clock(), d.crashes).open(ctx, c.url(server.Params()), all)
	if err != nil {
		return err
	}
	s.found(t, seed, s.withEvidence(t, seed, all, f))
	return nil
}

// clientsOf returns how many clients a round has.
func (s *serverRun) clientsOf() int {
	if s.Writers > 0 {
		return s.Writers
	}
	return serverClients
}

// open opens what remains of a store and judges it, and writes on. A store that does not open is
// broken; one that does not answer is an error.
func (j judgement) open(ctx context.Context, url string, all []Transaction) (finding, error) {
	limited, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	f, err := j.opened(limited, url, all)
	switch {
	case ctx.Err() != nil:
		return f, ctx.Err()
	case limited.Err() != nil:
		return f, &lateError{serverPatience}
	case err != nil:
		f.say("could not be opened, read and written on: %v", err)
	}
	return f, nil
}

func (j judgement) opened(ctx context.Context, url string, all []Transaction) (f finding, err error) {
	db, err := kv.Open(ctx, url, kv.WithWeakest(kv.Buffered))
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r, err := readRemains(ctx, db)
	if err != nil {
		return f, err
	}
	return j.judge(all, r), db.Put(ctx, kv.Buffered, cellKey(0), []byte("1"))
}

// disturbance inflicts faults on a server and on its clients.
type disturbance struct {
	*crowd
	server  Server
	rng     *rand.Rand
	victim  int // the node that is parted next
	crashes []moment
	kills   int
}

// begin starts n clients. Where nodes will be parted, the first knows only the one that will be
// parted first, the leader.
func (d *disturbance) begin(ctx context.Context, fault string, n int) (err error) {
	for i := range n {
		params := d.server.Params()
		if cluster, ok := d.server.(Cluster); ok && i == 0 && fault == result.FaultPartition {
			if d.victim, err = cluster.Leader(ctx); err != nil {
				return err
			}
			params = cluster.NodeParams(d.victim)
		}
		if err := d.join(ctx, params); err != nil {
			return err
		}
	}
	return nil
}

// disturb inflicts a fault, and mends what it can.
func (d *disturbance) disturb(ctx context.Context, fault string) error {
	cluster, _ := d.server.(Cluster)
	switch fault {
	case result.FaultKill:
		living := d.living()
		d.kills++
		d.kill(living[d.rng.IntN(len(living))])
		return d.join(ctx, d.server.Params())
	case result.FaultServer:
		return d.killNode(ctx, d.rng.IntN(d.server.Nodes()))
	case result.FaultLeader:
		leader, err := cluster.Leader(ctx)
		if err != nil {
			return err
		}
		return d.killNode(ctx, leader)
	case result.FaultPartition:
		cluster.Part(d.victim)
		defer cluster.Part()
		d.victim = (d.victim + 1) % cluster.Nodes()
		return d.meanwhile(ctx)
	}
	return fmt.Errorf("nobody knows how to inflict %q", fault)
}

// killNode kills a node and starts it again, in a cluster when the others have gone on without it.
func (d *disturbance) killNode(ctx context.Context, node int) error {
	d.kills++
	began := clock()
	if err := d.server.Kill(node); err != nil {
		return err
	}
	d.crashes = append(d.crashes, moment{began, clock()})
	if d.server.Nodes() > 1 {
		if err := d.meanwhile(ctx); err != nil {
			return errors.Join(err, d.server.Launch(node))
		}
	}
	return d.server.Launch(node)
}

// meanwhile waits while a cluster goes on without a node.
func (d *disturbance) meanwhile(ctx context.Context) error {
	select {
	case <-time.After(clusterHold):
	case <-ctx.Done():
		return ctx.Err()
	}
	return d.more(ctx, acksBetween)
}

// withEvidence keeps the history of a round that broke a promise, the first of each task, and names
// it in what was found.
func (s *serverRun) withEvidence(t *task, seed uint64, all []Transaction, f finding) finding {
	s.mu.Lock()
	before := t.cells[0].keeps.failed + t.cells[0].whole.failed
	s.mu.Unlock()
	if s.Evidence == "" || f.lost == 0 && f.broken == "" || before > 0 {
		return f
	}
	dir := filepath.Join(s.Evidence, fmt.Sprintf("%s-%s-%s", t.entry.Name, t.class, t.fault))
	data, err := json.MarshalIndent(struct {
		Seed         uint64        `json:"seed"`
		Lost         int64         `json:"lost"`
		Broken       string        `json:"broken"`
		Transactions []Transaction `json:"transactions"`
	}{seed, f.lost, f.broken, all}, "", " ")
	if err == nil {
		err = errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "history.json"), data, 0o644))
	}
	if err == nil && f.broken != "" {
		f.broken += " (what its clients saw: " + dir + ")"
	}
	return f
}
