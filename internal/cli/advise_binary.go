package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/advise"
)

// weigh finds what each engine adds to a program, by building one with it and one without. Where it
// cannot be built (no Go, no module that has assay) it stays not known, and the reason is told.
func (a *app) weigh(ctx context.Context, engines []advise.Engine) (err error) {
	dir, err := os.MkdirTemp("", "assay-build-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	const bare = "package main\n\nimport (\n\t\"context\"\n\n\t\"github.com/assaydb/assay/kv\"\n)\n\nfunc main() { _, _ = kv.Open(context.Background(), \"\") }\n"
	base, err := buildSize(ctx, dir, bare)
	if err != nil {
		fmt.Fprintf(a.stderr, "what an engine adds to a program is found by building, in a module that has assay: %v\n",
			err)
		return ctx.Err()
	}
	sizes := map[string]int64{}
	for i, e := range engines {
		size, ok := sizes[e.Package]
		if !ok {
			fmt.Fprintf(a.stderr, "building a program with %s\n", e.Name)
			if size, err = buildSize(ctx, dir, advise.Code(e, kv.Synced)); err != nil {
				fmt.Fprintf(a.stderr, "%s: %v\n", e.Name, err)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				continue
			}
			sizes[e.Package] = size
		}
		more := max(size-base, 0)
		engines[i].Binary = &more
	}
	return nil
}

// builtProgram is what buildSize leaves in the folder; Windows wants the ending.
const builtProgram = "program.exe"

// buildSize builds a program as it would be shipped, without its symbols, and returns its size.
// environment is NAME=VALUE, beside that of this process.
func buildSize(ctx context.Context, dir, code string, environment ...string) (int64, error) {
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, builtProgram)
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", program, source)
	cmd.Env = append(os.Environ(), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		if len(out) > 300 {
			out = out[:300]
		}
		return 0, fmt.Errorf("go build: %w\n%s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
