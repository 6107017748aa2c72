package mutants

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// budget is a variable with the time that a proof has for each mutant of an engine, as 90s.
const budget = "ASSAY_PLANTED"

// TestMutantsOfEnginesAreFound builds assay with each mutant of an engine and proves the engine: it
// is found if a promise is broken. The proof knows nothing of it.
func TestMutantsOfEnginesAreFound(t *testing.T) {
	if os.Getenv(budget) == "" {
		t.Skipf("set %s=90s, or use make mutants: it proves an engine with each mutant, for so long if it is not found",
			budget)
	}
	if err := powerfs.Available(); err != nil {
		t.Skipf("NOT TESTED: power cannot fail on this machine: %v", err)
	}
	for _, m := range read(t) {
		if m.missed != "" {
			t.Logf("MISSED: %s: %s", m.name, m.missed)
		}
		if m.foundIn == "" {
			continue
		}
		t.Run(filepath.Base(m.name), func(t *testing.T) {
			assay := filepath.Join(t.TempDir(), "assay")
			goBuild(t, &m, assay, "./cmd/assay", "build")
			began := time.Now()
			broken := prove(t, assay, m.foundIn)
			if len(broken) == 0 {
				t.Fatalf("not found: %s", m.story)
			}
			t.Logf("after %v: %s: %s", time.Since(began).Round(time.Second), broken[0].Fault, broken[0].What)
		})
	}
}

// prove proves an engine until a promise is broken, and returns the broken ones.
func prove(t *testing.T, assay, engine string) []result.ProofCell {
	t.Helper()
	out := t.TempDir()
	cmd := exec.Command(assay, "prove", "--engines", engine, "--budget", os.Getenv(budget),
		"--dir", t.TempDir(), "--out", out)
	ctx, found := context.WithCancel(t.Context())
	defer found()
	said := &listener{text: "broken", found: found}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(os.Interrupt) }) // it may have ended
	defer stop()
	ended := cmd.Wait()
	p, err := result.ReadProof(out)
	if err != nil {
		t.Fatalf("%v: %v\n%s", ended, err, said.all.Bytes())
	}
	return p.Unkept()
}

// listener calls found once a text was written to it.
type listener struct {
	text  string
	found func()
	all   bytes.Buffer
}

func (l *listener) Write(b []byte) (int, error) {
	l.all.Write(b)
	if bytes.Contains(l.all.Bytes(), []byte(l.text)) {
		l.found()
	}
	return len(b), nil
}
