package releases_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/result"
)

// bug is one that an engine's tracker tells of. The proof is given nothing of it but the release.
type bug struct {
	name        string
	dir         string // of the module here
	module      string // as that imports it
	old, mended string
	tags        string // of the old one's build
	// fault and rule are where it shows, and nothing else that the mended release still has:
	// acknowledged commits are lost.
	fault, rule string
	// symptom is what the engine or the verifier says of a store that shows it, as the tracker has
	// it; "" is commits that are lost without a word.
	symptom string
}

// docs/upstream.md tells of each, with its place in the tracker.
var bugs = []bug{
	{name: "a file that ends within a command does not open", dir: "bunt", module: "github.com/tidwall/buntdb",
		old: "v1.2.0", mended: "v1.2.3", fault: result.FaultKill, symptom: "EOF"},
	{name: "a file is cut off in the wrong place", dir: "bunt", module: "github.com/tidwall/buntdb",
		old: "v1.2.1", mended: "v1.2.3", fault: result.FaultKill, symptom: "invalid database"},
	{name: "the value log is cut off behind what was acknowledged", dir: "badger1",
		module: "github.com/dgraph-io/badger",
		old:    "v1.5.3", mended: "v1.6.2", tags: "v15", fault: result.FaultKill,
		symptom: "greater than current offset"},
	{name: "DB.Sync leaves out the log of the memtable", dir: "badger4", module: "github.com/dgraph-io/badger/v4",
		old: "v4.1.0", mended: "v4.2.0", fault: result.FaultPower, rule: "ordered/nothing"},
}

// budgetVariable is how long each release is proved: "90s". Without it the first bug alone is
// looked for, for a short time.
const (
	budgetVariable = "ASSAY_RELEASES"
	shortBudget    = "20s"
)

// fewCrashes may miss what shows in one of five.
const fewCrashes = 50

// TestOldReleasesAreFound has the proof find each bug in the release that has it. Where the whole
// is asked for, the release in which it is mended is proved too, under the fault that shows the
// bug, and must hold.
func TestOldReleasesAreFound(t *testing.T) {
	if err := powerfs.Available(); err != nil {
		t.Skipf("NOT TESTED: power cannot fail on this machine: %v", err)
	}
	budget, all := os.LookupEnv(budgetVariable)
	if !all {
		budget = shortBudget
	}
	for i, b := range bugs {
		t.Run(strings.TrimPrefix(b.module, "github.com/")+"@"+b.old, func(t *testing.T) {
			if !all && (i > 0 || testing.Short()) {
				t.Skipf("NOT TESTED: %s; %s=90s finds it", b.name, budgetVariable)
			}
			args := []string{"--budget", budget}
			if !all {
				args = append(args, "--faults", b.fault)
			}
			lost, of, said := b.prove(t, b.old, b.tags, args...)
			t.Logf("%s: acknowledged commits were lost in %d of %d crashes, %q", b.name, lost, of, said)
			if lost == 0 && of < fewCrashes {
				t.Skipf("NOT TESTED: the machine is too slow for %s, which gave %d crashes", budget, of)
			}
			if lost == 0 {
				t.Errorf("%s: the proof did not find it", b.name)
			}
			if lost > 0 && !strings.Contains(strings.Join(said, "; "), b.symptom) {
				t.Errorf("%s: the proof has found something else: %q, want %q", b.name, said, b.symptom)
			}
			if !all {
				return
			}
			if lost, of, _ = b.prove(t, b.mended, "", "--budget", budget, "--faults", b.fault); lost > 0 {
				t.Errorf("%s mends it, and lost acknowledged commits in %d of %d crashes", b.mended, lost, of)
			}
			t.Logf("%s: %d of %d", b.mended, lost, of)
		})
	}
}

// prove proves a release and returns in how many of so many crashes acknowledged commits were lost,
// under b's fault and rule, and what was said of the stores.
func (b bug) prove(t *testing.T, version, tags string, args ...string) (lost, of int, said []string) {
	t.Helper()
	bin, out := b.build(t, version, tags), t.TempDir()
	cmd := exec.Command(bin, append([]string{"prove", "--durability", "synced", "--out", out}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	printed, err := cmd.CombinedOutput()
	p, e := result.ReadProof(out)
	if e != nil {
		t.Fatalf("%v, %v:\n%s", err, e, printed)
	}
	for _, c := range p.Cells {
		if c.Fault == b.fault && (b.rule == "" || c.Rule == b.rule) && c.Keeps.Claimed && !c.Strict() {
			lost += c.Keeps.Failed
			of += c.Images
			said = append(said, c.What)
		}
	}
	if err != nil && lost == 0 {
		t.Logf("%v:\n%s", err, printed)
	}
	return lost, of, said
}

// build builds the module with a release.
func (b bug) build(t *testing.T, version, tags string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "assay")
	goWith(t, b.dir, b.module+"@"+version, "build", "-tags="+tags, "-o", bin, ".")
	return bin
}

// goWith runs the go command in a module, of which a dependency is replaced by MODULE@VERSION. A
// release that cannot be downloaded skips the test.
func goWith(t *testing.T, dir, release, command string, args ...string) {
	t.Helper()
	temp := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(temp, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mod := filepath.Join(temp, "go.mod")
	module, _, _ := strings.Cut(release, "@")
	for _, args := range [][]string{
		{"mod", "edit", "-replace=" + module + "=" + release, mod},
		append([]string{command, "-mod=mod", "-modfile=" + mod}, args...),
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil && (strings.Contains(string(out), "not available") || strings.Contains(string(out), "dial tcp")) {
			t.Skipf("NOT TESTED: the release cannot be downloaded: %s", out)
		}
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestAnOldLogIsFound has a crash test of a log that is no engine find the bug of an old release: a
// part of the log that was cut off at its end cannot be read once it was closed
// (github.com/hashicorp/raft-wal/issues/31).
func TestAnOldLogIsFound(t *testing.T) {
	if err := powerfs.Available(); err != nil {
		t.Skipf("NOT TESTED: power cannot fail on this machine: %v", err)
	}
	if os.Getenv(budgetVariable) == "" {
		t.Skipf("NOT TESTED: %s=90s finds it", budgetVariable)
	}
	const dir, module, symptom = "../../examples/crashes", "github.com/hashicorp/raft-wal",
		"sealed segment has no index block"
	for _, release := range []struct {
		version string
		has     bool
	}{{"v0.4.0", true}, {"v0.4.2", false}} {
		version, has := release.version, release.has
		bin := filepath.Join(t.TempDir(), "crashes.test")
		goWith(t, dir, module+"@"+version, "test", "-c", "-o", bin, ".")
		cmd := exec.Command(bin, "-test.run=^TestRaftWALCut$", "-crashtest.budget=5m")
		cmd.Env = append(os.Environ(), "CRASHES_TRY=1", "TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if found := strings.Contains(string(out), symptom); found != has {
			t.Errorf("%s: %q was found: %v, want %v: %v\n%s", version, symptom, found, has, err, out)
		}
		t.Logf("%s: %s", version, map[bool]string{true: "found", false: "not found"}[has])
	}
}
