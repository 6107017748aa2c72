package lint

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// nested are the modules below the main one; they build with its packages as they stand in the repository.
var nested = []string{"engines/duckdbkv", "engines/mosskv"}

// TestNestedModulesKeepUpWithTheMainOne finds one that no longer builds because a version in the main go.mod was raised,
// without downloading what it needs.
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

// versions returns the version of every module that a go.mod requires.
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
	return all
}
