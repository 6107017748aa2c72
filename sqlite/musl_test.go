//go:build cgo && linux

package sqlite_test

import (
	"debug/elf"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"
)

// TestStaticWithMusl builds this package's tests as one static binary with musl's C library, and
// runs them.
func TestStaticWithMusl(t *testing.T) {
	if os.Getenv("ASSAY_MUSL") != "1" {
		t.Skip("it compiles SQLite anew: set ASSAY_MUSL=1")
	}
	cc, err := osexec.LookPath("musl-gcc")
	if err != nil {
		fmt.Fprintln(os.Stderr, "SKIPPED: the static build with musl was not tested: there is no musl-gcc (apt-get install musl-tools)")
		t.Skipf("the static build is not tested: no musl-gcc (apt-get install musl-tools): %v", err)
	}
	binary := filepath.Join(t.TempDir(), "sqlite.test")
	build := osexec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, "-ldflags", `-linkmode external -extldflags "-static"`, ".")
	build.Env = append(os.Environ(), "CC="+cc, "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(binary)
	check(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the binary needs a dynamic linker")
		}
	}
	run := osexec.CommandContext(t.Context(), binary, "-test.v", "-test.short")
	run.Env = append(os.Environ(), "ASSAY_MUSL=0")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
