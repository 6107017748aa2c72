package prove

import (
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// What is kept of a proof that goes on tells as much as one that was interrupted there.
func TestWhatIsKeptOfAProofThatGoesOn(t *testing.T) {
	t.Parallel()
	r := &runner{proof: result.Proof{Schema: result.ProofSchema}}
	p := &pair{caps: caps{Promise: kv.Promise{Class: kv.Synced, Intact: true}}}
	for i, fault := range []string{result.FaultKill, result.FaultEIO} {
		task := r.newTask(p, fault)
		task.done = fault == result.FaultKill
		tr := trial{seed: uint64(i), past: newPast(1, 1), ledger: ledger{acks: [][]ack{{{N: 1, Done: 1}}}}, at: 2}
		task.cells[0].crash(tr)
		task.cells[0].record(tr, outcome{N: []uint64{1}})
		task.saw(task.cells[0], [32]byte{byte(i)}, outcome{})
		r.tasks = append(r.tasks, task)
	}
	now := r.soFar(true)
	done, going := now.Cells[0].Keeps, now.Cells[1].Keeps
	if !now.Interrupted || done.Verdict != result.Proved || going.Verdict != result.Unproved ||
		going.Why != interrupted {
		t.Errorf("interrupted %v; what is done is %+v, what goes on %+v", now.Interrupted, done, going)
	}
	if len(now.Seen[p.name()]) != 2*len(stateID{}) || now.Cells[1].Images != 1 {
		t.Errorf("%d bytes of states, %+v", len(now.Seen[p.name()]), now.Cells[1])
	}
	end := r.soFar(false)
	if end.Interrupted || end.Cells[1].Keeps.Verdict != result.Proved || end.Cells[1].Acked != now.Cells[1].Acked {
		t.Errorf("at the end: %+v", end.Cells[1])
	}
}
