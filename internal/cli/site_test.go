package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/report"
	"github.com/assaydb/assay/lab/result"
)

// TestNoPageOfASiteReplacesAnother has results whose folders would give pages of one name.
func TestNoPageOfASiteReplacesAnother(t *testing.T) {
	var all []report.Kept
	for _, name := range []string{"a-b", "a/b", "A/b", "index", "monday"} {
		all = append(all, report.Kept{Name: name})
	}
	want := []string{"a-b.html", "a-b-2.html", "A-b-3.html", "index-2.html", "monday.html"}
	if got := siteFiles(all); !slices.Equal(got, want) {
		t.Errorf("the pages are %q, want %q", got, want)
	}
}

// keptResults writes a run, a proof, both, and published comparisons to folders, and returns the
// folder above.
func keptResults(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	shipped, err := result.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	own := *shipped
	own.Command = []string{"assay", "prove", "--budget", "7m"}
	proof, err := result.MarshalProof(&own)
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.ReadFile("../../lab/report/testdata/default/" + result.DocumentFile)
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{"proof/" + result.ProofFile: proof, "run/" + result.DocumentFile: run,
		"both/" + result.ProofFile: proof, "both/" + result.DocumentFile: run,
		"published/" + result.PublishedFile: []byte("{}")} {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestASiteHasProofsToo: a proof has a page, a run beside its own proof shows that one, and what
// has no page is named.
func TestASiteHasProofsToo(t *testing.T) {
	dir, out := keptResults(t), filepath.Join(t.TempDir(), "site")
	var said bytes.Buffer
	a := app{stdout: &said, stderr: &said}
	if err := a.site(dir, out); err != nil {
		t.Fatal(err)
	}
	published := filepath.Join(dir, "published")
	if !strings.Contains(said.String(), published+" has no page") || !strings.Contains(said.String(), "3 results in") {
		t.Errorf("it said %q", said.String())
	}
	for name, want := range map[string][]string{
		"index.html": {`href="proof.html"`, `href="run.html"`, `href="both.html"`, "No promise was broken"},
		"proof.html": {"<h1>What commits survive</h1>", "7m</code>"},
		"run.html":   {builtInProof},
		"both.html":  {"Proved by: both", "The answer"},
	} {
		page, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(string(page), text) {
				t.Errorf("%s lacks %s", name, text)
			}
		}
	}
}

// TestAProofIsNotShownBesideRuns has it refused by what it is.
func TestAProofIsNotShownBesideRuns(t *testing.T) {
	dir := keptResults(t)
	a := app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	for _, proof := range []string{filepath.Join(dir, "proof"), filepath.Join(dir, "proof", result.ProofFile)} {
		err := a.showBeside([]string{filepath.Join(dir, "run"), proof})
		if err == nil || !strings.Contains(err.Error(), "holds a proof") {
			t.Errorf("%s: %v", proof, err)
		}
	}
	if err := a.showBeside([]string{filepath.Join(dir, "run"), filepath.Join(dir, "both")}); err != nil {
		t.Errorf("a run that has a proof beside it: %v", err)
	}
	if err := unknownFormat("svg"); !strings.Contains(hintOf(err), "--charts") {
		t.Errorf("svg: %v, %s", err, hintOf(err))
	}
}
