// Package etcdtest runs clusters of etcd for tests: nodes that are processes of their own, on the
// loopback interface, each with a folder on this machine's disk.
//
// The nodes are the test's own binary, started again: its TestMain calls Main.
package etcdtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

const (
	nodeVar = "ASSAY_ETCD_NODE" // the node that a process is
)

// Main is what TestMain calls first. In the process of a node it does not return.
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
	Client, Peer string // URLs
	Cluster      string // "name=peer,name=peer"
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
	client, peer := one(n.Client), one(n.Peer)
	c.ListenClientUrls, c.AdvertiseClientUrls, c.ListenPeerUrls, c.AdvertisePeerUrls = client, client, peer, peer
	e, err := embed.StartEtcd(c)
	if err != nil {
		return err
	}
	<-e.Server.ReadyNotify()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	e.Close()
	return nil
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
	t     testing.TB
	nodes []node
	runs  []*running
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
	c := &Cluster{t: t, nodes: make([]node, n), runs: make([]*running, n)}
	dir := t.TempDir()
	var cluster []string
	for i := range c.nodes {
		name := fmt.Sprint("node", i)
		c.nodes[i] = node{Name: name, Dir: filepath.Join(dir, name), Client: freeURL(t), Peer: freeURL(t)}
		cluster = append(cluster, name+"="+c.nodes[i].Peer)
	}
	t.Cleanup(c.stop)
	for i := range c.nodes {
		c.nodes[i].Cluster = strings.Join(cluster, ",")
		c.launch(i)
	}
	for i := range c.nodes {
		c.Wait(i)
	}
	return c
}

// freeURL names a port of the loopback interface that nothing listens on.
func freeURL(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
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

// launch starts the process of node i.
func (c *Cluster) launch(i int) {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := json.Marshal(c.nodes[i])
	if err != nil {
		c.t.Fatal(err)
	}
	r := &running{cmd: exec.Command(self), ready: make(chan error, 1)}
	r.cmd.Env = append(os.Environ(), nodeVar+"="+string(text))
	r.cmd.Stderr = os.Stderr
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		c.t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		c.t.Fatal(err)
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
}

// Wait waits until node i, which was started, takes requests.
func (c *Cluster) Wait(i int) {
	c.t.Helper()
	select {
	case err := <-c.runs[i].ready:
		if err != nil {
			c.t.Fatal(err)
		}
	case <-time.After(2 * time.Minute):
		c.t.Fatalf("node %d is not ready after two minutes", i)
	}
}

// Kill kills the process of node i, as kill -9 does.
func (c *Cluster) Kill(i int) {
	c.t.Helper()
	if err := c.runs[i].cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	_ = c.runs[i].cmd.Wait() // it was killed
	c.runs[i] = nil
}

// Restart starts node i, which was killed, on its folder.
func (c *Cluster) Restart(i int) { c.t.Helper(); c.launch(i) }

func (c *Cluster) stop() {
	for _, r := range c.runs {
		if r != nil {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
	}
}
