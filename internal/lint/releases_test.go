package lint

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestCountsOfOldReleasesAreThoseThatWereFound holds the counts in docs/upstream.md to what the
// tests of lab/releases printed. The other cells of a row, which its release names, stay.
func TestCountsOfOldReleasesAreThoseThatWereFound(t *testing.T) {
	hold(t, "upstream.md", "releases", releasesTable)
}

// A test names the old release that it proves, then says in how many crashes that, and the mended
// one, lost commits; of a log that is no engine it says only whether the bug was found.
var (
	releaseRun    = regexp.MustCompile(`^=== RUN +TestOldReleasesAreFound/\S+@(v[\d.]+)$`)
	releaseOld    = regexp.MustCompile(`: acknowledged commits were lost in (\d+) of (\d+) crashes`)
	releaseMended = regexp.MustCompile(`_test\.go:\d+: (v[\d.]+): (\d+) of (\d+)$`)
	releaseFound  = regexp.MustCompile(`_test\.go:\d+: (v[\d.]+): (found|not found)$`)
)

// releaseCells are the cells of counts in the row of an old release.
type releaseCells struct{ old, mended string }

// releasesTable puts the counts that were printed into the rows of now.
func releasesTable(printed, now string) (string, error) {
	counts, err := releaseCounts(printed)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for line := range strings.Lines(now) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 6 { // the line below the heading
			b.WriteString(line)
			continue
		}
		if release := strings.TrimSpace(cells[1]); strings.HasPrefix(release, "v") {
			count, ok := counts[release]
			if !ok {
				return "", fmt.Errorf("nothing of %s", release)
			}
			delete(counts, release)
			line = fmt.Sprintf("|%s | %s | %s |\n", strings.Join(cells[:4], " | "), count.old, count.mended)
		}
		b.WriteString(line)
	}
	if len(counts) > 0 {
		return "", fmt.Errorf("the table has no row of %v", counts)
	}
	return b.String(), nil
}

// releaseCounts reads what the tests printed, by the old release. Where one was tried again, the
// last time counts; one that was not tested has no counts.
func releaseCounts(printed string) (map[string]releaseCells, error) {
	counts, old := map[string]releaseCells{}, ""
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		if m := releaseRun.FindStringSubmatch(line); m != nil {
			old = m[1]
		} else if m := releaseOld.FindStringSubmatch(line); m != nil {
			counts[old] = releaseCells{old: thousands(m[1]) + " of " + thousands(m[2])}
		} else if m := releaseMended.FindStringSubmatch(line); m != nil {
			counts[old] = releaseCells{counts[old].old, m[1] + ": " + thousands(m[2]) + " of " + thousands(m[3])}
		} else if strings.Contains(line, ": NOT TESTED: ") {
			delete(counts, old)
		} else if m := releaseFound.FindStringSubmatch(line); m != nil && m[2] == "found" {
			old = m[1]
			counts[old] = releaseCells{old: m[2]}
		} else if m != nil {
			counts[old] = releaseCells{counts[old].old, m[1] + ": " + m[2]}
		}
	}
	for release, c := range counts {
		if c.old == "" || c.mended == "" {
			return nil, fmt.Errorf("%s, or what mends it, was not tried: %v", release, c)
		}
		if strings.HasPrefix(c.old, "0 of") {
			return nil, fmt.Errorf("in %s the bug was not found: give it more time", release)
		}
	}
	if len(counts) == 0 {
		return nil, errors.New("no release was tried")
	}
	return counts, nil
}

// thousands writes 1725 as 1,725.
func thousands(digits string) string {
	if len(digits) <= 3 {
		return digits
	}
	return thousands(digits[:len(digits)-3]) + "," + digits[len(digits)-3:]
}

func TestCountsOfReleasesAreRead(t *testing.T) {
	const head, words = "| bug | release | mended in | found as | lost in | after |\n|---|---|---|---|---|---|\n", " | v2 | it says so | "
	const printed = "=== RUN   TestOldReleasesAreFound/tidwall/buntdb@v1.2.0\n" +
		"    releases_test.go:80: a file: acknowledged commits were lost in 1226 of 4422 crashes, [\"x\"]\n" +
		"    releases_test.go:90: v1.2.3: 0 of 1725\n=== RUN   TestAnOldLogIsFound\n" +
		"    releases_test.go:99: v0.4.0: found\n    releases_test.go:99: v0.4.2: not found\n"
	now := head + "| [a](b) | v1.2.0" + words + "1 of 2 | v9: 0 of 1 |\n| b | v0.4.0" + words + " |  |\n"
	want := head + "| [a](b) | v1.2.0" + words + "1,226 of 4,422 | v1.2.3: 0 of 1,725 |\n| b | v0.4.0" + words +
		"found | v0.4.2: not found |\n"
	if got, err := releasesTable(printed, now); err != nil || got != want {
		t.Errorf("got\n%s%v\nwant\n%s", got, err, want)
	}
	again := strings.Replace(printed, "=== RUN   TestAnOldLogIsFound", "=== RUN   TestOldReleasesAreFound/tidwall/buntdb@v1.2.0\n"+
		"    releases_test.go:80: a file: acknowledged commits were lost in 3 of 5 crashes, []\n    releases_test.go:90: v1.2.3: 0 of 6", 1)
	got, err := releasesTable(strings.Replace(again, "1226", "0", 1), now)
	if err != nil || !strings.Contains(got, "3 of 5 | v1.2.3: 0 of 6 |") {
		t.Errorf("of one that was tried again: %s%v", got, err)
	}
	for name, wrong := range map[string][2]string{
		"a row that was not tried":    {printed, now + "| c | v3" + words + "1 of 2 | v4: 0 of 1 |\n"},
		"a release that has no row":   {printed, head + "| b | v0.4.0" + words + " |  |\n"},
		"a bug that was not found":    {strings.Replace(printed, "1226", "0", 1), now},
		"a mended release is missing": {strings.Replace(printed, "v1.2.3: 0 of 1725", "", 1), now},
		"nothing":                     {"", now},
	} {
		if got, err := releasesTable(wrong[0], wrong[1]); err == nil {
			t.Errorf("%s is no error: %s", name, got)
		}
	}
}
