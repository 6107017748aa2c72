package lint

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The columns that a line has, of which a tab takes four.
const (
	mostColumns        = 120
	mostCommentColumns = 100
)

// kept is what stays on one line in a comment: code and tables, lists, links.
var kept = regexp.MustCompile(`^//( {2,}|\t| - | \[[^]]+\]:)`)

// TestLinesAreNarrow holds lines to what two windows beside each other show. Those with strings are
// left alone, as a message is found by its text.
func TestLinesAreNarrow(t *testing.T) {
	eachGoFile(t, func(file string) {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		strs := stringLines(src)
		for i, line := range strings.Split(string(src), "\n") {
			columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			text := strings.TrimSpace(line)
			most := mostColumns
			if strings.HasPrefix(text, "//") {
				most = mostCommentColumns
			}
			if columns > most && !strs[i+1] && !kept.MatchString(text) {
				t.Errorf("%s:%d has %d columns, at most %d: break it", file, i+1, columns, most)
			}
		}
	})
}

// stringLines returns the lines, from 1, on which a string or a part of one stands.
func stringLines(src []byte) map[int]bool {
	lines := map[int]bool{}
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return lines
		case token.STRING:
			first := file.Line(pos)
			for i := range strings.Count(text, "\n") + 1 {
				lines[first+i] = true
			}
		}
	}
}
