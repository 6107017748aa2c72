package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// nested are the modules below the main one; they build with its packages as they stand in the
// repository.
var nested = []string{"engines/duckdbkv", "engines/etcdkv", "engines/mosskv", "engines/postgreskv", "engines/servers",
	"examples/crashes", "examples/grow", "examples/observe", "examples/ownassay", "examples/shortener", "examples/watermill", "foreign",
	"foreign/servers", "observe/otel", "lab/releases/badger1", "lab/releases/badger4", "lab/releases/bunt", "stores/eventlog/pglog",
	"stores/internal/postgres", "stores/queue/pgqueue", "stores/queue/pgqueue/beside"}

// TestNestedModulesKeepUpWithTheMainOne finds one that no longer builds because a version in the
// main go.mod was raised, without downloading what it needs.
func TestNestedModulesKeepUpWithTheMainOne(t *testing.T) {
	main := versions(t, "go.mod")
	for _, dir := range nested {
		shared := 0
		for module, version := range versions(t, dir+"/go.mod") {
			wanted, ok := main[module]
			if !ok {
				continue
			}
			shared++
			if semver.Compare(version, wanted) < 0 {
				t.Errorf("%s has %s %s, the main module %s: run go mod tidy in %s", dir, module, version, wanted, dir)
			}
		}
		if shared == 0 {
			t.Errorf("%s shares no module with the main one: nothing was compared", dir)
		}
	}
}

// TestForeignSuitesRunOnTheEnginesOfTheBinary finds an engine that is in the binary and not in
// foreign, or is there in another version: a module that has a suite may ask for a later one.
func TestForeignSuitesRunOnTheEnginesOfTheBinary(t *testing.T) {
	main, foreign := versions(t, "go.mod"), versions(t, "foreign/go.mod")
	const list = "foreign/internal/stores/"
	tried := append(importsOf(t, list+"stores.go"), importsOf(t, list+"stores_cgo.go")...)
	engines, differ := 0, map[string]bool{}
	eachGoFile(t, func(file string) {
		dir := filepath.ToSlash(filepath.Dir(file))
		if !below(dir, "engines") || strings.HasSuffix(file, "_test.go") {
			return
		}
		if slices.ContainsFunc(append(nested, "engines/nullkv"), func(d string) bool { return below(dir, d) }) {
			return // the former are not in the binary, the latter keeps nothing
		}
		if strings.HasSuffix(file, "/driver.go") && !below(dir, "engines/internal") {
			if engines++; !slices.Contains(tried, module+"/"+dir) {
				t.Errorf("foreign/internal/stores does not import %s: add the engine to its list", dir)
			}
		}
		for _, imported := range importsOf(t, file) {
			for name, version := range main {
				if below(imported, name) && foreign[name] != version {
					differ[name] = true
				}
			}
		}
	})
	for name := range differ {
		t.Errorf("an engine has %s %s, foreign has %s: pin it there with a replace", name, main[name], foreign[name])
	}
	if engines < 7 {
		t.Errorf("only %d engines were found: nothing was compared", engines)
	}
}

// versions returns the version of every module that a go.mod requires, or replaces by another
// version.
func versions(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := modfile.Parse(name, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, r := range f.Require {
		all[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range f.Replace {
		if r.New.Version != "" {
			all[r.Old.Path] = r.New.Version
		}
	}
	return all
}
