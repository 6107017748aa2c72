package prove

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/lab/bench"
	"github.com/assaydb/assay/lab/result"
)

// walBudget is a variable with the time that each fault gets, which takes long for all of them:
// 90s.
const walBudget = "ASSAY_PLANTED"

// walFaults returns the faults that the engine can have: what it asks for by name.
func walFaults(t *testing.T) []string {
	t.Helper()
	var source, names []string
	for _, file := range []string{"wal_test.go", "wal_commit_test.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, string(text))
	}
	for _, m := range regexp.MustCompile(`s\.bug\("([^"]+)"\)`).FindAllStringSubmatch(strings.Join(source, "\n"), -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

func proveWAL(t *testing.T, bug string, budget time.Duration, seed uint64) *result.Proof {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entry := bench.Entry{Name: "wal", Engine: "wal"}
	if bug != "" {
		entry.Options = url.Values{"Bug": {bug}}.Encode()
	}
	ctx, found := context.WithCancel(t.Context())
	defer found()
	p, err := Run(ctx, Options{Entries: []bench.Entry{entry}, Seed: seed,
		Dir: filepath.Join(t.TempDir(), "data"), Budget: budget,
		Evidence: filepath.Join(t.TempDir(), "evidence"), Child: []string{exe, role},
		Progress: func(p Progress) {
			if p.Unkept > 0 {
				found() // a proof that goes on tells nothing new
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlantedFaultsOfALogStructuredEngineAreFound plants one fault after the other in an engine
// that keeps its promises without. It takes an hour: ASSAY_PLANTED=90s go test -run
// PlantedFaultsOfALogStructured -timeout 0 ./lab/prove
func TestPlantedFaultsOfALogStructuredEngineAreFound(t *testing.T) {
	needsPower(t)
	budget, err := time.ParseDuration(os.Getenv(walBudget))
	if err != nil {
		t.Skipf("NOT TESTED: it takes an hour; set %s to a time for each fault, such as 90s", walBudget)
	}
	for _, bug := range append([]string{""}, walFaults(t)...) {
		name := strings.ReplaceAll(bug, " ", "-")
		if bug == "" {
			name = "none"
		}
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			p := proveWAL(t, bug, budget, uint64(began.UnixNano()))
			found := p.Unkept()
			t.Logf("after %v", time.Since(began).Round(time.Second))
			for _, c := range found {
				t.Logf("%s %s %s: %d lost, %d broken, %d torn of %d states: %s", c.Requested, c.Fault, c.Rule,
					c.Keeps.Failed, c.Broken, c.Torn,
					c.Images, c.What)
			}
			if len(found) > 0 && bug == "" {
				logEvidence(t, found[0])
			}
			if len(found) > 0 != (bug != "") {
				t.Errorf("%d promises are broken", len(found))
			}
		})
	}
}

// logEvidence tells how a promise was broken that should have held.
func logEvidence(t *testing.T, c result.ProofCell) {
	t.Helper()
	for _, f := range []result.Finding{c.Keeps, c.Whole} {
		if dir, ok := strings.CutPrefix(f.Command, "assay prove --again "); ok {
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			before, lacking, err := Again(t.Context(), dir, []string{exe, role})
			t.Logf("%s\nlacking: %s %v", strings.Join(before, "\n"), lacking, err)
			story, err := os.ReadFile(filepath.Join(dir, storyName))
			t.Logf("%s %v", story, err)
			return
		}
	}
}
