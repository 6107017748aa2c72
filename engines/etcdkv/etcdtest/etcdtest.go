// Package etcdtest runs clusters of etcd for tests and proofs: nodes that are processes of their
// own, on the loopback interface, each with a folder on this machine's disk.
//
// The nodes are the program's own binary, started again: its main, or TestMain, calls Main.
package etcdtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

const (
	nodeVar = "ASSAY_ETCD_NODE" // the node that a process is
)

// Main is what main or TestMain calls first. In the process of a node it does not return.
func Main() {
	if text := os.Getenv(nodeVar); text != "" {
		if err := run(text); err != nil {
			fmt.Fprintln(os.Stderr, "etcd:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// node is how a node starts.
type node struct {
	Name, Dir    string
	Client, Peer string // URLs; the other nodes know Peer by the network
	Listen       string // HOST:PORT at which it listens for them
	Cluster      string // "name=peer,name=peer"
	Options
}

// Options are those of all nodes of a cluster.
type Options struct {
	MaxRequest uint // bytes; 0 is etcd's default
	// Unsynced nodes sync nothing: what they have outlives their processes, and not a loss of
	// power. A suite of what clients do is done in half the time.
	Unsynced bool
	// Direct nodes reach each other without this process, and cannot be parted. Otherwise there
	// are goroutines here that carry what nodes say: more whenever a node wants one more
	// connection, for as long as the nodes live.
	Direct bool
}

// run runs a node until its standard input ends, as it does when the test has died.
func run(text string) error {
	var n node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return err
	}
	c := embed.NewConfig()
	c.Name, c.Dir, c.InitialCluster = n.Name, n.Dir, n.Cluster
	c.LogLevel = "fatal"
	if n.MaxRequest > 0 {
		c.MaxRequestBytes = n.MaxRequest
	}
	c.UnsafeNoFsync = n.Unsynced
	client, peer := one(n.Client), one(n.Peer)
	c.ListenClientUrls, c.AdvertiseClientUrls = client, client
	c.ListenPeerUrls, c.AdvertisePeerUrls = one("http://"+n.Listen), peer
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	<-e.Server.ReadyNotify()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil // at once: nobody needs its data any more, and somebody removes it
}

func one(text string) []url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err) // the test's own
	}
	return []url.URL{*u}
}

// Cluster is a cluster of nodes.
type Cluster struct {
	nodes   []node
	runs    []*running
	network *network
}

// running is the process of a node.
type running struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ready chan error
}

// Start starts a cluster of n nodes, which ends with the test.
func Start(t testing.TB, n int) *Cluster {
	t.Helper()
	return StartWith(t, n, Options{})
}

// StartWith is Start with options.
func StartWith(t testing.TB, n int, o Options) *Cluster {
	t.Helper()
	c, err := New(t.TempDir(), n, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// New starts a cluster of n nodes, which keep their data in folders in dir. It has to be stopped.
func New(dir string, n int, o Options) (*Cluster, error) {
	proxies := n
	if o.Direct {
		proxies = 0
	}
	network, err := newNetwork(proxies)
	if err != nil {
		return nil, err
	}
	c := &Cluster{nodes: make([]node, n), runs: make([]*running, n), network: network}
	var cluster []string
	for i := range c.nodes {
		name, peer := fmt.Sprint("node", i), "http://"+hostOf(i)+":2380"
		client, err := freePort()
		if err != nil {
			return nil, errors.Join(err, network.close())
		}
		listen, err := freePort()
		if err != nil {
			return nil, errors.Join(err, network.close())
		}
		if o.Direct {
			peer = "http://" + listen
		}
		c.nodes[i] = node{Name: name, Dir: filepath.Join(dir, name), Client: "http://" + client, Peer: peer, Listen: listen,
			Options: o}
		cluster = append(cluster, name+"="+peer)
	}
	for i := range c.nodes {
		c.nodes[i].Cluster = strings.Join(cluster, ",")
	}
	network.know(slices.Clone(c.nodes))
	for i := range c.nodes {
		if err := c.Launch(i); err != nil {
			c.Stop()
			return nil, err
		}
	}
	for i := range c.nodes {
		if err := c.Wait(i); err != nil {
			c.Stop()
			return nil, err
		}
	}
	return c, nil
}

// freePort is HOST:PORT of the loopback interface that nothing listens on.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Endpoints are HOST:PORT of all nodes.
func (c *Cluster) Endpoints() []string {
	var all []string
	for _, n := range c.nodes {
		all = append(all, strings.TrimPrefix(n.Client, "http://"))
	}
	return all
}

// Params is how a URL names the cluster.
func (c *Cluster) Params() string { return "endpoints=" + strings.Join(c.Endpoints(), ",") }

// NodeParams is how a URL names node i alone.
func (c *Cluster) NodeParams(i int) string { return "endpoints=" + c.Endpoints()[i] }

// Client returns a client of etcd's own, which has to be closed.
func (c *Cluster) Client() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
}

// Leader returns the node that leads the cluster, for which it waits until ctx ends.
func (c *Cluster) Leader(ctx context.Context) (int, error) {
	client, err := c.Client()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	for {
		for i, endpoint := range c.Endpoints() {
			asked, cancel := context.WithTimeout(ctx, time.Second)
			status, err := client.Status(asked, endpoint)
			cancel()
			if err == nil && status.Leader == status.Header.MemberId {
				return i, nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Launch starts the process of node i, on its folder if it had one before.
func (c *Cluster) Launch(i int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(c.nodes[i])
	if err != nil {
		return err
	}
	r := &running{cmd: exec.Command(self), ready: make(chan error, 1)}
	r.cmd.Env = append(os.Environ(), nodeVar+"="+string(text), c.network.environment(i))
	r.cmd.Stderr = os.Stderr
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := r.cmd.Start(); err != nil {
		return err
	}
	c.runs[i] = r
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if lines.Text() == "ready" {
				r.ready <- nil
				return
			}
		}
		r.ready <- fmt.Errorf("node %d did not start", i)
	}()
	return nil
}

// Wait waits until node i, which was launched, takes requests.
func (c *Cluster) Wait(i int) error {
	select {
	case err := <-c.runs[i].ready:
		return err
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("node %d is not ready after two minutes", i)
	}
}

// Kill kills the process of node i, as kill -9 does.
func (c *Cluster) Kill(i int) error {
	r := c.runs[i]
	c.runs[i] = nil
	err := r.cmd.Process.Kill()
	_ = r.cmd.Wait() // it was killed
	return err
}

// Part cuts the network between some nodes, each alone, and all others: none reaches them, nor do
// they reach any. Clients reach all. Without nodes it puts the network together again. The
// nodes must not be Direct.
func (c *Cluster) Part(nodes ...int) { c.network.set(nodes...) }

// Stop kills all nodes.
func (c *Cluster) Stop() {
	for i, r := range c.runs {
		if r != nil {
			_ = c.Kill(i)
		}
	}
	_ = c.network.close() // nobody speaks any more
}
