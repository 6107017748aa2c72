package upstream

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// The test binary is also the process that is killed while it commits, or ends by itself: its role
// begins with childRole.
const childRole = "upstream-child"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && strings.HasPrefix(os.Args[1], childRole) {
		if err := child(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is the whole life of a process of that role.
func child(role, path string) error {
	switch role {
	case childRole:
		return commitUntilKilled(path)
	case bboltCheckRole:
		return checkBbolt(path)
	}
	return pebbleChild(role, path)
}

// fault is a fault of an engine.
type fault struct {
	module, defence string
	sentence        string // what the engine's authors would read first
}

// report fails the test if the fault was not found: it is gone.
func (f fault) report(t *testing.T, found bool, how string) {
	t.Helper()
	version := versionOf(t, f.module)
	if found {
		t.Logf("%s %s: %s\n%s", f.module, version, f.sentence, how)
		return
	}
	t.Errorf("the fault is gone in %s %s: remove the defence in %s, and the report from docs/upstream.md.\n"+
		"It was: %s\n%s", f.module, version, f.defence, f.sentence, how)
}

// versionOf returns the version of a module that the tests are built with. The test binary itself
// does not know it.
func versionOf(t *testing.T, module string) string {
	t.Helper()
	data, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Require {
		if r.Mod.Path == module {
			return r.Mod.Version
		}
	}
	t.Fatalf("go.mod does not require %s", module)
	return ""
}

// caught returns what fn panics with, as an error, or else its error.
func caught(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return fn()
}
