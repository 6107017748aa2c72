package report

import (
	"fmt"
	"time"

	"github.com/assaydb/assay/lab/result"
)

// proofBuilder makes a proof of invented numbers that look like those of a real one.
type proofBuilder struct{ proof *result.Proof }

// damage is what a fault did to a store.
type damage struct {
	lost, broke int // images
	most        int64
	said        string
}

// promise adds the cells of one engine at one promise: kills, power cuts, second cuts and disk
// faults.
func (b *proofBuilder) promise(engine, options, requested string, p result.Promise, syncs, writes float64,
	harm map[string]damage) {
	for _, f := range []struct {
		fault, rule string
		images      int
	}{
		{result.FaultKill, "", 40}, {result.FaultPower, "ordered/nothing", 240},
		{result.FaultPower, "ordered/prefix", 240},
		{result.FaultPower, "ordered/pages", 240}, {result.FaultPower, "ordered/sectors", 480},
		{result.FaultRecovery, "ordered/sectors", 240},
		{result.FaultEIO, "", 30}, {result.FaultENOSPC, "", 30}, {result.FaultPower, "strict/sectors", 240},
	} {
		key := f.fault + " " + f.rule
		d := harm[key]
		power := f.fault == result.FaultPower || f.fault == result.FaultRecovery
		strict := len(f.rule) > 6 && f.rule[:6] == "strict"
		c := result.ProofCell{
			Engine: engine, URL: engine + ":" + options, Requested: requested, Delivered: p.Delivered, Intact: p.Intact,
			Fault: f.fault, Rule: f.rule,
			Rounds: f.images / 2, Cuts: f.images / 3, Images: f.images, States: f.images / 4,
			Acked: int64(100 * f.images), Lost: int64(d.lost) * d.most, LostMax: d.most, Broken: d.broke, What: d.said,
			SyncsPerCommit: ptr(syncs), WritesPerCommit: ptr(writes),
		}
		if f.fault == result.FaultKill {
			c.Kills = c.Rounds
		}
		if f.rule == "ordered/nothing" {
			c.Did = map[string]int{"write": 5 * f.images, "sync": f.images, "create #.sst": 9, "rename MANIFEST-#": 2,
				"remove #.log": 4}
		}
		if d.lost > 0 {
			c.LostAge = 40 * time.Millisecond
		}
		keeps := !strict && (p.Delivered == "synced" || p.Delivered == "flushed" && !power)
		whole := !strict && (p.Intact || !power)
		c.Keeps = b.finding(c, keeps, d.lost)
		c.Whole = b.finding(c, whole, d.broke)
		b.proof.Cells = append(b.proof.Cells, c)
	}
}

func (b *proofBuilder) finding(c result.ProofCell, claimed bool, failed int) result.Finding {
	if failed == 0 {
		return result.Finding{Claimed: claimed, Verdict: result.Proved, UpperBound: 3 / float64(c.Cuts)}
	}
	command := fmt.Sprintf("assay prove --engines %s --durability %s --faults %s --seed 4711 --rounds 1", c.Engine,
		c.Requested, c.Fault)
	if c.Rule != "" {
		command += " --rule " + c.Rule
	}
	return result.Finding{Claimed: claimed, Verdict: result.Disproved, Failed: failed, Seed: 4711, Command: command}
}

// exampleProof is a finished proof with promises that held, one that did not, what was never
// promised and what could not be tried.
func exampleProof() *result.Proof {
	run := exampleRun()
	b := proofBuilder{&result.Proof{
		Schema: result.ProofSchema, Command: []string{"/usr/local/bin/assay", "prove"}, Started: run.Started,
		Took: 271 * time.Second, Seed: 42,
		Environment: run.Environment,
		Unseen:      []string{"badger calls msync: no write call came amid it"},
	}}
	synced := result.Promise{Delivered: "synced", Intact: true}
	fragile := result.Promise{Delivered: "flushed"}
	intact := result.Promise{Delivered: "flushed", Intact: true}
	b.promise("bbolt", "", "synced", synced, 2, 5.02, nil)
	b.promise("bbolt", "", "flushed", fragile, 0, 5.02, map[string]damage{
		"power ordered/pages":      {broke: 31, said: "corrupt: open: panic: page 7 already freed"},
		"power ordered/sectors":    {broke: 66, said: "corrupt: open: invalid database"},
		"power ordered/nothing":    {lost: 240, most: 480},
		"recovery ordered/sectors": {broke: 2, said: "corrupt: check: page 12: unreachable"},
		"power strict/sectors":     {broke: 240, said: "missing: store"},
	})
	b.promise("pebble", "", "synced", synced, 1, 1, nil)
	b.promise("pebble", "", "buffered", result.Promise{Delivered: "buffered", Intact: true}, 0, 0.01, map[string]damage{
		"kill ": {lost: 40, most: 7679}, "power ordered/nothing": {lost: 240, most: 7712},
		"power ordered/prefix":     {lost: 212, most: 6400},
		"recovery ordered/sectors": {lost: 240, most: 7000},
	})
	b.promise("bunt", "", "synced", synced, 1, 1, map[string]damage{
		"power ordered/sectors": {broke: 3, said: "transaction 41 is half applied: accounts sum to 1003, want 1000"},
	})
	b.promise("sqlite", "", "synced", synced, 1, 2.82, nil)
	b.promise("sqlite", "", "flushed", intact, 0.01, 2.82, map[string]damage{"power ordered/nothing": {lost: 239,
		most: 512}})
	b.promise("sqlite-delete-full", "?journal_mode=DELETE&synchronous=FULL", "flushed", intact, 4, 11.3,
		map[string]damage{
			"power ordered/sectors": {lost: 1, most: 1},
		})
	b.promise("badger", "", "synced", synced, 2, 0.02, map[string]damage{"power strict/sectors": {broke: 12,
		said: "corrupt: open: manifest is missing"}})
	for i := range b.proof.Cells {
		if c := &b.proof.Cells[i]; c.Engine == "badger" && (c.Fault == result.FaultEIO ||
			c.Fault == result.FaultENOSPC) {
			why := "its files are mapped: a write that fails would end the process"
			c.Keeps = result.Finding{Claimed: true, Verdict: result.Unproved, Why: why}
			c.Whole, c.Images, c.Rounds, c.Cuts, c.States = c.Keeps, 0, 0, 0, 0
		}
	}
	return b.proof
}
