package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestASkipSaysWhy holds skips to a reason in words. One that is no choice of the suite, but what
// the machine or a variable decides, begins with "NOT TESTED: ", which .ci/run looks for.
func TestASkipSaysWhy(t *testing.T) {
	eachGoFile(t, func(file string) {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, filepath.Join(root, filepath.FromSlash(file)), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if fn, ok := call.Fun.(*ast.SelectorExpr); ok && (fn.Sel.Name == "Skip" || fn.Sel.Name == "Skipf") &&
				len(call.Args) > 0 && !words(call.Args[0]) && isTest(fn.X) {
				t.Errorf("%s: a skip without words: begin with a string that says why", files.Position(call.Pos()))
			}
			return true
		})
	})
}

// isTest reports whether x is what tests and suites are called here.
func isTest(x ast.Expr) bool {
	name, ok := x.(*ast.Ident)
	return ok && (name.Name == "t" || name.Name == "b" || name.Name == "e" || name.Name == "s")
}

// words reports whether x begins with a string.
func words(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		return x.Kind == token.STRING
	case *ast.BinaryExpr:
		return words(x.X)
	}
	return false
}
