//go:build unix

package prove

import (
	"syscall"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/result"
)

// A system without memory kills processes, and so may anybody: that tells nothing of a store.
func TestAVerifierThatSomebodyKillsTellsNothing(t *testing.T) {
	t.Parallel()
	l, task := laneOf(t, "hanging", result.FaultKill)
	spec := verifySpec{Store: task.store(l.folder("store")), Past: newPast(7, 1)}
	if o, err := l.verify(t.Context(), task, spec, l.Hang); err != nil || o.Late || o.Broken != "" {
		t.Fatalf("a store that is made: %+v, %v", o, err)
	}
	verifier := l.verifier.PID() // it hangs over a store that is there
	time.AfterFunc(100*time.Millisecond, func() { _ = syscall.Kill(verifier, syscall.SIGKILL) })
	if o, err := l.verify(t.Context(), task, spec, l.Hang); err != nil || !o.Late {
		t.Errorf("a verifier that was killed: %+v, %v", o, err)
	}
}

// A machine that stands still for a while makes verifiers late, and no engine hang.
func TestAVerifierThatStoodStillIsAskedAgain(t *testing.T) {
	t.Parallel()
	l, task := laneOf(t, "bbolt", result.FaultPower)
	rec, err := l.record(t.Context(), task, scene{writers: 1, legs: []leg{{"", 3}}}, 7, run{})
	if err != nil {
		t.Fatal(err)
	}
	img, err := rec.end(everything)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := l.examineImage(t.Context(), task, img, rec); err != nil || o.Late || o.Broken != "" {
		t.Fatalf("a store that is whole: %+v, %v", o, err)
	}
	if err := syscall.Kill(l.verifier.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	l.Hang = 5 * time.Second
	if o, err := l.examineImage(t.Context(), task, img, rec); err != nil || o.Late || o.N[0] != 3 {
		t.Errorf("its verifier was stopped once: %+v, %v", o, err)
	}
	if task.hung.Load() {
		t.Error("the engine counts as one that hangs")
	}
}
