package mutants

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// root is the repository's root, seen from this package.
const root = "../.."

// optIn is the variable that lets the mutants be built and tested, which takes minutes.
const optIn = "ASSAY_MUTANTS"

// mutant is one deliberate fault.
type mutant struct {
	name   string // below testdata
	story  string // what is wrong
	module string // that the file is of; "" is this repository
	file   string // below its root
	source []byte // of the file, mutated

	// One of these is set.
	caughtBy   string // tests of its package, as -run takes them
	foundIn    string // an engine, of which a proof finds a promise broken, as --engines takes it
	equivalent string // why no crash can show it
	missed     string // why the proof does not find it, though a crash can show it
}

func (m mutant) pkg() string { return path.Dir(m.file) }

// read returns the mutants. A test fails that holds one whose lines are not, or not once, in its
// file.
func read(t *testing.T) (mutants []mutant) {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no mutants: %v", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		mutants = append(mutants, parse(t, file, a))
	}
	return mutants
}

func parse(t *testing.T, file string, a *txtar.Archive) mutant {
	t.Helper()
	m := mutant{name: strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "testdata/"), ".txt"),
		story: strings.TrimSpace(string(a.Comment))}
	var names []string
	for _, f := range a.Files {
		names = append(names, f.Name)
	}
	ends := map[string]*string{"caught by": &m.caughtBy, "found in": &m.foundIn, "equivalent": &m.equivalent, "missed": &m.missed}
	if len(names) != 4 || !slices.Equal(names[:3], []string{"file", "from", "to"}) || ends[names[3]] == nil || m.story == "" {
		t.Fatalf("%s: has the parts %q after its story %q, want file, from, to and one of %q", file, names, m.story,
			slices.Sorted(maps.Keys(ends)))
	}
	from := root
	if m.file = line(a.Files[0]); strings.Contains(m.file, " ") {
		m.module, m.file, _ = strings.Cut(m.file, " ")
		from = moduleDir(t, m.module)
	}
	*ends[names[3]] = line(a.Files[3])
	source, err := os.ReadFile(filepath.Join(from, m.file))
	if err != nil {
		t.Fatal(err)
	}
	source = bytes.ReplaceAll(source, []byte("\r\n"), []byte("\n"))
	was, is := a.Files[1].Data, a.Files[2].Data
	if n := bytes.Count(source, was); n != 1 || bytes.Equal(was, is) {
		t.Errorf("%s: its lines are %d times in %s, want once: write them, and what they become, as the file is now\n%s", file, n, m.file, was)
	}
	m.source = bytes.Replace(source, was, is, 1)
	return m
}

func line(f txtar.File) string { return strings.TrimSpace(string(f.Data)) }

// TestMutantsFit fails if the code has changed below a mutant: there must be a Go file after its
// lines were replaced, and the tests that are to catch it.
func TestMutantsFit(t *testing.T) {
	perPackage := make(map[string]int)
	for _, m := range read(t) {
		perPackage[m.pkg()]++
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, m.source, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if m.caughtBy == "" {
			continue
		}
		tests := testsOf(t, m.pkg())
		for name := range strings.SplitSeq(m.caughtBy, "|") {
			if !slices.Contains(tests, name) {
				t.Errorf("%s: there is no test %s in %s", m.name, name, m.pkg())
			}
		}
	}
	for _, pkg := range []string{"lab/powerfs", "lab/prove"} {
		if perPackage[pkg] < 5 {
			t.Errorf("%d mutants of %s, want at least 5", perPackage[pkg], pkg)
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testsOf returns the names of a package's tests.
func testsOf(t *testing.T, pkg string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range testFunction.FindAllSubmatch(source, -1) {
			names = append(names, string(match[1]))
		}
	}
	return names
}

// TestMutantsAreCaught builds each mutant and runs the tests that are to catch it, after it has
// seen them pass without one.
func TestMutantsAreCaught(t *testing.T) {
	if os.Getenv(optIn) == "" {
		t.Skipf("NOT TESTED: set %s=1, or use make mutants: it builds and tests every mutant, which takes minutes", optIn)
	}
	mutants := slices.DeleteFunc(read(t), func(m mutant) bool { return m.caughtBy == "" })
	all := make(map[string][]string)
	for _, m := range mutants {
		all[m.pkg()] = append(all[m.pkg()], m.caughtBy)
	}
	for pkg, tests := range all {
		if said, err := run(t, build(t, pkg, nil), strings.Join(tests, "|"), "-test.v"); err != nil {
			t.Fatalf("%s without a mutant: %v\n%s", pkg, err, said)
		}
		t.Cleanup(func() { run(t, build(t, pkg, nil), "^$") }) // detaches what a mutant that hung has left mounted
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			said, err := run(t, build(t, m.pkg(), &m), m.caughtBy)
			if err == nil {
				t.Fatalf("not caught by %s: %s\n%s", m.caughtBy, m.story, said)
			}
			t.Logf("%s %s", m.story, firstFailure(said))
		})
	}
}

// build returns the package's test binary, with the mutant if there is one.
func build(t *testing.T, pkg string, m *mutant) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "mutant.test")
	goBuild(t, m, binary, "./"+pkg, "test", "-c", "-vet=off")
	return binary
}

// goBuild has the go command make a binary of a package, with the mutant if there is one.
func goBuild(t *testing.T, m *mutant, binary, pkg string, command ...string) {
	t.Helper()
	args := append(command, "-o", binary)
	if m != nil {
		args = append(args, changed(t, filepath.Dir(binary), *m)...)
	}
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("it does not build, which shows nothing: %v\n%s", err, said)
	}
}

// changed writes the mutated file, and returns the flags that tell the compiler to read it.
func changed(t *testing.T, dir string, m mutant) (flags []string) {
	t.Helper()
	from := root
	if m.module != "" {
		from = moduleCopy(t, m.module)
		flags = []string{"-modfile", from + ".mod"}
	}
	original, err := filepath.Abs(filepath.Join(from, m.file))
	if err != nil {
		t.Fatal(err)
	}
	mutated, list := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{mutated: m.source, list: replace} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return append(flags, "-overlay", list)
}

// run runs tests of a binary. Those of a mutant that hangs end after some minutes, as failures.
func run(t *testing.T, binary, tests string, flags ...string) (said string, err error) {
	t.Helper()
	cmd := exec.Command(binary, append(flags, "-test.short", "-test.timeout", "3m", "-test.run", tests)...)
	cmd.Dir = filepath.Dir(binary)
	out, err := cmd.CombinedOutput()
	if err == nil && bytes.Contains(out, []byte("NOT TESTED")) { // which it says if it is verbose
		t.Fatalf("this machine cannot run all of %s:\n%s", tests, out)
	}
	return string(out), err
}

// firstFailure returns the first line that says what is wrong.
func firstFailure(said string) string {
	for line := range strings.Lines(said) {
		if strings.Contains(line, "_test.go:") || strings.HasPrefix(line, "panic:") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
