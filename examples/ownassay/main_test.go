package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assaydb/assay/lab/powerfs"
)

// TestOwn runs the script in testdata with the real command: it lists, measures, proves and ranks.
// The command is built, because a test binary does not know the versions of its modules, and no
// proof is of what has no version.
func TestOwn(t *testing.T) {
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "ownassay.exe"),
		".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("OWN", filepath.Join(bin, "ownassay.exe"))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			return nil
		},
		Condition: func(name string) (bool, error) { return name == "disk" && powerfs.Available() == nil, nil },
	})
}
