package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestPagesShowCommandsThatThereAre holds what pages tell a reader to type against the commands:
// their names, their flags and the values of these, and how many operands they take.
func TestPagesShowCommandsThatThereAre(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, page := range append(pages, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range typedIn(string(text)) {
			commands++
			if err := wellTyped(line); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(page), line, err)
			}
		}
	}
	if commands < 50 {
		t.Errorf("only %d commands were found", commands)
	}
}

// typedIn returns the lines of a page's blocks that call assay.
func typedIn(page string) (lines []string) {
	fenced := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		call := strings.TrimSpace(line)
		if (fenced || strings.HasPrefix(line, "    ")) && strings.HasPrefix(call, "assay ") {
			lines = append(lines, call)
		}
	}
	return lines
}

// wellTyped returns what is wrong with a line that calls assay, without doing it.
func wellTyped(line string) error {
	args := words(line)[1:]
	cmd, rest, err := (&app{}).root().Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil || cmd.Args == nil {
		return err
	}
	return cmd.Args(cmd, cmd.Flags().Args())
}

// words splits a line as a shell does, up to a comment, a redirection or another command.
func words(line string) (all []string) {
	for line = strings.TrimLeft(line, " "); line != "" && !strings.ContainsRune("#|<>&", rune(line[0])); {
		word := ""
		for line != "" && line[0] != ' ' {
			if part, rest, quoted := strings.Cut(line[1:], "'"); line[0] == '\'' && quoted {
				word, line = word+part, rest
				continue
			}
			word, line = word+line[:1], line[1:]
		}
		all, line = append(all, word), strings.TrimLeft(line, " ")
	}
	return all
}

func TestWrongCommandsOfPagesAreFound(t *testing.T) {
	page := "assay is a word.\n    assay run --budgte 5m\n```sh\nassay rn\nassay compare one\nassay prove --rounds many # slow\n" +
		"assay run 'hook/put a' --budget 5m >out\n```\n"
	lines := typedIn(page)
	if len(lines) != 5 {
		t.Fatalf("found %q", lines)
	}
	for i, line := range lines {
		if err := wellTyped(line); (err != nil) != (i < 4) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if got := words(lines[4]); !slices.Equal(got, []string{"assay", "run", "hook/put a", "--budget", "5m"}) {
		t.Errorf("words %q", got)
	}
	if err := wellTyped("assay run --help"); err != pflag.ErrHelp {
		t.Errorf("a command for help: %v", err)
	}
}
