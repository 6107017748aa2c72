//go:build cgo

package sqldriver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	osexec "os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assaydb/assay/sqlite/sqldriver"
)

// TestTheirs runs the database/sql tests of github.com/mattn/go-sqlite3 and modernc.org/sqlite, as
// they lie in the module cache, on this driver: all that use nothing of their package but the
// driver's name. testdata/theirs.txt lists those that fail here, and why; a test that is not listed
// must pass, and one that is must fail.
func TestTheirs(t *testing.T) {
	if os.Getenv("ASSAY_THEIRS") == "" {
		t.Skip("it runs the tests of two modules, some of which measure time: set ASSAY_THEIRS=1")
	}
	known := knownFailures(t)
	for _, s := range []suite{
		// It gives a statement of eight parameters nine arguments, which is an error here.
		{module: "github.com/mattn/go-sqlite3", name: `"sqlite3"`, from: "db.Exec(query, args...)", to: "db.Exec(query, args[:8]...)"},
		{module: "modernc.org/sqlite", name: "driverName", own: []string{"TestIsReadOnly"}},
	} {
		t.Run(path.Base(s.module), func(t *testing.T) { s.run(t, known) })
	}
}

// A suite is the tests of a module.
type suite struct {
	module string
	name   string   // how its tests write the driver's name
	own    []string // tests that call methods of their driver's connection

	from, to string // what is changed in them

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
		if f, ok := s.decls[name][0].(*ast.FuncDecl); !ok || f.Recv != nil || !strings.HasPrefix(name, "Test") || name == "TestMain" {
			continue
		}
		if needs, foreign := s.closure(name); foreign == "" && !slices.Contains(s.own, name) {
			run = append(run, name)
			maps.Copy(needed, needs)
		} else {
			left = append(left, name+" ("+foreign+")")
		}
	}
	if len(run) < 20 {
		t.Fatalf("only %d tests were found", len(run))
	}
	t.Logf("%d tests use the driver's own API and are left out: %s", len(left), strings.Join(left, " "))
	source := s.source(t, needed)
	if n := bytes.Count(source, []byte(s.from)); s.from != "" && n != 1 {
		t.Fatalf("%s stands there %d times", s.from, n)
	}
	if s.from != "" {
		source = bytes.ReplaceAll(source, []byte(s.from), []byte(s.to))
	}
	results := s.execute(t, source)
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
	s.fset, s.decls = token.NewFileSet(), map[string][]ast.Node{}
	s.theirs, s.using = map[string]bool{}, map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		test := strings.HasSuffix(name, "_test.go")
		if built, err := build.Default.MatchFile(dir, filepath.Base(name)); err != nil {
			t.Fatal(err)
		} else if test && !built { // of other systems, or of builds that its driver is not made with
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
	delete(s.theirs, "_")
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

// closure returns the declarations that a test needs, and what of its package it needs, if
// anything.
func (s *suite) closure(test string) (needs map[string]bool, foreign string) {
	needs = map[string]bool{}
	var visit func(name string)
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			if p := s.using[x.Name]; x.Obj == nil && p != "" {
				if strings.Contains(strings.Split(p, "/")[0], ".") && p != "modernc.org/mathutil" {
					foreign = p
				}
				return false
			}
		case *ast.Ident:
			switch {
			case n.Obj != nil && n.Obj.Kind == ast.Var && !s.global(n):
			case s.decls[n.Name] != nil:
				visit(n.Name)
			case s.theirs[n.Name] && n.Obj == nil:
				foreign = n.Name
			}
		}
		return true
	}
	visit = func(name string) {
		if needs[name] || foreign != "" {
			return
		}
		needs[name] = true
		for _, d := range s.decls[name] {
			s.withoutMembers(d, look)
		}
	}
	visit(test)
	return needs, foreign
}

// global reports whether a name is of the package and not of a function.
func (s *suite) global(n *ast.Ident) bool {
	for _, d := range s.decls[n.Name] {
		if declared, ok := n.Obj.Decl.(ast.Node); ok && d.Pos() <= declared.Pos() && declared.End() <= d.End() {
			if _, isFunc := d.(*ast.FuncDecl); !isFunc {
				return true
			}
		}
	}
	return false
}

// withoutMembers walks a declaration without the names of fields and methods.
func (s *suite) withoutMembers(d ast.Node, look func(ast.Node) bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if look(n) {
				s.withoutMembers(n.X, look)
			}
			return false
		case *ast.KeyValueExpr:
			if _, isName := n.Key.(*ast.Ident); !isName {
				s.withoutMembers(n.Key, look)
			}
			s.withoutMembers(n.Value, look)
			return false
		case *ast.Field:
			s.withoutMembers(n.Type, look)
			return false
		case nil:
			return false
		}
		return look(n)
	})
}

// source writes a test file of the declarations that are needed.
func (s *suite) source(t *testing.T, needed map[string]bool) []byte {
	var body bytes.Buffer
	done := map[ast.Node]bool{}
	used := map[string]bool{"os": true}
	s.using["os"] = "os"
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
					if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && s.using[x.Name] != "" {
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
	fmt.Fprintf(&head, ")\n\nconst driverName = %q\n\nvar _ = os.Args\n\n", sqldriver.Name)
	if needed["tempDir"] { // their TestMain sets it
		head.WriteString("func init() { tempDir = os.TempDir() }\n\n")
	}
	return append(head.Bytes(), body.Bytes()...)
}

// rename has sql.Open open this driver.
func (s *suite) rename(call *ast.CallExpr) {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Open" && len(call.Args) == 2 {
		if lit, ok := call.Args[0].(*ast.BasicLit); ok && (lit.Value == `"sqlite"` || lit.Value == `"sqlite3"`) {
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
	binary := filepath.Join(dir, "theirs.test")
	compile := osexec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-o", binary, "-overlay", overlay, "./sqlite/sqldriver/theirs")
	compile.Dir = root
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := osexec.CommandContext(t.Context(), binary, "-test.v", "-test.timeout", "10m")
	run.Dir = dir
	run.Env = append(os.Environ(), "TMPDIR="+dir)
	out, err := run.CombinedOutput()
	t.Logf("%v\n%s", err, out)
	results := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\w+) `).FindAllStringSubmatch(string(out), -1) {
		results[m[2]] = strings.ToLower(m[1])
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
