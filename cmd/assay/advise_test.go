package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/kv/driver"
	"github.com/assaydb/assay/lab/advise"
)

// TestTheCodeThatOpensAPickCompilesAndRuns builds what assay advise prints. Each engine's package
// is there once, each class is tried, and one program runs.
func TestTheCodeThatOpensAPickCompilesAndRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("calls the compiler; not in a short run")
	}
	dir, seen := t.TempDir(), map[string]bool{}
	var files []string
	for i, c := range catalog {
		d, _ := driver.Lookup(c.Engine)
		if c.Package == "" {
			c.Package = module + drivers[c.Engine]
		}
		if seen[c.Package] || c.Unranked || c.Engine == "margaret" {
			continue
		}
		seen[c.Package] = true
		class := kv.Durability(i % 3)
		if !d.Info().Caps.Promise(class).Supported {
			class = kv.Synced
		}
		file := filepath.Join(dir, c.Name, "main.go")
		code := advise.Code(advise.Engine{Name: c.Name, URL: c.Engine + ":?" + c.Options, Package: c.Package}, class)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s\n%s", c.Name, err, out, code)
		}
	}
	if len(files) < 6 {
		t.Fatalf("only %d programs", len(files))
	}
	program := filepath.Join(dir, "program.exe")
	if out, err := exec.Command("go", "build", "-o", program, files[0]).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(program)
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "app.db*"))
	if len(left) == 0 || !strings.Contains(left[0], "app.db") {
		t.Errorf("the program left no store: %v", left)
	}
}
