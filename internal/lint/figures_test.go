package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// byHand are the headings of tables with figures that nothing generates, and what they stand on.
var byHand = map[string]string{
	"growing.md What changes":       "limits of etcd and of its driver's options",
	"eventlog.md Abilities":         "limits of this store and of others, as they document them",
	"formats.md ratio":              "limits of the format",
	"design.md How stores are made": "lines that TestStoresStaySmall counts, now and at e178586",
	"upstream.md":                   "counts of the tests that each section names",
}

var figure = regexp.MustCompile(`\d(\.\d+)? ?(ns|µs|ms|s|x|×|%|[kMG]i?B)\b|\d\.\d|\d,\d{3}`)

// TestTablesOfFiguresAreGenerated holds that a table of figures is made of a result that ships, or
// is listed above.
func TestTablesOfFiguresAreGenerated(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	used, generated := map[string]bool{}, 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range figureTables(string(text)) {
			name := filepath.Base(page)
			_, whole := byHand[name]
			_, one := byHand[name+" "+found.heading]
			switch {
			case found.generated:
				generated++
			case whole:
				used[name] = true
			case one:
				used[name+" "+found.heading] = true
			default:
				t.Errorf("%s: the table below %q has figures that nothing generates: add it to tables in made_test.go or "+
					"to the generated parts in cmd/assay/readme_test.go, or name in byHand what it stands on", name, found.heading)
			}
		}
	}
	for name := range byHand {
		if !used[name] {
			t.Errorf("%s has no such table any more: take it out of the list", name)
		}
	}
	if generated < 11 {
		t.Errorf("only %d tables are generated", generated)
	}
}

type figureTable struct {
	heading   string
	generated bool
}

// figureTables returns the tables of a page in which two rows or more have figures.
func figureTables(page string) (all []figureTable) {
	heading, within, rows := "", "", 0
	for line := range strings.Lines(page + "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "|") {
			if figure.MatchString(line) {
				rows++
			}
			continue
		}
		if rows >= 2 {
			all = append(all, figureTable{heading, within != ""})
		}
		rows = 0
		if mark, ok := strings.CutPrefix(line, "<!-- "); ok {
			name, what, _ := strings.Cut(strings.TrimSuffix(mark, " -->"), ":")
			switch what {
			case "begin":
				within = name
			case "end":
				within = ""
			}
		}
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimLeft(line, "# ")
		}
	}
	return all
}

func TestFigureTablesAreFound(t *testing.T) {
	page := "# A\n\n| a |\n|---|\n| 1.5 |\n| 2.5 |\n\n## B\n<!-- x:begin -->\n| a |\n|---|\n| 3 ms |\n| 4 ms |\n<!-- x:end -->\n| a |\n|---|\n| 3 |\n| 4 |\n"
	if got, want := fmt.Sprint(figureTables(page)), "[{A false} {B true}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
