package report

import (
	"bytes"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
)

func published(t *testing.T, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Published(&b, examplePublished(), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPublishedLooksAsItDid(t *testing.T) {
	for name, o := range map[string]Options{"published80.golden": {}, "published120.golden": {Width: 120},
		"published_ascii80.golden": {ASCII: true}} {
		t.Run(name, func(t *testing.T) { golden(t, name, published(t, o)) })
	}
	var b bytes.Buffer
	if err := PublishedMarkdown(&b, examplePublished()); err != nil {
		t.Fatal(err)
	}
	golden(t, "published.md.golden", b.String())
}

func TestNoLineOfPublishedIsWiderThanThePage(t *testing.T) {
	for _, width := range []int{0, 72, 80, 100, 160} {
		for _, color := range []bool{false, true} {
			o := Options{Width: width, Color: color}
			for l := range strings.Lines(published(t, o)) {
				if l = strings.TrimSuffix(l, "\n"); lipgloss.Width(l) > o.width() {
					t.Errorf("at %d columns a line has %d:\n%s", width, lipgloss.Width(l), l)
				}
			}
		}
	}
}

// TestMarkdownOfPublishedHasARowForEachLine counts cells: what a value holds must not end one.
func TestMarkdownOfPublishedHasARowForEachLine(t *testing.T) {
	var b bytes.Buffer
	p := examplePublished()
	p.Publications[0].Lines[0].Why = "one | two\nthree"
	if err := PublishedMarkdown(&b, p); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for l := range strings.Lines(b.String()) {
		if strings.HasPrefix(l, "| ") {
			if got := strings.Count(strings.ReplaceAll(l, `\|`, ""), "|"); got != 6 {
				t.Errorf("%d cells, want 5: %s", got-1, l)
			}
			rows++
		}
	}
	if want := 2 + 5; rows != want { // headings and lines
		t.Errorf("%d rows, want %d", rows, want)
	}
}
