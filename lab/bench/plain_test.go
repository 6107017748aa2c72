package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

// built returns a program of testdata.
func built(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program")
	}
	path := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-o", path, "./testdata/"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// The lab measures what the plain benchmark does, in a program that names no engines: it has all
// that it imports.
func TestTheLabMeasuresBareCalls(t *testing.T) {
	lab, out := built(t, "barelab"), t.TempDir()
	args := []string{"run", "bare/get", "bare/append1", "--engines", "bbolt,pebble,sqlite", "--durability", "synced",
		"--dir", t.TempDir(), "--out", out, "--budget", "15s"}
	if said, err := exec.Command(lab, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	run, err := result.Read(filepath.Join(out, result.DocumentFile))
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	for _, c := range run.Cells {
		if c.Status == result.Failed {
			t.Errorf("%s on %s: %s", c.Operation, c.Engine, c.Error)
		}
		if c.NS != nil {
			measured++
		}
	}
	if len(run.Cells) != 6 || measured == 0 {
		t.Errorf("%d of %d cells measured, want some of 6", measured, len(run.Cells))
	}
}

// The plain benchmark beside assay is no part of this program: this keeps it working.
func TestThePlainBenchmarkMeasures(t *testing.T) {
	plain := built(t, "plain")
	for _, op := range []string{"put", "get", "append1", "read100"} {
		for _, engine := range []string{"bbolt", "pebble", "sqlite"} {
			out, err := exec.Command(plain, "-one", op+"/"+engine, "-dir", t.TempDir()).Output()
			var ns, n float64
			if _, scanned := fmt.Sscan(string(out), &ns, &n); err != nil || scanned != nil || ns <= 0 || n <= 0 {
				t.Errorf("%s on %s: %q, %v", op, engine, out, err)
				continue
			}
			t.Logf("%s on %s: %.1f µs", op, engine, ns/n/1000)
		}
	}
}
