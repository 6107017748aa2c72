package main

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/engines/etcdkv/etcdtest"
	"github.com/assaydb/assay/engines/postgreskv/postgrestest"
	"github.com/assaydb/assay/lab/result"
)

// asCommand is the variable that makes the test's binary the command.
const asCommand = "ASSAY_SERVERS_COMMAND"

func TestMain(m *testing.M) {
	etcdtest.Main()
	if os.Getenv(asCommand) != "" {
		catalog = append(catalog, planted...)
		main()
		return
	}
	postgrestest.Main(m)
}

// TestAServerOfSomebodyElsesIsNotProved: nobody may kill it, and without that nothing is proved.
func TestAServerOfSomebodyElsesIsNotProved(t *testing.T) {
	server, err := postgrestest.Shared()
	postgrestest.Check(t, err)
	nodes := etcdtest.Start(t, 3)
	for _, url := range []string{"postgres:?dsn=" + url.QueryEscape(server),
		"etcd:?endpoints=" + url.QueryEscape(strings.Join(nodes.Endpoints(), ","))} {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), exe, "prove", "--engines", "server="+url, "--out", t.TempDir())
		c.Env = append(os.Environ(), asCommand+"=1")
		said, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(said), "docs/growing.md") {
			t.Errorf("%s: %v\n%s", url, err, said)
		}
	}
}

func TestServersStandBesideAFile(t *testing.T) {
	server, err := postgrestest.Shared()
	postgrestest.Check(t, err)
	nodes := etcdtest.Start(t, 3)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	c := exec.CommandContext(t.Context(), exe, "run", "ycsb/A?records=100", "--durability", "synced", "--budget", "20s",
		"--out", out, "--engines", "bbolt,pg=postgres:?dsn="+url.QueryEscape(server)+
			",etcd=etcd:?endpoints="+url.QueryEscape(strings.Join(nodes.Endpoints(), ",")))
	c.Env = append(os.Environ(), asCommand+"=1")
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	run, err := result.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"pg: Unix socket", "etcd: loopback"}; !slices.Equal(run.Environment.Networks, want) {
		t.Errorf("the networks are %q, want %q", run.Environment.Networks, want)
	}
	if len(run.Cells) != 3 {
		t.Errorf("got %d cells, want three engines", len(run.Cells))
	}
	for _, cell := range run.Cells {
		if cell.Status != result.OK || cell.N == 0 {
			t.Errorf("%s: %s after %d operations: %s", cell.Engine, cell.Status, cell.N, cell.Error)
		}
	}
}
