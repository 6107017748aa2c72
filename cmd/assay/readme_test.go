package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is generated into the README")

const readme = "../../README.md"

// build builds the command as users do: the test binary does not know the versions of its modules.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "assay.exe")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReadmeHasTheEnginesAsTheyAre(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command; not in a short run")
	}
	table, err := exec.Command(build(t), "engines", "--markdown").Output()
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- engines:begin -->\n", "<!-- engines:end -->"
	before, rest, ok1 := strings.Cut(read(t, readme), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s lacks the marks %s and %s", readme, begin, end)
	}
	if got == string(table) {
		return
	}
	if !*update {
		t.Fatalf("the table is out of date; run: go test ./cmd/assay -run Readme -update\ngot:\n%s\nwant:\n%s", got, table)
	}
	if err := os.WriteFile(readme, []byte(before+begin+string(table)+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReadmeShowsTheExampleThatIsCompiled(t *testing.T) {
	_, rest, ok := strings.Cut(read(t, readme), "```go\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the README has no Go example")
	}
	if !strings.Contains(read(t, "../../kv/example_test.go"), block) {
		t.Errorf("the README's example is not the one in kv/example_test.go:\n%s", block)
	}
}
