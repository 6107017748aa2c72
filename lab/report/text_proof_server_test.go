package report

import (
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

// serverProof is a proof of two servers, of which one has a fault that was not tried.
func serverProof() *result.Proof {
	run := exampleRun()
	p := &result.Proof{Schema: result.ProofSchema, Command: []string{"assay", "prove", "--engines", "postgres,etcd"},
		Started: run.Started, Environment: run.Environment, Unseen: []string{"etcd: its disks lose no power"}}
	add := func(engine, fault string, kills int, failed string) {
		c := result.ProofCell{Engine: engine, URL: engine + ":", Requested: "synced", Delivered: "synced", Intact: true,
			Fault: fault, Server: true, Rounds: 4, Cuts: 4, Kills: kills, Images: 4, States: 4,
			Transactions: 3000, Acked: 2000, InDoubt: 7}
		c.Keeps = result.Finding{Claimed: true, Verdict: result.Proved}
		c.Whole = c.Keeps
		if failed != "" {
			c.Whole = result.Finding{Claimed: true, Verdict: result.Disproved, Failed: 1, Command: "assay prove --engines " + engine}
			c.Broken, c.What = 1, failed
		}
		p.Cells = append(p.Cells, c)
	}
	add("postgres", result.FaultKill, 12, "")
	add("postgres", result.FaultServer, 12, "")
	add("postgres", result.FaultPower, 0, "")
	add("etcd", result.FaultKill, 12, "")
	add("etcd", result.FaultServer, 12, "no order of whole transactions explains what 400 of them saw")
	add("etcd", result.FaultPartition, 0, "")
	return p
}

func TestAProofOfServersIsToldInItsOwnWords(t *testing.T) {
	for _, width := range []int{80, 120} {
		var b strings.Builder
		if err := Proof(&b, serverProof(), Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		for _, want := range []string{
			"1 of 2 promises broken: etcd · synced", "24 histories amid faults", "Not tried: kill -9 of the leader.",
			"postgres · synced: 9,000 transactions of clients, 6,000 acknowledged, 21 in doubt or cut off.",
			"power cut: 4 distinct states of 4 recordings; kill -9 of a client: 12 in 4 rounds; kill -9 of the server: 12 in 4 rounds",
			"parted nodes: 4 rounds", "etcd: its disks lose no power.",
			"etcd · synced · kill -9 of the server: broke in 1 of 4 crashes: no order of whole transactions",
			"assay prove --engines etcd", "No read was stale", "servers on other machines, replicas",
		} {
			if !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
				t.Errorf("at %d columns there is no %q in\n%s", width, want, &b)
			}
		}
		for _, other := range []string{"cut while recovering", "failing, full disk", "strict", "2,000 or more"} {
			if strings.Contains(text, other) {
				t.Errorf("at %d columns a proof of servers tells of %q:\n%s", width, other, &b)
			}
		}
	}
}

func TestTablesOfServersHaveTheColumnsOfServers(t *testing.T) {
	var b strings.Builder
	if err := ProofMarkdown(&b, serverProof()); err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(b.String(), "\n")
	if want := "| engine | promise | power cut | client killed | server killed | leader killed | nodes parted | syncs | writes |"; head != want {
		t.Errorf("got %s\nwant %s", head, want)
	}
	b.Reset()
	if err := ProofMarkdown(&b, exampleProof()); err != nil {
		t.Fatal(err)
	}
	if head, _, _ := strings.Cut(b.String(), "\n"); strings.Contains(head, "client") {
		t.Errorf("a proof of files has the columns of servers: %s", head)
	}
}
