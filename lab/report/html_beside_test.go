package report

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/assaydb/assay/lab/result"
)

// otherRun is the real run as if another machine had made it, on which SQLite is the fastest of
// each comparison for sure.
func otherRun(t *testing.T) *result.Run {
	run := *realRun(t)
	run.Environment.CPU = "Another CPU"
	run.Cells = slices.Clone(run.Cells)
	for i := range run.Cells {
		c := &run.Cells[i]
		if c.Ratio == nil {
			continue
		}
		r := *c.Ratio
		if r.To, r.Different, r.Equivalent = "sqlite", true, false; c.Name() == r.To {
			r.Lo, r.Mid, r.Hi, r.Different = 1, 1, 1, false
		} else if r.Mid <= 1 {
			r.Lo, r.Mid, r.Hi = 1.9, 2, 2.1
		}
		c.Ratio = &r
	}
	return &run
}

// siteOf writes an index and the pages that it leads to, and returns the index' address.
func siteOf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	all := []Kept{{Name: "laptop", Page: "laptop.html", Run: realRun(t)},
		{Name: "server", Page: "server.html", Run: otherRun(t)}}
	shipped, err := result.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		var b bytes.Buffer
		if err := HTML(&b, k.Run, shipped, "", Options{Facts: someFacts, Index: "index.html"}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, k.Page), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := Beside(&b, "assay · 2 results", all, Options{Facts: someFacts}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "http") && strings.Contains(b.String(), "src=") {
		t.Error("the page loads something")
	}
	index := filepath.Join(dir, "index.html")
	if err := os.WriteFile(index, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: index}).String()
}

func TestRunsStandBesideEachOther(t *testing.T) {
	var b beside
	b.of = map[besideKey]map[string]besideRow{}
	all := []Kept{{Name: "laptop", Run: realRun(t)}, {Name: "server", Run: otherRun(t)}}
	for _, k := range all {
		b.add(k)
	}
	table := b.table(all)
	if len(table.Head) != 5 || len(table.Rows) < 10 {
		t.Fatalf("%d columns, %d lines", len(table.Head), len(table.Rows))
	}
	changed := 0
	for _, r := range table.Rows {
		if r.Cells[3].Text == "" || r.Cells[4].Text == "" {
			if r.Cells[3].Text != r.Cells[4].Text {
				t.Errorf("%s of %s is in one run alone", r.Cells[0].Text, r.Cells[2].Text)
			}
			continue
		}
		if r.Cells[3].Text != r.Cells[4].Text {
			changed++
		}
	}
	if changed == 0 {
		t.Error("both columns say the same")
	}
	if len(b.differences(all)) == 0 {
		t.Error("it is not told where another engine is first")
	}
	reads := 0
	for _, r := range table.Rows {
		if strings.HasPrefix(r.Cells[0].Text, "hook get") {
			if reads++; r.Promise != "read" || r.Cells[1].Text != "reads" {
				t.Errorf("a read of %s is filed under %s, %s", r.Cells[2].Text, r.Promise, r.Cells[1].Text)
			}
		}
	}
	if reads == 0 {
		t.Error("no read was found")
	}
	for _, of := range b.of { // who only leads is not told as first
		for name, x := range of {
			if x.standing == fastest {
				of[name] = besideRow{x.row, leads}
			}
		}
	}
	if notes := b.differences(all); len(notes) > 0 {
		t.Errorf("nobody is first for sure, and it says %v", notes)
	}
}

// TestTooFewRoundsHaveNoInterval holds the page to what tables in the terminal say: of one round
// stood there 2.62 [2.62–2.62], as if nothing were surer.
func TestTooFewRoundsHaveNoInterval(t *testing.T) {
	c := result.Cell{Engine: "sqlite", Form: "kv", Status: result.OK, Ranked: true,
		NS: &result.Interval{Lo: 113e6, Mid: 113e6, Hi: 113e6}, Samples: make([]result.Sample, 1),
		Ratio: &result.Ratio{To: "bbolt", Lo: 2.62, Mid: 2.62, Hi: 2.62}}
	for few, want := range map[bool]string{true: "2.62 · 113 ms", false: "2.62 [2.62–2.62] · 113 ms"} {
		x := row{cell: &c, few: few}
		if got := (besideRow{&x, open}).cellOf().Text; got != want {
			t.Errorf("few rounds: %v: %q, want %q", few, got, want)
		}
		for i, cell := range timeRow(x).Cells[2:4] {
			if (cell.Text == "") != few {
				t.Errorf("few rounds: %v: bound %d is %q", few, i, cell.Text)
			}
		}
	}
}

// TestAnotherFormIsNoOtherEngine has one engine first in two runs, in another form each.
func TestAnotherFormIsNoOtherEngine(t *testing.T) {
	all := []Kept{{Name: "laptop"}, {Name: "server"}}
	first := func(engines ...string) []htmlNote {
		b := beside{of: map[besideKey]map[string]besideRow{}}
		for i, name := range engines {
			engine, form, _ := strings.Cut(name, "/")
			key := besideKey{operation: "hook get", promise: "reads", label: "read", engine: name}
			b.keys = append(b.keys, key)
			c := &result.Cell{Engine: engine, Form: form}
			b.of[key] = map[string]besideRow{all[i].Name: {&row{cell: c}, fastest}}
		}
		return b.differences(all)
	}
	if notes := first("bbolt", "bbolt/state"); len(notes) > 0 {
		t.Errorf("one engine is first, and it says %v", notes)
	}
	if notes := first("bbolt", "bunt/state"); len(notes) != 1 {
		t.Errorf("two engines are first, and it says %v", notes)
	}
}

func TestASiteInABrowser(t *testing.T) {
	ctx, complaints := browser(t)
	address := siteOf(t)
	for _, width := range []int64{1280, 390} {
		do(t, ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(address))
		if over := evaluate[int](t, ctx,
			`document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			t.Errorf("the index is %d pixels wider than %d", over, width)
		}
	}
	do(t, ctx, chromedp.EmulateViewport(1280, 900))
	const column = `[...document.querySelectorAll('#beside tbody tr')].map(r => r.cells[4].dataset.sort).filter(s => s !== undefined).map(Number)`
	do(t, ctx, chromedp.Click(chromedp.CSS(`#beside thead th:nth-child(5) button`)))
	if values := evaluate[[]float64](t, ctx, column); len(values) < 5 || !slices.IsSorted(values) {
		t.Errorf("a heading does not sort: %v", values)
	}
	const shown = `[...document.querySelectorAll('#beside tbody tr[data-engine="pebble"]')].filter(r => !r.hidden).length`
	before := evaluate[int](t, ctx, shown)
	do(t, ctx, chromedp.Click(chromedp.CSS(`[data-show-engine="pebble"]`)))
	if after := evaluate[int](t, ctx, shown); before == 0 || after != 0 {
		t.Errorf("%d lines of pebble before, %d when it is hidden", before, after)
	}
	for _, step := range []struct{ link, title string }{
		{`.verdict a[href="server.html"]`, "assay · 20"}, {`header a[href="index.html"]`, "assay · 2 results"},
	} {
		href := evaluate[string](t, ctx, fmt.Sprintf(`document.querySelector(%q).href`, step.link))
		do(t, ctx, chromedp.Navigate(href))
		if title := evaluate[string](t, ctx, `document.title`); !strings.HasPrefix(title, step.title) {
			t.Errorf("%s leads to %q", step.link, title)
		}
	}
	for _, said := range complaints() {
		t.Error(said)
	}
}

func TestWhatAllResultsShareIsSaidOnce(t *testing.T) {
	var b bytes.Buffer
	all := []Kept{{Name: "laptop", Run: realRun(t)}, {Name: "server", Run: otherRun(t)}}
	if err := Beside(&b, "two", all, Options{Facts: someFacts}); err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]int{"machine": 2, "software": 1, "disk": 1} {
		if n := strings.Count(b.String(), "<dt>"+label+" </dt>"); n != want {
			t.Errorf("%s is said %d times, want %d", label, n, want)
		}
	}
}
