package lint

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPagesQuoteTheCode holds what pages show of the code against the code. The line before a block
// of Go names the file that it is from, and the block stands in the file as it is:
//
//	<!-- from kv/memkv/memkv.go -->
func TestPagesQuoteTheCode(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	quotes := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range misquotes(string(text), func(file string) (string, error) {
			quotes++
			code, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
			return string(code), err
		}) {
			t.Errorf("%s: %s", filepath.Base(page), wrong)
		}
	}
	if quotes < 5 {
		t.Errorf("only %d quotes were found in docs", quotes)
	}
}

// misquotes returns what is wrong with the blocks of Go in a page.
func misquotes(page string, read func(file string) (string, error)) (wrong []string) {
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		if line != "```go" {
			continue
		}
		file, ok := "", false
		if i > 0 {
			file, ok = strings.CutPrefix(lines[i-1], "<!-- from ")
		}
		file, closed := strings.CutSuffix(file, " -->")
		if !ok || !closed {
			wrong = append(wrong, "a block of Go does not say where it is from: write <!-- from FILE --> above it")
			continue
		}
		block, _, _ := strings.Cut(strings.Join(lines[i+1:], "\n"), "\n```")
		code, err := read(file)
		switch {
		case err != nil:
			wrong = append(wrong, err.Error())
		case !strings.Contains(code, block+"\n"):
			wrong = append(wrong, "what it shows of "+file+" does not stand there any more: copy it anew, from\n"+block)
		}
	}
	return wrong
}

func TestMisquotesAreFound(t *testing.T) {
	read := func(string) (string, error) { return "package p\n\nvar a = 1\n", nil }
	for page, want := range map[string]int{
		"<!-- from p.go -->\n```go\nvar a = 1\n```\n": 0,
		"<!-- from p.go -->\n```go\nvar a = 2\n```\n": 1,
		"<!-- from p.go -->\n```go\nvar a = \n```\n":  1,
		"```go\nvar a = 1\n```\n":                     1,
		"```sh\ngo test\n```\n":                       0,
	} {
		if got := misquotes(page, read); len(got) != want {
			t.Errorf("%q: got %q, want %d", page, got, want)
		}
	}
}

// TestTheSuitesSettingsAreInThePage: whoever writes a driver is told of each variable that makes
// drivertest try more.
func TestTheSuitesSettingsAreInThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "adding-an-engine.md"))
	if err != nil {
		t.Fatal(err)
	}
	setting := regexp.MustCompile(`"(ASSAY_[A-Z_]+)"`)
	var names []string
	eachGoFile(t, func(file string) {
		if path.Dir(file) != "kv/drivertest" || strings.HasSuffix(file, "_test.go") {
			return
		}
		code, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range setting.FindAllSubmatch(code, -1) {
			if name := string(m[1]); !strings.HasSuffix(name, "_CHILD") { // the suite's own
				names = append(names, name)
			}
		}
	})
	if len(names) < 2 {
		t.Errorf("only %q were found in kv/drivertest", names)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !strings.Contains(string(page), name) {
			t.Errorf("docs/adding-an-engine.md does not tell what %s is for", name)
		}
	}
}
