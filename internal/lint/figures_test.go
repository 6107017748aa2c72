package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// byHand are the headings of tables whose figures nothing measures: limits and defaults, of ours as
// they stand in the code, and of others as they document them.
var byHand = map[string][]limit{
	"growing.md What changes": {
		{"20 times", "kv/write.go", "const leastTries = 20"},
		{"`timeout` (30 s)", "engines/postgreskv/driver.go", "seconds: 30,"},
		{"likewise (5 s)", "engines/etcdkv/options.go", "Timeout: 5,"},
		{"`ttl`, 10 s", "engines/etcdkv/options.go", "TTL: 10}"},
		{"2,692 bytes", "engines/postgreskv/driver.go", "maxKey   = 2692"},
		{"| 64 KiB |", "engines/etcdkv/driver.go", "MaxKey:        64 << 10,"},
	},
	"eventlog.md Abilities": {
		{"65,536 ids", "stores/eventlog/event.go", "Remembered = 1 << 16"},
		{"up to 64 KiB", "stores/eventlog/event.go", "MaxMeta    = 64 << 10"},
	},
	"design.md How stores are made": {{"", "internal/lint/size_test.go", "TestStoresStaySmall"}},
	"formats.md ratio": {
		{"from 1/1.1 to 1.1", "lab/stats/compare.go", "Margin = 0.10"},
	},
}

// limit is a figure in a table, and where the code has it.
type limit struct{ text, file, code string }

// wrong says what of a limit does not hold in the rows of its table.
func (l limit) wrong(rows string) string {
	code, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(l.file)))
	switch {
	case err != nil:
		return err.Error()
	case !strings.Contains(rows, l.text):
		return fmt.Sprintf("the table does not say %q any more", l.text)
	case !strings.Contains(string(code), l.code):
		return fmt.Sprintf("%q stood on %q in %s, which is not there any more", l.text, l.code, l.file)
	}
	return ""
}

var (
	figure = regexp.MustCompile(`\d(\.\d+)? ?(ns|µs|ms|s|x|×|%|[kMG]i?B)\b|\d\.\d|\d,\d{3}`)
	// version is what looks like a figure and is none.
	version = regexp.MustCompile(`\bv\d+\.[\w.-]+|\b(Linux|Go) \d+\.\d+`)
)

// TestTablesOfFiguresAreGenerated holds that a table of figures is made of a result that ships, or
// is listed above.
func TestTablesOfFiguresAreGenerated(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md"} {
		some, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, some...)
	}
	used, generated := map[string]bool{}, 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range figureTables(string(text)) {
			name := filepath.Base(page)
			limits, listed := byHand[name+" "+found.heading]
			switch {
			case found.generated:
				generated++
			case listed:
				used[name+" "+found.heading] = true
				for _, l := range limits {
					if wrong := l.wrong(found.rows); wrong != "" {
						t.Errorf("%s: %s", name, wrong)
					}
				}
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
	rows      string
}

// figureTables returns the tables of a page in which two rows or more have figures.
func figureTables(page string) (all []figureTable) {
	heading, within, text, rows := "", "", "", 0
	for line := range strings.Lines(page + "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "|") {
			if figure.MatchString(version.ReplaceAllString(line, "")) {
				rows++
			}
			text += line + "\n"
			continue
		}
		if rows >= 2 {
			all = append(all, figureTable{heading, within != "", text})
		}
		text, rows = "", 0
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
	page := "# A\n\n| a |\n|---|\n| v1.2.0 |\n| Linux 6.18, v2.1.7 |\n\n| a |\n|---|\n| 1.5 |\n| 2.5 |\n\n## B\n<!-- x:begin -->\n| a |\n|---|\n| 3 ms |\n| 4 ms |\n<!-- x:end -->\n| a |\n|---|\n| 3 |\n| 4 |\n"
	var got []string
	for _, found := range figureTables(page) {
		got = append(got, fmt.Sprintf("%s %v %q", found.heading, found.generated, found.rows))
	}
	want := []string{`A false "| a |\n|---|\n| 1.5 |\n| 2.5 |\n"`, `B true "| a |\n|---|\n| 3 ms |\n| 4 ms |\n"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestALimitThatIsNotInTheCodeIsFound(t *testing.T) {
	const rows = "| a key | 2,692 bytes |\n"
	right := limit{"2,692 bytes", "engines/postgreskv/driver.go", "maxKey   = 2692"}
	if wrong := right.wrong(rows); wrong != "" {
		t.Error(wrong)
	}
	for _, l := range []limit{{"2,700 bytes", right.file, right.code}, {right.text, right.file, "maxKey   = 2700"},
		{right.text, "engines/nowhere.go", right.code}} {
		if l.wrong(rows) == "" {
			t.Errorf("%+v was not found wrong", l)
		}
	}
}
