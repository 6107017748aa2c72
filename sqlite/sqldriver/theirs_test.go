//go:build cgo

package sqldriver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	osexec "os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assaydb/assay/sqlite/sqldriver"
)

// TestTheirs runs the database/sql tests of github.com/mattn/go-sqlite3 and modernc.org/sqlite, as they
// lie in the module cache, on this driver: all that use nothing of their package but the driver's
// name. testdata/theirs.txt lists those that fail here, and why; a test that is not listed must pass,
// and one that is must fail.
func TestTheirs(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles and runs the tests of two modules")
	}
	known := knownFailures(t)
	for _, s := range []suite{
		{module: "github.com/mattn/go-sqlite3", name: `"sqlite3"`, files: []string{"sqlite3_test.go", "sqlite3_sql_test.go", "error_test.go"}},
		{module: "modernc.org/sqlite", name: "driverName", files: []string{"all_test.go", "bind_test.go", "null_test.go", "conn_test.go"}},
	} {
		t.Run(path.Base(s.module), func(t *testing.T) { s.run(t, known) })
	}
}

// A suite is the tests of a module.
type suite struct {
	module string
	name   string // how its tests write the driver's name
	files  []string

	fset   *token.FileSet
	decls  map[string][]ast.Node // of the test files, by the name that is declared
	theirs map[string]bool       // what the package itself declares
	using  map[string]string     // imports of the test files, by name
	order  []string
}

func (s *suite) run(t *testing.T, known map[string]string) {
	out, err := osexec.Command("go", "list", "-m", "-f", "{{.Dir}}", s.module).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("the module %s is not in the cache: %v", s.module, err)
	}
	s.parse(t, dir)
	var run, left []string
	needed := map[string]bool{}
	for _, name := range s.order {
		if !strings.HasPrefix(name, "Test") || name == "TestMain" {
			continue
		}
		if needs, ok := s.closure(name); ok {
			run = append(run, name)
			maps.Copy(needed, needs)
		} else {
			left = append(left, name)
		}
	}
	if len(run) < 20 {
		t.Fatalf("only %d tests were found", len(run))
	}
	t.Logf("%d tests use the driver's own API and are left out: %s", len(left), strings.Join(left, " "))
	results := s.execute(t, s.source(t, needed))
	passed := 0
	for _, name := range run {
		label := path.Base(s.module) + " " + name
		why, listed := known[label]
		switch results[name] {
		case "pass":
			if passed++; listed {
				t.Errorf("%s passes: take it out of testdata/theirs.txt", label)
			}
		case "fail":
			if !listed {
				t.Errorf("%s fails", label)
			} else {
				t.Logf("%s fails as is known: %s", label, why)
			}
		case "skip":
			t.Logf("%s skips itself", label)
		default:
			t.Errorf("%s did not run to its end", label)
		}
	}
	t.Logf("%d of %d pass", passed, len(run))
}

// parse reads the declarations of the test files and the names of the others.
func (s *suite) parse(t *testing.T, dir string) {
	s.fset, s.decls, s.theirs, s.using = token.NewFileSet(), map[string][]ast.Node{}, map[string]bool{}, map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		test := strings.HasSuffix(name, "_test.go")
		if test && !slices.Contains(s.files, filepath.Base(name)) {
			continue
		}
		f, err := parser.ParseFile(s.fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			for _, declared := range declares(d) {
				if !test {
					s.theirs[declared] = true
					continue
				}
				s.decls[declared] = append(s.decls[declared], d)
				s.order = append(s.order, declared)
			}
		}
		if !test {
			continue
		}
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			local := path.Base(p)
			if i.Name != nil {
				local = i.Name.Name
			}
			s.using[local] = p
		}
	}
	delete(s.theirs, s.name)
	delete(s.theirs, "init")
}

// declares returns the names that a declaration makes: of a method that of its type.
func declares(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		kind := d.Recv.List[0].Type
		if star, ok := kind.(*ast.StarExpr); ok {
			kind = star.X
		}
		if id, ok := kind.(*ast.Ident); ok {
			return []string{id.Name}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

// closure returns the declarations that a test needs, unless one needs their package.
func (s *suite) closure(test string) (needs map[string]bool, ok bool) {
	needs, ok = map[string]bool{}, true
	var visit func(name string)
	visit = func(name string) {
		if needs[name] || !ok {
			return
		}
		needs[name] = true
		for _, d := range s.decls[name] {
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, isName := n.X.(*ast.Ident); isName {
						if p := s.using[x.Name]; x.Obj == nil && strings.Contains(strings.Split(p, "/")[0], ".") {
							ok = false // of another module
						}
					}
					ast.Inspect(n.X, func(n ast.Node) bool { return s.name0(n, visit, &ok) })
					return false
				case *ast.Ident:
					return s.name0(n, visit, &ok)
				}
				return true
			})
		}
	}
	visit(test)
	return needs, ok
}

// name0 looks at a node that may be a name of the package.
func (s *suite) name0(n ast.Node, visit func(string), ok *bool) bool {
	id, isName := n.(*ast.Ident)
	if !isName {
		return true
	}
	if s.decls[id.Name] != nil {
		visit(id.Name)
	} else if s.theirs[id.Name] && (id.Obj == nil || id.Obj.Kind == ast.Fun || id.Obj.Kind == ast.Typ) {
		*ok = false
	}
	return true
}

// source writes a test file of the declarations that are needed.
func (s *suite) source(t *testing.T, needed map[string]bool) []byte {
	var body bytes.Buffer
	done := map[ast.Node]bool{}
	used := map[string]bool{}
	for _, name := range s.order {
		if !needed[name] {
			continue
		}
		for _, d := range s.decls[name] {
			if done[d] {
				continue
			}
			done[d] = true
			ast.Inspect(d, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok && s.using[x.Name] != "" {
						used[x.Name] = true
					}
				}
				if call, ok := n.(*ast.CallExpr); ok {
					s.rename(call)
				}
				return true
			})
			if err := format.Node(&body, s.fset, d); err != nil {
				t.Fatal(err)
			}
			body.WriteString("\n\n")
		}
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "package theirs\n\nimport (\n_ %q\n", "github.com/assaydb/assay/sqlite/sqldriver")
	for _, local := range slices.Sorted(maps.Keys(used)) {
		fmt.Fprintf(&head, "%s %q\n", local, s.using[local])
	}
	fmt.Fprintf(&head, ")\n\nconst driverName = %q\nvar tempDir = os.TempDir()\n", sqldriver.Name)
	if !used["os"] || needed["tempDir"] {
		t.Fatal("the head of the file needs another look")
	}
	return append(head.Bytes(), body.Bytes()...)
}

// rename has sql.Open open this driver.
func (s *suite) rename(call *ast.CallExpr) {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Open" && len(call.Args) == 2 {
		if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Value == s.name {
			lit.Value = strconv.Quote(sqldriver.Name)
		}
	}
}

// execute runs the file as a package of this module, and returns what became of each test.
func (s *suite) execute(t *testing.T, source []byte) map[string]string {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "theirs_test.go"), filepath.Join(dir, "overlay.json")
	place := filepath.Join(root, "sqlite", "sqldriver", "theirs", "theirs_test.go")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {place: file}})
	if err == nil {
		err = os.WriteFile(file, source, 0o600)
	}
	if err == nil {
		err = os.WriteFile(overlay, replace, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-vet=off", "-json", "-timeout", "120s", "./sqlite/sqldriver/theirs")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := cmd.Output()
	results := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch {
		case e.Test == "" && e.Action != "output":
		case e.Action == "output" && (os.Getenv("ASSAY_THEIRS") != "" || e.Test == ""):
			t.Log(strings.TrimSuffix(e.Output, "\n"))
		case slices.Contains([]string{"pass", "fail", "skip"}, e.Action):
			results[e.Test] = e.Action
		}
	}
	if len(results) == 0 {
		t.Fatalf("they did not run: %v\n%s", err, out)
	}
	return results
}

// knownFailures reads the list: a module, a test, a colon, the reason.
func knownFailures(t *testing.T) map[string]string {
	text, err := os.ReadFile("testdata/theirs.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		test, why, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("testdata/theirs.txt: %q has no reason", line)
		}
		known[test] = why
	}
	return known
}
