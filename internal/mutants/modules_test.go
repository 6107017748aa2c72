package mutants

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// moduleDirs are where the go command keeps the modules that were asked for.
var moduleDirs = map[string]string{}

func moduleDir(t *testing.T, module string) string {
	t.Helper()
	if moduleDirs[module] == "" {
		cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
		cmd.Dir = root
		said, err := cmd.Output()
		if err != nil {
			t.Fatalf("module %s: %v", module, err)
		}
		moduleDirs[module] = strings.TrimSpace(string(said))
	}
	return moduleDirs[module]
}

// copies holds the copies of modules, until the tests have ended. The go command lets no overlay
// lie over a module that it keeps itself, and compiles what it has seen at the same place once.
var copies string

func TestMain(m *testing.M) {
	code := m.Run()
	if copies != "" {
		_ = os.RemoveAll(copies) // what is left is in the system's folder for that
	}
	os.Exit(code)
}

// moduleCopy returns a copy of a module, beside which a go.mod puts it in the place of the module.
func moduleCopy(t *testing.T, module string) string {
	t.Helper()
	if copies == "" {
		made, err := os.MkdirTemp("", "mutants-*")
		if err != nil {
			t.Fatal(err)
		}
		copies = made
	}
	dir := filepath.Join(copies, strings.ReplaceAll(module, "/", "_"))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.CopyFS(dir, os.DirFS(moduleDir(t, module))); err != nil {
		t.Fatal(err)
	}
	replace := fmt.Sprintf("\nreplace %s => %s\n", module, dir)
	for _, end := range []string{".mod", ".sum"} {
		data, err := os.ReadFile(filepath.Join(root, "go"+end))
		if err != nil {
			t.Fatal(err)
		}
		if end == ".mod" {
			data = append(data, replace...)
		}
		if err := os.WriteFile(dir+end, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
