package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// The plain benchmark beside assay is no part of this program: this keeps it working.
func TestThePlainBenchmarkMeasures(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program with three engines")
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if out, err := exec.Command("go", "build", "-o", plain, "./testdata/plain").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
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
