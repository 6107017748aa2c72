package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root        = "../.."
	module      = "github.com/assaydb/assay/"
	digestsFile = root + "/lab/result/drivers.json"
)

// drivers names the package of each engine's driver.
var drivers = map[string]string{
	"badger":      "engines/badgerkv",
	"bbolt":       "engines/bboltkv",
	"bunt":        "engines/buntkv",
	"leveldb":     "engines/levelkv",
	"margaret":    "stores/eventlog/margaret",
	"null":        "engines/nullkv",
	"pebble":      "engines/pebblekv",
	"sqlite":      "engines/sqlitekv",
	"sqlite-c":    "engines/sqliteckv",
	"sqlite-wasm": "engines/sqlitewasmkv",
}

// TestGeneratedDigestsAreThoseOfTheDrivers keeps the label "proved" from outliving the driver that
// was crashed.
func TestGeneratedDigestsAreThoseOfTheDrivers(t *testing.T) {
	for _, c := range catalog {
		if drivers[c.Engine] == "" {
			t.Errorf("name the package of %s in the table of this test", c.Engine)
		}
	}
	want := digestsDocument(t)
	if *update {
		writeDigests(t)
	} else if got := read(t, digestsFile); got != want {
		t.Errorf("drivers changed since lab/result/drivers.json was written; run: go test ./cmd/assay -run Generated -update\n"+
			"Then their proofs count no more, until they are made again, see docs/durability.md.\ngot:\n%s\nwant:\n%s",
			got, want)
	}
}

func writeDigests(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(digestsFile, []byte(digestsDocument(t)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func digestsDocument(t *testing.T) string {
	t.Helper()
	all := map[string]string{}
	for engine, dir := range drivers {
		digest, err := sourceDigest(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		all[engine] = digest
	}
	document, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(document) + "\n"
}

// sourceDigest returns a digest of the source of the package in dir and of all packages of ours
// that it imports, for every system, without tests. Comments and spaces are left out, directives
// are not.
func sourceDigest(root, dir string) (string, error) {
	files := map[string][]byte{} // the tokens, by path
	if err := addSource(files, root, dir); err != nil {
		return "", err
	}
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n%s", path, len(files[path]), files[path])
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func addSource(files map[string][]byte, root, dir string) error {
	paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no source in %s: %w", dir, err)
	}
	for _, path := range paths {
		name := dir + "/" + filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") || files[name] != nil {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files[name] = tokens(source)
		f, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if dir, ours := strings.CutPrefix(imported, module); ours {
				if err := addSource(files, root, dir); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tokens returns what the compiler reads of a file.
func tokens(source []byte) []byte {
	set := token.NewFileSet()
	var s scanner.Scanner
	s.Init(set.AddFile("", set.Base(), len(source)), source, nil, scanner.ScanComments)
	var out bytes.Buffer
	for {
		_, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return out.Bytes()
		case tok == token.COMMENT && !strings.HasPrefix(text, "//go:") && !strings.HasPrefix(text, "// #cgo"):
		case tok.IsLiteral() || tok == token.COMMENT:
			fmt.Fprintln(&out, text)
		default:
			fmt.Fprintln(&out, tok)
		}
	}
}

func TestDigestFollowsTheSourceAndNotItsComments(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	digest := func() string {
		got, err := sourceDigest(dir, "engines/akv")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	write("engines/akv/driver.go", "package akv\n\nimport \""+module+"kv\"\n\nvar sync = kv.Yes\n")
	write("kv/kv.go", "package kv\n\n// Yes is so.\nconst Yes = true\n")
	first := digest()
	for _, c := range []struct {
		name, file, text string
		same             bool
	}{
		{"another comment", "kv/kv.go", "package kv\n\n// Yes is no more than that.\n\nconst Yes  =  true\n", true},
		{"a test", "engines/akv/driver_test.go", "package akv\n", true},
		{"a package that it does not import", "stores/s.go", "package stores\n", true},
		{"what it imports", "kv/kv.go", "package kv\n\nconst Yes = false\n", false},
		{"what it imports, as it was", "kv/kv.go", "package kv\nconst Yes = true", true},
		{"a constraint", "kv/kv.go", "//go:build linux\n\npackage kv\n\nconst Yes = true\n", false},
		{"the constraint is gone", "kv/kv.go", "package kv\n\nconst Yes = true\n", true},
		{"a file for one system", "engines/akv/sync_windows.go", "package akv\n", false},
	} {
		write(c.file, c.text)
		if got := digest(); (got == first) != c.same {
			t.Errorf("%s: digest %s, at first %s", c.name, got, first)
		}
	}
}
