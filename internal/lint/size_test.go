package lint

import (
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostCode is how many lines of code a driver has without what is ours: without tests, and without
// files whose names begin with "ours_".
const mostCode = 400

// moreCode are the packages below engines that may have more.
var moreCode = map[string]int{
	"engines/internal/sqlite": 1025, // three builds of SQLite share it
}

// TestDriversAreSmall holds drivers to the size at which they are read in one go, as the engine
// alone.
func TestDriversAreSmall(t *testing.T) {
	plain, ours := map[string]int{}, map[string]int{}
	eachGoFile(t, func(file string) {
		dir, name := path.Split(file)
		dir = path.Clean(dir)
		switch {
		case !strings.HasPrefix(dir, "engines/") || strings.HasSuffix(name, "_test.go"):
		case strings.HasPrefix(name, "ours_"):
			ours[dir] += linesOfCode(t, file)
			about, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(dir), "driver.go"))
			if err != nil || !strings.Contains(string(about), name) {
				t.Errorf("%s: the package comment in driver.go does not name it under \"What is ours\" (%v)", file, err)
			}
		default:
			plain[dir] += linesOfCode(t, file)
		}
	})
	if len(plain) < 8 {
		t.Errorf("only %d packages were found", len(plain))
	}
	for dir, n := range plain {
		most, more := moreCode[dir]
		if !more {
			most = mostCode
		}
		if n > most {
			t.Errorf("%s has %d lines of code, at most %d: delete what nobody asked for; "+
				"what the engine itself does not have goes into ours_*.go", dir, n, most)
		}
		t.Logf("%-24s %5d of %5d, ours %5d", dir, n, most, ours[dir])
	}
	for dir := range moreCode {
		if plain[dir] == 0 {
			t.Errorf("%s has no code: take it out of the list", dir)
		}
	}
}

// mostTogether is how many lines of code engines and kv have together, without the suite, modules
// of their own, and what tells stores by their content.
const mostTogether = 10_704

// TestEnginesAndContractStaySmall holds the contract and its drivers to the size that they have.
func TestEnginesAndContractStaySmall(t *testing.T) {
	together, suite, detection, apart := 0, 0, 0, 0
	eachGoFile(t, func(file string) {
		dir := path.Dir(file)
		if !below(dir, "engines") && !below(dir, "kv") || strings.HasSuffix(file, "_test.go") {
			return
		}
		n := linesOfCode(t, file)
		switch {
		case below(dir, "kv/drivertest"):
			suite += n
		case below(dir, "kv/detect"):
			detection += n
		case slices.ContainsFunc(nested, func(module string) bool { return below(dir, module) }):
			apart += n
		default:
			together += n
		}
	})
	t.Logf("engines and kv: %d of %d; the suite %d; detection %d; engines in modules of their own %d", together,
		mostTogether, suite, detection, apart)
	if together > mostTogether || together < mostTogether*3/4 {
		t.Errorf("engines and kv have %d lines of code, at most %d: find what stands twice, and what nobody uses; "+
			"if they have become much smaller, lower the number", together, mostTogether)
	}
}

// mostStores is how many lines of code the stores have, without what tests are made of, modules of
// their own, and what transfer alone needs: package pairs, and the files item.go for it.
const mostStores = 18_390

// testsOfStores are packages below stores that only tests use, beside the suites.
var testsOfStores = []string{"stores/internal/aborts", "stores/internal/crash", "stores/internal/doubts",
	"stores/internal/frame", "stores/internal/outbox"}

// TestStoresStaySmall holds the stores to the size that they have, which docs/design.md explains.
func TestStoresStaySmall(t *testing.T) {
	together, forTransfer, apart, tests := 0, 0, 0, 0
	eachGoFile(t, func(file string) {
		dir, name := path.Split(file)
		dir = path.Clean(dir)
		if !below(dir, "stores") || strings.HasSuffix(name, "_test.go") {
			return
		}
		n := linesOfCode(t, file)
		switch {
		case strings.HasSuffix(dir, "test") || slices.Contains(testsOfStores, dir):
			tests += n
		case slices.ContainsFunc(nested, func(module string) bool { return below(dir, module) }):
			apart += n
		case dir == "stores/pairs" || name == "item.go":
			forTransfer += n
		default:
			together += n
		}
	})
	t.Logf("stores: %d of %d; for transfer %d; in modules of their own %d; suites %d", together, mostStores, forTransfer,
		apart, tests)
	if together > mostStores || together < mostStores*3/4 {
		t.Errorf("stores have %d lines of code, at most %d: find what stands twice, and what nobody uses; "+
			"if they have become much smaller, lower the number", together, mostStores)
	}
}

// linesOfCode returns how many lines of a file hold more than comments.
func linesOfCode(t *testing.T, file string) int {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return countCode(src)
}

func countCode(src []byte) int {
	var s scanner.Scanner
	f := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(f, src, nil, 0)
	n, last := 0, 0
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue // the end of a line
		}
		// A string may have several lines.
		first := f.Line(pos)
		end := first + strings.Count(text, "\n")
		n += end - max(first-1, last)
		last = max(last, end)
	}
}

func TestLinesOfCodeAreCounted(t *testing.T) {
	for src, want := range map[string]int{
		"package p\n\n// c\n\nvar a = 1 // one\n":              2,
		"package p\n/* c\nc */ var a = 1\n":                    2,
		"package p\nvar a = `1\n2\n3`; var b = 2\nvar c = 3\n": 5,
		"package p; var a = 1":                                 1,
	} {
		if got := countCode([]byte(src)); got != want {
			t.Errorf("%q: got %d, want %d", src, got, want)
		}
	}
}

// mostAdapter is how many lines of code an adapter of foreign has: more would show that kv lacks
// something.
const mostAdapter = 149

// TestAdaptersAreSmall holds what other projects' stores need beside kv to a page.
func TestAdaptersAreSmall(t *testing.T) {
	adapters := map[string]int{}
	eachGoFile(t, func(file string) {
		dir := path.Dir(file)
		if strings.HasPrefix(dir, "foreign/") && !strings.HasPrefix(dir, "foreign/internal/") &&
			!strings.HasSuffix(file, "_test.go") {
			adapters[dir] += linesOfCode(t, file)
		}
	})
	if len(adapters) < 3 {
		t.Errorf("only %d adapters were found", len(adapters))
	}
	for dir, n := range adapters {
		if n > mostAdapter {
			t.Errorf("%s has %d lines of code, at most %d: what does kv lack for it?", dir, n, mostAdapter)
		}
	}
}
