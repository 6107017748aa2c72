package report

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/assaydb/assay/lab/result"
)

// browser returns a headless Chromium, and a function that returns what it complained of and
// requested since it was started.
func browser(t *testing.T) (ctx context.Context, complaints func() []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser is started: without -short")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("NOT TESTED: there is no chromium to show the page; on Debian: apt-get install chromium")
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox)...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	var mu sync.Mutex
	var said []string
	err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			said = append(said, fmt.Sprintf("console %s", e.Type))
		case *runtime.EventExceptionThrown:
			said = append(said, "exception "+e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			said = append(said, "log "+e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if e.Type != network.ResourceTypeDocument && !strings.HasPrefix(e.Request.URL, "data:") {
				said = append(said, "request "+e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, call(network.Enable, network.EnableParams{}), call(log.Enable, cdp.Empty{}))
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return said
	}
}

// pageFile writes the page of a run and returns its address.
func pageFile(t *testing.T, run *result.Run) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(htmlOf(t, run)), 0o644); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: file}).String()
}

// evaluate returns what JavaScript makes of the page.
func evaluate[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// call is a command of the protocol as an action.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// sortedBy is what stands in a column of the first table, empty cells left out.
const sortedBy = `[...document.querySelectorAll('#answer tbody')[0].rows].map(r => r.cells[%d].dataset.sort).filter(s => s !== undefined).map(Number)`

func TestThePageInABrowser(t *testing.T) {
	ctx, complaints := browser(t)
	address := pageFile(t, realRun(t))
	do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(address))

	t.Run("a heading sorts", func(t *testing.T) {
		const head = `#answer thead th:nth-child(2) button`
		for click, sign := range []float64{1, -1} {
			do(t, ctx, chromedp.Click(chromedp.CSS(head)))
			values := evaluate[[]float64](t, ctx, fmt.Sprintf(sortedBy, 1))
			if len(values) < 3 {
				t.Fatalf("%d values", len(values))
			}
			for i := 1; i < len(values); i++ {
				if sign*(values[i]-values[i-1]) < 0 {
					t.Errorf("click %d: %v is not in order", click+1, values)
				}
			}
		}
	})
	t.Run("an engine is hidden and shown", func(t *testing.T) {
		visible := `[...document.querySelectorAll('[data-engine="pebble"]')].filter(e => e.offsetParent !== null).length`
		color := `getComputedStyle(document.body).getPropertyValue('--d' + document.querySelector('[data-show-engine="pebble"]').dataset.color).trim()`
		before := evaluate[int](t, ctx, visible)
		do(t, ctx, chromedp.Click(chromedp.CSS(`[data-show-engine="pebble"]`)))
		if n := evaluate[int](t, ctx, visible); before == 0 || n != 0 {
			t.Errorf("%d places of pebble before, %d when hidden", before, n)
		}
		if c := evaluate[string](t, ctx, color); c != "transparent" {
			t.Errorf("its colour in charts is %q", c)
		}
		do(t, ctx, chromedp.Click(chromedp.CSS(`[data-show-engine="pebble"]`)))
		if n := evaluate[int](t, ctx, visible); n != before {
			t.Errorf("%d places of pebble, want %d again", n, before)
		}
	})
	t.Run("a trait leaves the engines that have it", func(t *testing.T) {
		engines := `[...new Set([...document.querySelectorAll('#answer th[data-engine]')].filter(e => !e.hidden).map(e => e.dataset.engine))].sort()`
		all := evaluate[[]string](t, ctx, engines)
		do(t, ctx, chromedp.Click(chromedp.CSS(`[data-trait="shared"]`)))
		some := evaluate[[]string](t, ctx, engines)
		for _, e := range some {
			if !strings.HasPrefix(e, "sqlite") {
				t.Errorf("%s is left", e)
			}
		}
		if len(some) == 0 || len(some) >= len(all) {
			t.Errorf("%v of %v", some, all)
		}
		do(t, ctx, chromedp.Click(chromedp.CSS(`[data-trait="shared"]`)))
	})
	t.Run("a promise is hidden", func(t *testing.T) {
		visible := `[...document.querySelectorAll('[data-promise="flushed-intact"]')].filter(e => !e.hidden).length`
		if evaluate[int](t, ctx, visible) == 0 {
			t.Fatal("nothing is flushed")
		}
		do(t, ctx, chromedp.Click(chromedp.CSS(`[data-show-promise="flushed-intact"]`)))
		if n := evaluate[int](t, ctx, visible); n != 0 {
			t.Errorf("%d places are left", n)
		}
		do(t, ctx, chromedp.Click(chromedp.CSS(`[data-show-promise="flushed-intact"]`)))
	})
	t.Run("an operation leads to its chart", func(t *testing.T) {
		do(t, ctx, chromedp.Click(chromedp.CSS(`#answer tbody a`)))
		if !evaluate[bool](t, ctx, `(() => { const f = document.querySelector('figure:target'); return !!f && f.getBoundingClientRect().top < innerHeight && f.getBoundingClientRect().bottom > 0 })()`) {
			t.Error("no chart is in sight")
		}
	})
	t.Run("every chart has its table and command", func(t *testing.T) {
		without := `[...document.querySelectorAll('figure')].filter(f => !f.querySelector('svg') || f.querySelectorAll('tbody tr').length === 0 ||
			!f.querySelector('details p').textContent || !f.querySelector('code').textContent.startsWith('assay run ')).map(f => f.id)`
		if missing := evaluate[[]string](t, ctx, without); len(missing) > 0 {
			t.Errorf("not so: %v", missing)
		}
	})
	for _, said := range complaints() {
		t.Error(said)
	}
}

// TestThePageIsUsedByKeyboard does what others do with a mouse: Tab leads to everything, and it is
// seen where.
func TestThePageIsUsedByKeyboard(t *testing.T) {
	ctx, complaints := browser(t)
	do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(pageFile(t, realRun(t))))
	to := func(selector string) {
		t.Helper()
		for range 60 {
			do(t, ctx, chromedp.KeyEvent(kb.Tab))
			if evaluate[bool](t, ctx, fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) {
				if evaluate[string](t, ctx, `getComputedStyle(document.activeElement).outlineStyle`) == "none" {
					t.Errorf("nobody sees that %s has the keyboard", selector)
				}
				return
			}
		}
		t.Fatalf("Tab does not lead to %s", selector)
	}
	visible := `[...document.querySelectorAll('[data-engine="pebble"]')].filter(e => e.offsetParent !== null).length`
	to(`[data-show-engine="pebble"]`)
	do(t, ctx, chromedp.KeyEvent(" "))
	if n := evaluate[int](t, ctx, visible); n != 0 {
		t.Errorf("%d places of pebble are left", n)
	}
	do(t, ctx, chromedp.KeyEvent(" "))
	if n := evaluate[int](t, ctx, visible); n == 0 {
		t.Error("pebble does not come back")
	}
	to(`#answer thead th:nth-child(2) button`)
	for _, want := range []string{"ascending", "descending"} {
		do(t, ctx, chromedp.KeyEvent(kb.Enter))
		if got := evaluate[string](t, ctx, `document.activeElement.parentElement.ariaSort ?? ""`); got != want {
			t.Errorf("the column that has the keyboard is %q, want it %s", got, want)
		}
	}
	to(`#answer tbody a`)
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	if !evaluate[bool](t, ctx, `!!document.querySelector('figure:target')`) {
		t.Error("an operation leads to no chart")
	}
	to(`figure summary`)
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	if !evaluate[bool](t, ctx, `document.activeElement.parentElement.open`) {
		t.Error("the table of a chart does not open")
	}
	for _, said := range complaints() {
		t.Error(said)
	}
}

// TestThePageOfADefaultRunIsSmallAndQuick holds the page of a run of all that assay run measures to
// its size. How soon a reader can click is told for whoever asks: a machine may be slow, so that it
// is not held against a limit.
func TestThePageOfADefaultRunIsSmallAndQuick(t *testing.T) {
	run := defaultRun(t)
	if engines, all := len(engineNames(run.Cells)), len(workloadNames(run.Cells)); engines < 5 || all < 4 {
		t.Fatalf("%d engines at %d workloads are no default run", engines, all)
	}
	page := htmlOf(t, run)
	if len(page) > mostPage {
		t.Errorf("%d bytes, want at most %d", len(page), mostPage)
	}
	ctx, complaints := browser(t)
	address := pageFile(t, run)
	for i := range 3 {
		do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(address))
		t.Logf("%d bytes, opening %d: interactive %.0f ms, loaded %.0f ms after it was asked for", len(page), i+1,
			evaluate[float64](t, ctx, `performance.getEntriesByType('navigation')[0].domInteractive`),
			evaluate[float64](t, ctx, `performance.getEntriesByType('navigation')[0].loadEventEnd`))
		do(t, ctx, chromedp.Click(chromedp.CSS(`#answer thead th:nth-child(2) button`)))
		const sort = `document.querySelector('#answer thead th:nth-child(2)').ariaSort`
		if sorted := evaluate[string](t, ctx, sort); sorted != "ascending" {
			t.Errorf("it was clicked and is %q", sorted)
		}
	}
	for _, said := range complaints() {
		t.Error(said)
	}
}

// labels returns the charts in which a text is cut off or two overlap.
const labels = `[...document.querySelectorAll('figure')].flatMap(f => {
	const svg = f.querySelector('svg').getBoundingClientRect(), wrong = [];
	const texts = [...f.querySelectorAll('svg text')].map(e => ({text: e.textContent, box: e.getBoundingClientRect()}));
	for (const a of texts) {
		if (a.box.left < svg.left - 1 || a.box.right > svg.right + 1 || a.box.top < svg.top - 1 || a.box.bottom > svg.bottom + 1) wrong.push(f.id + ': cut off: ' + a.text);
		for (const b of texts) {
			const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left), high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
			if (a !== b && wide > 1 && high > a.box.height / 2) wrong.push(f.id + ': ' + a.text + ' lies over ' + b.text);
		}
	}
	return wrong;
})`

func TestNothingIsCutOffOrOverlaps(t *testing.T) {
	ctx, _ := browser(t)
	for name, run := range map[string]*result.Run{"real": realRun(t), "example": exampleRun(),
		"growing": growingRun()} {
		address := pageFile(t, run)
		for _, width := range []int64{1280, 768, 390} {
			do(t, ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(address))
			if over := evaluate[int](t, ctx, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s: the page is %d pixels wider than %d", name, over, width)
			}
			for _, wrong := range evaluate[[]string](t, ctx, labels) {
				t.Errorf("%s at %d: %s", name, width, wrong)
			}
		}
	}
}

// contrast returns the least contrast of the colours of texts and their ground, as the Web Content
// Accessibility Guidelines define it.
const contrast = `(() => {
	const style = getComputedStyle(document.documentElement), canvas = document.createElement('canvas').getContext('2d');
	const light = name => {
		canvas.fillStyle = style.getPropertyValue(name).trim();
		canvas.fillRect(0, 0, 1, 1);
		const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4 });
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	let least = 99;
	for (const ground of ['--back', '--card']) for (const text of ['--ink', '--dim', '--best', '--warn', '--bad', '--link']) {
		const a = light(ground), b = light(text);
		least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
	}
	return least;
})()`

func TestTextsCanBeReadInLightAndDark(t *testing.T) {
	ctx, _ := browser(t)
	address := pageFile(t, exampleRun())
	grounds := map[string]bool{}
	for _, theme := range []string{"light", "dark"} {
		do(t, ctx, inTheme("screen", theme), chromedp.Navigate(address))
		if least := evaluate[float64](t, ctx, contrast); least < 4.5 {
			t.Errorf("%s: a contrast of %.2f, want 4.5", theme, least)
		}
		grounds[evaluate[string](t, ctx, `getComputedStyle(document.body).backgroundColor`)] = true
	}
	if len(grounds) != 2 {
		t.Errorf("both have the ground %v", grounds)
	}
}

// unprinted is what paper lacks of the page: colours of legends, which a browser does not print
// unless it is told to, and what is wider than the sheet.
const unprinted = `[...document.querySelectorAll('.legend i')].filter(i => getComputedStyle(i).printColorAdjust !== 'exact').map(i => i.parentElement.textContent + ' has no colour')
	.concat([...document.querySelectorAll('h1, p, table, figure, dl')].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1)
		.map(e => (e.getAttribute('aria-label') || e.id || e.textContent.slice(0, 40)) + ' is ' + Math.round(e.getBoundingClientRect().right - innerWidth) + ' pixels wider than the sheet'))`

func TestAllOfItFitsOnPaper(t *testing.T) {
	ctx, _ := browser(t)
	const sheet = 703 // pixels: A4 without the margins of the style
	for name, run := range map[string]*result.Run{"real": realRun(t), "example": exampleRun(),
		"growing": growingRun()} {
		do(t, ctx, chromedp.EmulateViewport(sheet, 900), inTheme("print", "light"), chromedp.Navigate(pageFile(t, run)))
		for _, wrong := range evaluate[[]string](t, ctx, unprinted) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

func inTheme(media, theme string) chromedp.Action[chromedp.Void] {
	return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
}
