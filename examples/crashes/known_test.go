package crashes

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/assaydb/assay/crashtest"
	"github.com/assaydb/assay/lab/powerfs"
)

// tryVariable has the tests that are known to fail run by themselves: CRASHES_TRY=1 go test -run
// TestTidwallWAL.
const tryVariable = "CRASHES_TRY"

// known is crashtest.Run for a store of which it is known that it fails.
func known[S io.Closer](t *testing.T, s crashtest.Store[S], o *crashtest.Options) {
	t.Helper()
	if os.Getenv(tryVariable) == "" {
		t.Skip("TestWhatIsKnown runs it; so does " + tryVariable + "=1")
	}
	crashtest.Run(t, s, o)
}

// TestWhatIsKnown passes as long as the stores fail as they are known to. Once one of them does
// not, its test can stand by itself.
func TestWhatIsKnown(t *testing.T) {
	if err := powerfs.Available(); err != nil {
		t.Skipf("NOT TESTED: no crash can be recorded on this machine: %v", err)
	}
	for test, want := range map[string]string{
		"TestTidwallWAL":  "open: log corrupt",
		"TestRaftWALFull": "segment is sealed",
		"TestRaftWALCut":  "segment is sealed",
	} {
		t.Run(test, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-crashtest.budget=5m")
			cmd.Env = append(os.Environ(), tryVariable+"=1", "TMPDIR="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), want) {
				t.Fatalf("%v, want %q in\n%s", err, want, out)
			}
			t.Logf("%s", out)
		})
	}
}
