package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// ServerFaults lists what can be inflicted on an engine whose store is a server's, in the order of
// the proof's cells.
var ServerFaults = []string{result.FaultKill, result.FaultServer, result.FaultLeader, result.FaultPartition,
	result.FaultPower}

// Servers says how a proof runs servers of an engine by itself, on this machine. It needs Start and
// Explain; the zero value of another field is that there is no such thing.
type Servers struct {
	// Address is the option of the engine's URLs that names a server. A store whose URL has it is
	// on a server of somebody else's, which no proof kills.
	Address string
	// Start starts a server, or a cluster, that keeps everything below dir, an empty folder.
	Start func(dir string) (Server, error)
	// Disk says how power is cut under a server.
	Disk *ServerDisk
	// Explain reports whether one order of whole transactions explains what all of them saw, in
	// which each stands between its Call and its Return, which is the last moment there is where it
	// is Open. Checked is false if it could not tell in time.
	Explain func([]Transaction) (explained, checked bool)
	// ViewsApart reports whether, in stores that are opened with options, who only reads sees a
	// state between two commits, which may be none that the order has in which those who write
	// explain each other. Then they are held against the writes alone, and those who write against
	// each other. nil is that they never do.
	ViewsApart func(options url.Values) bool
	// Untried says, in sentences that begin with the engine's name, what is not inflicted and why.
	Untried []string
}

// Server is a server, or a cluster of nodes. Its methods are called by one goroutine.
type Server interface {
	// Params returns what names it in a URL: "endpoints=127.0.0.1:4001".
	Params() string
	// Nodes returns how many nodes it has, 1 for a server.
	Nodes() int
	// Kill ends all processes of a node, as kill -9 does.
	Kill(node int) error
	// Launch starts a node again that was killed, and returns when it takes requests.
	Launch(node int) error
	// Stop ends what is left of it.
	Stop()
}

// Cluster is a Server of nodes that agree with each other.
type Cluster interface {
	Server
	// Leader returns the node that leads the others now.
	Leader(ctx context.Context) (int, error)
	// Part cuts the network between some nodes, each alone, and all others. Clients reach all.
	// Without nodes it puts the network together again.
	Part(nodes ...int)
	// NodeParams is Params for a client that knows one node alone.
	NodeParams(node int) string
}

// ServerDisk says how servers run on a folder whose disk may lose power.
type ServerDisk struct {
	// Make makes in data, an empty folder, what a server finds there when it starts. What a server
	// needs beside its data lies in run, an empty folder.
	Make func(data, run string) error
	// Record starts a server on data that writes as often as it may.
	Record func(data, run string) (Server, error)
	// Upkeep lets a server that Record has started write what it keeps in memory.
	Upkeep func(ctx context.Context, s Server) error
	// Recover starts a server on data, which a power cut has left.
	Recover func(data, run string) (Server, error)
}

// serverRun is the state of a proof of servers.
type serverRun struct {
	*runner
	servers map[string]Servers
	client  []string // the command that runs Client in a new process
	live    Server   // of the entry whose tasks are at work, nil if there is none
	of      string   // the entry
	folders int
	stores  int
}

// RunServers is Run for engines whose stores are on servers, which it starts itself: servers has
// them by the engine's name, and client is the command that runs Client in a new process. Clients
// in processes of their own read and write while they, or the server, suffer the faults; then all
// of the store is held against what they were told, and all that they saw against one order of
// whole transactions.
func RunServers(ctx context.Context, o Options, servers map[string]Servers, client []string) (
	_ *result.Proof, err error) {
	asked := o.Faults
	if o.Faults == nil {
		o.Faults = ServerFaults
	}
	s := &serverRun{runner: &runner{Options: o.withDefaults(), started: time.Now(), unavailable: powerfs.Available()},
		servers: servers, client: client}
	if s.Dir == "" {
		s.Dir = os.TempDir() // a server may run as another user, who must get there
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	if err := os.Chmod(s.dir.Path, 0o711); err != nil {
		return nil, err
	}
	s.fast = cmp.Or(s.fast, s.dir.Path)
	defer s.stop()
	for _, e := range o.Entries {
		s.proof.Unseen = united(s.proof.Unseen, servers[e.Engine].Untried)
		if servers[e.Engine].viewsApart(e) {
			s.proof.Unseen = append(s.proof.Unseen, e.Name+": a View is a snapshot and is held against the order of the "+
				"commits; those who write are held against an order of their own (docs/growing.md)")
		}
		if err := s.planServer(ctx, e, asked != nil); err != nil {
			return nil, err
		}
	}
	if len(s.tasks) == 0 {
		return nil, invalid(errors.New("no engine named suffers a fault named"), "name other faults: %v", ServerFaults)
	}
	stopKeeping := s.keepOften()
	failed := s.inflict(ctx)
	stopKeeping()
	s.proof.Interrupted = ctx.Err() != nil
	return s.soFar(false), failed
}

// viewsApart is ViewsApart of an entry's stores.
func (s Servers) viewsApart(e bench.Entry) bool {
	options, _ := url.ParseQuery(e.Options) // opening the store says what is wrong
	return s.ViewsApart != nil && s.ViewsApart(options)
}

// planServer starts a server of an entry, asks what it promises, and makes the tasks. Faults that a
// server cannot suffer have a task only if they were asked for.
func (s *serverRun) planServer(ctx context.Context, e bench.Entry, asked bool) error {
	if own := s.servers[e.Engine]; own.Start == nil || own.Explain == nil {
		return invalid(fmt.Errorf("nobody says how to start servers of %s, or to explain histories", e.Engine),
			"set Start and Explain of its Servers")
	}
	server, err := s.server(ctx, e)
	if err != nil {
		return err
	}
	db, err := kv.Open(ctx, storeURL(e, "probe", server.Params()), kv.WithWeakest(kv.Buffered))
	if err != nil {
		return err
	}
	all := db.Caps()
	if err := db.Close(); err != nil {
		return err
	}
	var pairs []*pair
	for _, class := range s.Classes {
		p := &pair{entry: e, class: class, caps: caps{Promise: all.Promise(class), Remote: all.Remote}}
		same := func(o *pair) bool { return o.caps.Promise == p.caps.Promise }
		if p.caps.Supported && !slices.ContainsFunc(pairs, same) {
			pairs = append(pairs, p)
		}
	}
	for _, p := range pairs {
		for _, fault := range ServerFaults {
			if !slices.Contains(s.Faults, fault) {
				continue
			}
			t := &task{pair: p, fault: fault, why: s.unable(e.Engine, server, fault)}
			if t.why != "" && t.why != powerless(s.unavailable) && !asked {
				continue
			}
			c := p.newCell(fault, "")
			c.Server = true
			t.cells, p.claims = []*cell{c}, p.claims || c.claimed()
			s.tasks = append(s.tasks, t)
		}
	}
	return nil
}

// unable returns why a server cannot suffer a fault, "" if it can.
func (s *serverRun) unable(engine string, server Server, fault string) string {
	_, cluster := server.(Cluster)
	switch {
	case (fault == result.FaultLeader || fault == result.FaultPartition) && !cluster:
		return "a single server has no other nodes"
	case fault == result.FaultPower && s.servers[engine].Disk == nil:
		return "its servers are not run on a disk that can lose power"
	case fault == result.FaultPower:
		return powerless(s.unavailable)
	}
	return ""
}

// powerless says why power cannot fail on this machine, "" if it can.
func powerless(unavailable error) string {
	if unavailable == nil {
		return ""
	}
	return unavailable.Error()
}

// server returns the server of an entry, which it starts if there is none.
func (s *serverRun) server(ctx context.Context, e bench.Entry) (Server, error) {
	if s.live != nil && s.of == e.Name {
		return s.live, nil
	}
	s.stop()
	dir, err := s.folder(s.dir.Path)
	if err != nil {
		return nil, err
	}
	live, err := s.servers[e.Engine].Start(dir)
	switch {
	case err != nil && ctx.Err() != nil: // Ctrl-C reaches the processes of a server, too
		return nil, ctx.Err()
	case err != nil:
		return nil, &kv.Error{Op: "start a server", Engine: e.Name, Err: err, Hint: kv.HintOf(err)}
	}
	s.live, s.of = live, e.Name
	return live, ctx.Err()
}

// stop ends the server that runs, if there is one.
func (s *serverRun) stop() {
	if s.live != nil {
		s.live.Stop()
		s.live = nil
	}
}

// folder makes an empty folder in one of the run's, with which it goes. A server that runs as
// another user gets there.
func (s *serverRun) folder(in string) (string, error) {
	s.mu.Lock()
	s.folders++
	dir := filepath.Join(in, fmt.Sprint(s.folders))
	s.mu.Unlock()
	return dir, os.Mkdir(dir, 0o755)
}

// storeURL names a store of an entry on a server. What the entry says goes before what names the
// server.
func storeURL(e bench.Entry, store, params string) string {
	said, _ := url.ParseQuery(e.Options) // opening the store says what is wrong
	var all []string
	if e.Options != "" {
		all = append(all, e.Options)
	}
	for param := range strings.SplitSeq(params, "&") {
		if name, _, _ := strings.Cut(param, "="); !said.Has(name) {
			all = append(all, param)
		}
	}
	return e.Engine + ":" + store + "?" + strings.Join(all, "&")
}

// inflict does the tasks one after the other, each with its part of the time that is left.
func (s *serverRun) inflict(ctx context.Context) (failed error) {
	for i, t := range s.tasks {
		began := time.Now()
		left := s.started.Add(s.Budget).Sub(began)
		until := began.Add(left / time.Duration(len(s.tasks)-i))
		err := s.suffer(ctx, t, until)
		s.mu.Lock()
		t.spent = time.Since(began)
		switch {
		case ctx.Err() != nil:
			t.why = interrupted
		case err != nil:
			t.why = err.Error()
			failed = errors.Join(failed, fmt.Errorf("%s %s, %s: %w", t.entry.Name, t.class, t.fault, err))
		}
		t.done = true
		s.done++
		s.mu.Unlock()
		s.report(t)
	}
	return failed
}

// suffer inflicts a task's fault until a moment, or in as many rounds as were asked for, at least
// once.
func (s *serverRun) suffer(ctx context.Context, t *task, until time.Time) error {
	for round := 0; t.why == "" && ctx.Err() == nil; round++ {
		if s.Rounds > 0 && round == s.Rounds || s.Rounds == 0 && round > 0 && !time.Now().Before(until) {
			break
		}
		seed := s.seedOf(round)
		s.begun(t)
		var err error
		if t.fault == result.FaultPower {
			err = s.powerRound(ctx, t, seed, until)
		} else {
			err = s.liveRound(ctx, t, seed)
		}
		if err != nil {
			s.stop() // the next one has a server of its own
			return err
		}
	}
	return nil
}

// found notes what a round, or a state that a power cut left, has come to.
func (s *serverRun) found(t *task, seed uint64, f finding) {
	s.mu.Lock()
	c := t.cells[0]
	tr := trial{seed: seed}
	c.judged++
	if f.unchecked {
		c.Late++
	} else {
		c.Images++
		s.images++
		t.saw(c, f.sum, outcome{})
	}
	if f.lost > 0 {
		c.Lost, c.LostMax, c.LostAge = c.Lost+f.lost, max(c.LostMax, f.lost), max(c.LostAge, f.age)
		c.keeps.add(tr)
	}
	if f.broken != "" {
		c.Broken++
		c.say(f.broken)
		c.whole.add(tr)
	}
	if !c.unkept && (f.lost > 0 && c.Keeps.Claimed || f.broken != "" && c.Whole.Claimed) {
		c.unkept = true
		s.unkept++
	}
	s.mu.Unlock()
	s.report(t)
}

// noteHistory counts a round of a task, and what its clients did.
func (s *serverRun) noteHistory(t *task, seed uint64, all []Transaction, kills int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := t.cells[0]
	if c.runs == nil {
		c.runs = map[uint64]int64{}
	}
	c.runs[seed] = 1
	c.Cuts, c.Rounds, c.Kills = len(c.runs), c.Rounds+1, c.Kills+kills
	for _, tx := range all {
		c.Transactions++
		switch tx.Told {
		case Acknowledged:
			c.Acked++
		case Undone:
		default:
			c.InDoubt++
		}
	}
}
