package drivertest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryCaseSaysWhereToRead(t *testing.T) {
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	known := exported(t, "../driver")
	for _, th := range themes {
		heading := "\n## " + strings.ReplaceAll(th.section, "-", " ") + "\n"
		if !strings.Contains(strings.ToLower(string(text)), heading) {
			t.Errorf("%s has no section %q", page, th.section)
		}
		for _, name := range strings.Split(th.names, ", ") {
			if !known[name] {
				t.Errorf("%q: package driver has no %s", th.section, name)
			}
		}
		for _, c := range th.cases {
			if found, ok := themeOf(c.name); !ok || found.section != th.section || found.names != th.names {
				t.Errorf("%q is also the name of a case elsewhere", c.name)
			}
		}
	}
}

// allCases are those of all themes.
func allCases() (all []tcase) {
	for _, th := range themes {
		all = append(all, th.cases...)
	}
	return all
}

// exported returns the types of the package in dir.
func exported(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	names := map[string]bool{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				names[s.Name.Name] = true
			}
			return true
		})
	}
	return names
}

// TestFailureExplainsItself has a case fail for one mutant of each kind, and reads what its author
// is told.
func TestFailureExplainsItself(t *testing.T) {
	runChild()
	setFlag(t, "rapid.nofailfile", "true")
	for _, want := range []struct {
		engine, sentence string
		said             []string
	}{
		{"broken-scan-with-end", "a scan gives exactly the keys from Start up to but not including End",
			[]string{"got [", "want [", "opened broken-scan-with-end:", `committed ["a=of a"]`, "ranges.go:",
				page + "#reading; in kv/driver: Range, Reader, Cursor"}},
		{"log-without-lock", "a store open Exclusive is busy for everyone else",
			[]string{"got error <nil>, want busy", "another process: open log-without-lock:", "modes.go:",
				page + "#opening"}},
	} {
		s := newSuite(t, Config{Engine: want.engine})
		for _, c := range allCases() {
			if c.name != want.sentence {
				continue
			}
			said := strings.Join(record(t, s, c).log, "\n")
			t.Log(said)
			if n := strings.Count(said, "\n"); n > 100 {
				t.Errorf("%s: the failure has %d lines", want.engine, n)
			}
			for _, part := range append(want.said, "must hold: "+want.sentence) {
				if !strings.Contains(said, part) {
					t.Errorf("%s: the failure does not say %q:\n%s", want.engine, part, said)
				}
			}
		}
	}
}
