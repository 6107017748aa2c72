package report

import (
	"bytes"
	"encoding/csv"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/result"
)

// realRun is a run that took place, of three workloads at every promise.
func realRun(t *testing.T) *result.Run {
	t.Helper()
	run, err := result.Read("../advise/testdata/run")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// mostPage is how long a page may be, in bytes.
const mostPage = 3_000_000

// defaultRun is one of assay run as it is typed, without anything else.
func defaultRun(t *testing.T) *result.Run {
	t.Helper()
	run, err := result.Read("testdata/default")
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func someFacts(engine string) Facts {
	return Facts{Shared: strings.HasPrefix(engine, "sqlite"), SQL: strings.HasPrefix(engine, "sqlite"),
		File: engine != "pebble" && engine != "badger", PureGo: true}
}

// page returns the page of a run with the shipped proof.
func htmlOf(t *testing.T, run *result.Run) string {
	t.Helper()
	shipped, err := result.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := HTML(&b, run, shipped, "The proof that is built in.", Options{Facts: someFacts}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestThePageNeedsNothingElse(t *testing.T) {
	for name, run := range map[string]*result.Run{"real": realRun(t), "example": exampleRun(),
		"growing": growingRun(), "default": defaultRun(t)} {
		page := htmlOf(t, run)
		if len(page) > mostPage {
			t.Errorf("%s: %d bytes, want at most %d", name, len(page), mostPage)
		}
		for _, tag := range []string{"src=", "<link ", "url(", "@import", "fetch("} {
			if n := strings.Count(page, tag); tag == "<link " && n != 1 || tag != "<link " && n != 0 {
				t.Errorf("%s: %d times %q", name, n, tag)
			}
		}
		t.Logf("%s: %d bytes", name, len(page))
	}
}

// TestNothingIsOfferedThatNeedsAScript holds that who has no JavaScript sees no boxes that do
// nothing.
func TestNothingIsOfferedThatNeedsAScript(t *testing.T) {
	if want := "<noscript><style>.filters, .screen { display: none }</style></noscript></head>"; !strings.Contains(htmlOf(t, realRun(t)), want) {
		t.Errorf("the page lacks %s", want)
	}
}

func TestThePageLinksToWhatItHas(t *testing.T) {
	for _, run := range []*result.Run{realRun(t), exampleRun(), growingRun()} {
		page := htmlOf(t, run)
		ids := map[string]int{}
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			ids[id[1]]++
			if ids[id[1]] > 1 {
				t.Errorf("id %q stands there twice", id[1])
			}
		}
		links := regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1)
		for _, link := range links {
			if ids[link[1]] == 0 {
				t.Errorf("#%s leads nowhere", link[1])
			}
		}
		if len(links) < 10 {
			t.Errorf("%d links", len(links))
		}
	}
}

// TestThePageSaysWhatTheScreenSays holds the first screen of the page against the last one in
// words, of each workload alone.
func TestThePageSaysWhatTheScreenSays(t *testing.T) {
	run := realRun(t)
	page := htmlOf(t, run)
	for _, workload := range workloadNames(run.Cells) {
		part := *run
		part.Cells = nil
		for _, c := range run.Cells {
			if c.Workload == workload {
				part.Cells = append(part.Cells, c)
			}
		}
		var b bytes.Buffer
		if err := Text(&b, &part, Options{Width: 10_000, Facts: someFacts}); err != nil {
			t.Fatal(err)
		}
		_, said, ok := strings.Cut(b.String(), "\nFor ")
		if !ok {
			t.Fatalf("the screen picks nothing for %s:\n%s", workload, b.String())
		}
		line, _, _ := strings.Cut(said, "\n")
		subject, text, _ := strings.Cut(line, ": ")
		for _, want := range []string{"For " + subject, text} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page does not say %q", workload, want)
			}
		}
	}
}

// TestTheFirstScreenSaysWhatItsWordsMean holds that a reader need not look for the legend.
func TestTheFirstScreenSaysWhatItsWordsMean(t *testing.T) {
	first, _, _ := strings.Cut(htmlOf(t, realRun(t)), "<form")
	for _, want := range []string{"synced, intact: survives power loss", "takes 1.7 times as long", "for sure: 95 % sure"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first screen does not say %q", want)
		}
	}
}

// TestAnEngineThatHasNoLineIsNamed holds that no engine leaves a chart without a word.
func TestAnEngineThatHasNoLineIsNamed(t *testing.T) {
	run := exampleRun()
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Engine == "bbolt" && c.Latency != nil {
			c.Latency = &result.Latency{P50: c.Latency.P50, Max: c.Latency.Max}
		}
	}
	if want := "<p class=\"dim\">Too few operations for percentiles: bbolt</p>"; !strings.Contains(htmlOf(t, run), want) {
		t.Errorf("the page lacks %s", want)
	}
}

// TestAStarIsExplained holds that the promises beside operations say what they lack.
func TestAStarIsExplained(t *testing.T) {
	const said = "* power loss may damage the store"
	if page := htmlOf(t, realRun(t)); !strings.Contains(page, ">hook put, flushed*<") || !strings.Contains(page, said) {
		t.Error("an operation has a star, and nothing says what that means")
	}
	if strings.Contains(htmlOf(t, defaultRun(t)), said) {
		t.Error("a star is explained that is not there")
	}
}

// TestACommandIsBrokenBetweenWords holds that no line ends within a flag, and that what is measured
// is found by its text.
func TestACommandIsBrokenBetweenWords(t *testing.T) {
	for _, want := range []string{`<span class="whole">--budget</span> 5m</code>`, "<code>assay run hook/put"} {
		if !strings.Contains(htmlOf(t, defaultRun(t)), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestAProofAloneHasAPage(t *testing.T) {
	shipped, err := result.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := HTML(&b, nil, shipped, "here", Options{Facts: someFacts}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>What commits survive</h1>", "power cut", "bbolt", "Again: <code>assay prove ",
		`data-show-engine="leveldb"`, `data-trait="shared"`, `data-show-promise="synced-intact"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestTextOfAnEngineStaysText(t *testing.T) {
	run := exampleRun()
	run.Cells[0].Status, run.Cells[0].NS, run.Cells[0].Error = result.Failed, nil, `<script>alert("x")</script>`
	if page := htmlOf(t, run); strings.Contains(page, "<script>alert") {
		t.Error("what an engine said became a part of the page")
	}
}

func TestCSVHasALineForEachCell(t *testing.T) {
	run := realRun(t)
	var b bytes.Buffer
	if err := CSV(&b, run); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll() // which also holds them to one length
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1+len(run.Cells) {
		t.Fatalf("%d lines of %d cells", len(lines), len(run.Cells))
	}
	c := run.Cells[0]
	for column, want := range map[string]string{"workload": c.Workload, "engine": c.Engine, "ns": plain(c.NS.Mid),
		"syncs": plain(*c.Syncs)} {
		found := false
		for i, name := range lines[0] {
			if name == column {
				found = true
				if lines[1][i] != want {
					t.Errorf("%s is %q, want %q", column, lines[1][i], want)
				}
			}
		}
		if !found {
			t.Errorf("no column %s", column)
		}
	}
}

func TestChartsAreWrittenAsFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "charts")
	n, err := Charts(dir, exampleRun(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	pictures, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil || len(pictures) != n || n < 10 {
		t.Fatalf("%d pictures of %d charts, error %v", len(pictures), n, err)
	}
	for _, file := range pictures {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(f); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		f.Close()
		svg, err := os.ReadFile(strings.TrimSuffix(file, ".png") + ".svg")
		if err != nil || !bytes.Contains(svg, []byte("</svg>")) || bytes.Contains(svg, []byte("var(")) {
			t.Errorf("%s: no drawing of its own: %v", file, err)
		}
	}
}

func TestMarkdownOfARunHasTheAnswer(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, exampleRun(), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## synced, intact: survives power loss", "| hook put | ● 608µs", "→ `assay run "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
