package main

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

var update = flag.Bool("update", false, "write what is generated into README.md and docs")

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

// generated are the parts of pages that the command writes.
var generated = []struct {
	page, mark string
	args       []string
}{
	{"../../README.md", "engines", []string{"engines", "--markdown"}},
	{"../../README.md", "versus", []string{"report", "--versus", "pebble@buffered,sqlite/sql@flushed", "testdata/versus"}},
	{"../../docs/durability.md", "engines", []string{"engines", "--markdown"}},
	{"../../docs/durability.md", "proof", []string{"engines", "--proof", "--markdown"}},
	{"../../docs/traits.md", "traits", []string{"engines", "--traits", "--markdown"}},
	{"../../docs/which.md", "answer", []string{"report", "--format", "markdown", "../../lab/advise/testdata/run"}},
	{"../../docs/use-command.md", "hook", advised("hook/put", "hook/get:10")},
	{"../../docs/use-events.md", "events", advised("events/append1", "events/read100:5")},
	{"../../docs/use-queue.md", "queue", advised("queue/cycle")},
	{"../../docs/use-pairs.md", "pairs", advised("ycsb/A", "ycsb/C:5")},
	{"../../docs/published.md", "published", []string{"report", "--format", "markdown", "../../lab/published/testdata/run"}},
}

// advised is what a default run that was kept says of work.
func advised(work ...string) []string {
	return slices.Concat([]string{"advise"}, work, []string{"--from", "../../lab/report/testdata/default", "--budget", "0s"})
}

func TestGeneratedPartsOfPagesAreAsTheCommandSays(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command; not in a short run")
	}
	if *update {
		writeDigests(t) // what the command says of a proof depends on them
	}
	assay := build(t)
	for _, g := range generated {
		cmd := exec.Command(assay, g.args...)
		cmd.Env = append(os.Environ(), "COLUMNS=100", "LC_ALL=C.UTF-8", "NO_COLOR=1")
		want, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(g.args, "markdown") && !slices.Contains(g.args, "--markdown") {
			want = slices.Concat([]byte("```\n"), bytes.TrimRight(want, "\n"), []byte("\n```\n"))
		}
		begin, end := "<!-- "+g.mark+":begin -->\n", "<!-- "+g.mark+":end -->"
		before, rest, ok1 := strings.Cut(read(t, g.page), begin)
		got, after, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatalf("%s lacks the marks %s and %s", g.page, begin, end)
		}
		if got == string(want) {
			continue
		}
		if !*update {
			t.Fatalf("%s: %s is out of date; run: go test ./cmd/assay -run Generated -update\ngot:\n%s\nwant:\n%s",
				g.page, g.mark, got, want)
		}
		if err := os.WriteFile(g.page, []byte(before+begin+string(want)+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShippedProofIsOfTheEnginesInGoMod holds the versions that were crashed against those that are
// built in: what a newer one survives, nobody has seen.
func TestShippedProofIsOfTheEnginesInGoMod(t *testing.T) {
	shipped, err := result.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	modules := slices.Sorted(maps.Keys(shipped.Environment.Modules))
	out, err := exec.Command("go", append([]string{"list", "-m", "-f",
		"{{.Path}} {{.Version}}{{with .Replace}} => {{.Path}} {{.Version}}{{end}}"}, modules...)...).Output()
	versions := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(modules) == 0 || len(versions) != len(modules) {
		t.Fatalf("go list -m of %d modules names %d versions: %v", len(modules), len(versions), err)
	}
	for i, module := range modules {
		if got, proved := versions[i], module+" "+shipped.Environment.Modules[module]; got != proved {
			t.Errorf("the shipped proof is of %s, go.mod has %s; make it again: go run ./cmd/assay prove --budget 40m --ship lab/result/shipped.json", proved, got)
		}
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
