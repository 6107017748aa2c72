package prove

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// oneRound runs o for one round of one rule.
func oneRound(t *testing.T, o *Options) *result.Proof {
	t.Helper()
	o.Rounds, o.Rules = 1, []string{"ordered/prefix"}
	p, err := Run(t.Context(), *o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAProofGoesOn(t *testing.T) {
	needsPower(t)
	o := options(t, "bbolt", kv.Synced, result.FaultPower)
	first := oneRound(t, &o)
	o.Earlier, o.Seed = first, o.Seed+1
	both, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	a, b := first.Cells[0], both.Cells[0]
	if b.Cuts <= a.Cuts || b.Images <= a.Images || b.States <= a.States || b.Acked <= a.Acked || b.Ops <= a.Ops {
		t.Errorf("got %+v after %+v", b, a)
	}
	if b.Keeps.Verdict != result.Proved || b.Keeps.UpperBound >= a.Keeps.UpperBound {
		t.Errorf("got %+v after %+v", b.Keeps, a.Keeps)
	}
	if kept := len(both.Seen["bbolt synced"]) / len(stateID{}); kept != b.States {
		t.Errorf("%d states are kept, %d were counted", kept, b.States)
	}
	if both.Took <= first.Took || !both.Started.Equal(first.Started) {
		t.Errorf("from %v for %v, after %v for %v", both.Started, both.Took, first.Started, first.Took)
	}
	first.Drivers = map[string]string{"bbolt": "another"}
	o.Anew = func(engine string, _ error) { t.Errorf("%s is said to begin anew, and nothing does", engine) }
	if _, err := Run(t.Context(), o); !errors.Is(err, kv.Unsupported) {
		t.Errorf("a proof of another driver goes on: %v", err)
	}
}

func TestAProofGoesOnWithoutAnEngineThatChanged(t *testing.T) {
	needsPower(t)
	o := options(t, "bbolt", kv.Synced, result.FaultPower)
	o.Entries = append(o.Entries, options(t, "bunt", kv.Synced, result.FaultPower).Entries...)
	first := oneRound(t, &o)
	first.Drivers["bunt"] = "another"
	var anew []string
	o.Earlier, o.Seed = first, o.Seed+1
	o.Anew = func(engine string, why error) { anew = append(anew, engine+": "+why.Error()) }
	both, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"bunt: the driver bunt is another one than it was"}; !slices.Equal(anew, want) {
		t.Errorf("anew are %q, want %q", anew, want)
	}
	for i, c := range both.Cells {
		was := first.Cells[i]
		if goesOn := c.Cuts > was.Cuts; c.Engine != was.Engine || goesOn != (c.Engine == "bbolt") {
			t.Errorf("%s: %d cuts after %d", c.Engine, c.Cuts, was.Cuts)
		}
		if kept := len(both.Seen[c.Engine+" synced"]) / len(stateID{}); kept != c.States {
			t.Errorf("%s: %d states are kept, %d were counted", c.Engine, kept, c.States)
		}
	}
	if both.Drivers["bunt"] == "another" {
		t.Error("the driver is still the former one")
	}
}

// What was late of one promise would leave it open for ever: it is found anew.
func TestAPromiseWithLateAnswersBeginsAnew(t *testing.T) {
	needsPower(t)
	o := options(t, "bbolt", kv.Synced, result.FaultPower)
	first := oneRound(t, &o)
	first.Cells[0].Late, first.Cells[0].Keeps.Verdict = 1, result.Unproved
	var anew []string
	o.Earlier, o.Anew = first, func(what string, why error) { anew = append(anew, what+": "+why.Error()) }
	next, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"bbolt synced: 1 stores were not verified in time"}; !slices.Equal(anew, want) {
		t.Errorf("anew are %q, want %q", anew, want)
	}
	c := next.Cells[0]
	if kept := len(next.Seen["bbolt synced"]) / len(stateID{}); kept != c.States || c.Late != 0 ||
		c.Keeps.Verdict != result.Proved || c.Cuts > first.Cells[0].Cuts {
		t.Errorf("%d states are kept, and %+v", kept, c)
	}
	of, whole := &pair{entry: o.Entries[0], class: kv.Synced}, &first.Cells[0].Whole
	if whole.Verdict, whole.Claimed = result.Disproved, false; lateOf(first, of) != 1 {
		t.Error("what nobody promises is a broken promise")
	}
	if whole.Claimed = true; lateOf(first, of) != 0 {
		t.Error("a promise that is broken begins anew")
	}
}

func TestAProofWhoseEvidenceCannotBeKeptIsWhole(t *testing.T) {
	needsPower(t)
	o := options(t, "unsynced", kv.Synced, result.FaultPower)
	o.Rules, o.Rounds, o.Evidence = []string{"ordered/nothing"}, 1, "/dev/null/evidence"
	p, err := Run(t.Context(), o)
	if p == nil || err == nil || len(p.Unkept()) != 1 || p.Took == 0 {
		t.Fatalf("got %+v, %v", p, err)
	}
	if command := p.Cells[0].Keeps.Command; strings.Contains(command, "--again") {
		t.Errorf("%q names a folder that is not there", command)
	}
}

func TestAStateThatAnEarlierProofHadIsNotCounted(t *testing.T) {
	p := &pair{caps: caps{Promise: kv.Promise{Class: kv.Synced, Intact: true}}, claims: true}
	kill := &task{pair: p, fault: result.FaultKill}
	c := p.newCell(kill.fault, "")
	kill.saw(c, [32]byte{1}, outcome{})
	p.found = unpacked(p.found.packed())
	kill.saw(c, [32]byte{1}, outcome{})
	kill.saw(c, [32]byte{2}, outcome{})
	if c.States != 2 {
		t.Errorf("%d states, want 2", c.States)
	}
}

func TestFindingsOfTwoProofs(t *testing.T) {
	held, open := result.Finding{Verdict: result.Proved}, result.Finding{Verdict: result.Unproved, Why: "no time"}
	broke := result.Finding{Verdict: result.Disproved, Failed: 2, Seed: 7}
	for _, c := range []struct {
		now, before result.Finding
		late        int
		want        string
	}{
		{held, held, 0, result.Proved},
		{held, open, 0, result.Proved},
		{open, held, 0, result.Proved},
		{open, open, 0, result.Unproved},
		{held, broke, 0, result.Disproved},
		{broke, held, 1, result.Disproved},
		{held, open, 1, result.Unproved},
		{open, held, 1, result.Unproved},
	} {
		got := addFinding(c.now, c.before, &result.ProofCell{Cuts: 10, Late: c.late})
		if got.Verdict != c.want || got.Failed != c.now.Failed+c.before.Failed {
			t.Errorf("%s after %s, %d late: got %+v", c.now.Verdict, c.before.Verdict, c.late, got)
		}
		if c.want == result.Proved && got.UpperBound != upperBound(10) {
			t.Errorf("bound %v", got.UpperBound)
		}
		if c.want == result.Disproved && got.Seed != 7 {
			t.Errorf("seed %d", got.Seed)
		}
	}
}
