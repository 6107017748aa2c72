package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	releaseRun    = regexp.MustCompile(`^=== RUN +TestOldReleasesAreFound/\S+@(v[\d.]+)$`)
	releaseOld    = regexp.MustCompile(`: acknowledged commits were lost in (\d+) of (\d+) crashes`)
	releaseMended = regexp.MustCompile(`_test\.go:\d+: (v[\d.]+): (\d+) of (\d+)$`)
	logFound      = regexp.MustCompile(`_test\.go:\d+: (v[\d.]+): (found|not found)$`)
)

// TestCountsOfOldReleasesAreThoseThatWereFound holds the table of known bugs in docs/upstream.md to
// what lab/releases printed, as it lies in docs/figures/upstream.txt; -update makes its counts
// anew.
func TestCountsOfOldReleasesAreThoseThatWereFound(t *testing.T) {
	printed, err := os.ReadFile(filepath.Join(root, "docs", "figures", "upstream.txt"))
	if err != nil {
		t.Fatal(err)
	}
	counts := releaseCounts(string(printed))
	file := filepath.Join(root, "docs", "upstream.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- releases:begin -->\n", "<!-- releases:end -->"
	before, rest, ok := strings.Cut(string(page), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("upstream.md lacks the marks %s and %s", begin, end)
	}
	want, rows := "", 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if release := strings.TrimSpace(cells[1%len(cells)]); strings.HasPrefix(release, "v") {
			count, known := counts[release]
			if !known || len(cells) != 6 {
				t.Fatalf("docs/figures/upstream.txt has nothing of %s", release)
			}
			line = fmt.Sprintf("|%s | %s | %s |\n", strings.Join(cells[:4], " | "), count[0], count[1])
			rows++
		}
		want += line
	}
	if rows != len(counts) || rows < 5 {
		t.Errorf("the table has %d releases, and %d were tried", rows, len(counts))
	}
	if want == table {
		return
	}
	if !*update {
		t.Fatalf("the table releases is not what docs/figures/upstream.txt says; run: go test ./internal/lint -update\nwant:\n%s",
			want)
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// releaseCounts returns the two cells of each old release: what was found in it, and in the one
// that mends it.
func releaseCounts(printed string) map[string][2]string {
	counts := map[string][2]string{}
	old, log := "", ""
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		if m := releaseRun.FindStringSubmatch(line); m != nil {
			old = m[1]
		} else if m := releaseOld.FindStringSubmatch(line); m != nil {
			counts[old] = [2]string{thousands(m[1]) + " of " + thousands(m[2]) + " crashes lost acknowledged commits", ""}
		} else if m := releaseMended.FindStringSubmatch(line); m != nil {
			counts[old] = [2]string{counts[old][0], m[1] + ": " + thousands(m[2]) + " of " + thousands(m[3])}
		} else if m := logFound.FindStringSubmatch(line); m != nil && m[2] == "found" {
			log = m[1]
			counts[log] = [2]string{"at once, in the recorded run", counts[log][1]}
		} else if m != nil {
			counts[log] = [2]string{counts[log][0], m[1] + ": not found"}
		}
	}
	return counts
}

// thousands writes 1725 as 1,725.
func thousands(digits string) string {
	if len(digits) <= 3 {
		return digits
	}
	return thousands(digits[:len(digits)-3]) + "," + digits[len(digits)-3:]
}

func TestCountsOfReleasesAreRead(t *testing.T) {
	counts := releaseCounts("=== RUN   TestOldReleasesAreFound/tidwall/buntdb@v1.2.0\n" +
		"    releases_test.go:80: a file: acknowledged commits were lost in 1226 of 4422 crashes, [\"x\"]\n" +
		"    releases_test.go:90: v1.2.3: 0 of 1725\n=== RUN   TestAnOldLogIsFound\n" +
		"    releases_test.go:99: v0.4.0: found\n    releases_test.go:99: v0.4.2: not found\n")
	want := map[string][2]string{"v1.2.0": {"1,226 of 4,422 crashes lost acknowledged commits", "v1.2.3: 0 of 1,725"},
		"v0.4.0": {"at once, in the recorded run", "v0.4.2: not found"}}
	if fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", counts, want)
	}
}
