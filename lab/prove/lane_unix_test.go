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
	if o, err := l.verify(t.Context(), task, spec); err != nil || o.Late || o.Broken != "" {
		t.Fatalf("a store that is made: %+v, %v", o, err)
	}
	verifier := l.verifier.PID() // it hangs over a store that is there
	time.AfterFunc(100*time.Millisecond, func() { _ = syscall.Kill(verifier, syscall.SIGKILL) })
	if o, err := l.verify(t.Context(), task, spec); err != nil || !o.Late {
		t.Errorf("a verifier that was killed: %+v, %v", o, err)
	}
}
