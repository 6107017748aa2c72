package cli

import (
	"slices"
	"testing"

	"github.com/assaydb/assay/lab/report"
)

// TestNoPageOfASiteReplacesAnother has results whose folders would give pages of one name.
func TestNoPageOfASiteReplacesAnother(t *testing.T) {
	var all []report.Kept
	for _, name := range []string{"a-b", "a/b", "A/b", "index", "monday"} {
		all = append(all, report.Kept{Name: name})
	}
	want := []string{"a-b.html", "a-b-2.html", "A-b-3.html", "index-2.html", "monday.html"}
	if got := siteFiles(all); !slices.Equal(got, want) {
		t.Errorf("the pages are %q, want %q", got, want)
	}
}
