package report

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

var update = flag.Bool("update", false, "write the golden files")

func text(t *testing.T, run *result.Run, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, run, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; look at it, and if it is better: go test ./lab/report -update\n%s", path, got)
	}
}

func TestReportLooksAsItDid(t *testing.T) {
	for name, o := range map[string]Options{
		"text80.golden": {}, "text120.golden": {Width: 120}, "text120x45.golden": {Width: 120, Height: 45},
		"ascii80.golden": {ASCII: true},
		"color80.golden": {Color: true}, "class80.golden": {Class: "flushed"},
		"all80.golden": {All: true, Explain: true}, "explain80.golden": {Explain: true},
		"all160.golden": {Width: 160, All: true, Explain: true},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, text(t, exampleRun(), o)) })
	}
	unranked := exampleRun()
	unranked.Environment.Unranked = "built with -race"
	stats.Finish(unranked)
	t.Run("unranked", func(t *testing.T) { golden(t, "unranked80.golden", text(t, unranked, Options{})) })
}

func TestNoLineIsWiderThanThePage(t *testing.T) {
	for _, width := range []int{0, 72, 80, 100, 120, 160, 240} {
		for _, color := range []bool{false, true} {
			o := Options{Width: width, Color: color, All: true, Explain: true}
			for l := range strings.Lines(text(t, withManySkipped(), o)) {
				l = strings.TrimSuffix(l, "\n")
				if got := lipgloss.Width(l); got > o.width() {
					t.Errorf("at %d columns a line has %d:\n%s", width, got, l)
				}
			}
		}
	}
}

// withManySkipped is an example in which many engines have no number at many operations, all for
// one reason.
func withManySkipped() *result.Run {
	run := exampleRun()
	for _, op := range []string{"put", "put_get", "put_procs", "open", "processes_1", "processes_4"} {
		for _, engine := range []string{"bunt", "goleveldb", "moss", "nutsdb", "pogreb", "rosedb", "state"} {
			run.Cells = append(run.Cells, result.Cell{Workload: "hook", Operation: op, Engine: engine, Form: "state",
				Ranked:  true,
				Promise: run.Cells[0].Promise, Status: result.Skipped,
				Error: "one process alone can open it at a time"})
		}
	}
	stats.Finish(run)
	return run
}

// A note that names many engines and operations is one paragraph, whose reason is not squeezed to
// the right of them.
func TestNotesHaveAHangingIndent(t *testing.T) {
	_, note, found := strings.Cut(text(t, withManySkipped(), Options{All: true}), "\n· bunt/state, goleveldb/state")
	note, _, _ = strings.Cut(note, "\n✗")
	if !found || !strings.HasSuffix(strings.Join(strings.Fields(note), " "),
		"processes_4: one process alone can open it at a time") {
		t.Fatalf("no note, or one without its reason: %q", note)
	}
	for i, l := range strings.Split(note, "\n") {
		if indented := strings.HasPrefix(l, "  ") && !strings.HasPrefix(l, "   "); i > 0 && !indented {
			t.Errorf("a further line is not indented by 2: %q", l)
		}
	}
}

func TestPlainReportHasNoEscapes(t *testing.T) {
	for _, o := range []Options{{}, {Width: 160}, {ASCII: true}, {All: true, Explain: true}} {
		if got := text(t, exampleRun(), o); strings.Contains(got, "\x1b") || strings.Contains(got, " \n") {
			t.Errorf("%+v: escape sequences, or spaces at the end of a line", o)
		}
	}
	inASCII := text(t, exampleRun(), Options{ASCII: true, Width: 160, All: true, Explain: true})
	for _, r := range inASCII {
		if r > 0x7e {
			t.Errorf("%q in an ASCII report", r)
		}
	}
	if got, want := strings.Count(inASCII, "?"), strings.Count(text(t, exampleRun(),
		Options{Width: 160, All: true, Explain: true}), "?"); got != want {
		t.Errorf("%d question marks in ASCII, %d otherwise: a character has no replacement", got, want)
	}
}

func TestAllColumnsAreThereWhereThereIsRoom(t *testing.T) {
	wide := text(t, exampleRun(), Options{Width: 160, All: true})
	for _, name := range []string{"time/op", "±", "vs fastest", "× floor", "p50", "p99", "max", "allocs/op",
		"written/op", "RSS", "size"} {
		if !strings.Contains(wide, name) {
			t.Errorf("no column %q at 160", name)
		}
	}
	narrow := text(t, exampleRun(), Options{Width: 72, All: true})
	for _, name := range []string{"time/op", "vs fastest", "█"} {
		if !strings.Contains(narrow, name) {
			t.Errorf("no column %q at 72", name)
		}
	}
}

func TestMessagesDoNotSteerTheTerminal(t *testing.T) {
	run := exampleRun()
	run.Cells[0].Engine, run.Environment.CPU = "sq\x1b[31mlite", "\x1b]0;title\x07"
	for i := range run.Cells {
		if run.Cells[i].Status == result.Failed {
			run.Cells[i].Error = "first line\r\nsecond \x1b[2J"
		}
	}
	stats.Finish(run)
	if got := text(t, run, Options{All: true, Explain: true}); strings.ContainsAny(got, "\x1b\x07\r") {
		t.Errorf("control characters in\n%q", got)
	}
}

func FuzzText(f *testing.F) {
	small := exampleRun()
	small.Cells = append(small.Cells[:2:2], small.Cells[4], small.Cells[8]) // with a floor and a failure
	for i := range small.Cells {
		small.Cells[i].Samples = small.Cells[i].Samples[:min(5, len(small.Cells[i].Samples))]
	}
	document, err := result.Marshal(small)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document)
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := result.Parse(data)
		if err != nil {
			return
		}
		text(t, run, Options{})
		stats.Finish(run)
		text(t, run, Options{Width: 160, Height: 24, Color: true, All: true, Explain: true})
	})
}

func TestEmptyRunIsAReport(t *testing.T) {
	if got := text(t, &result.Run{}, Options{}); !strings.Contains(got, "Nothing was measured.") {
		t.Errorf("got\n%s", got)
	}
}

func TestReportOfWhatWasReadIsTheSame(t *testing.T) {
	dir := t.TempDir()
	run := exampleRun()
	if err := result.Write(dir, run); err != nil {
		t.Fatal(err)
	}
	read, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := text(t, read, Options{}), text(t, run, Options{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var bench bytes.Buffer
	if err := Bench(&bench, read); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bench.Bytes(), result.Samples(run)) {
		t.Error("the samples differ")
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{duration(0.25), "0.25 ns"}, {duration(7), "7 ns"}, {duration(412.3), "412 ns"}, {duration(999.6), "1.00 µs"},
		{duration(1840), "1.84 µs"},
		{duration(12_345_678), "12.3 ms"}, {duration(3.2e9), "3.20 s"}, {duration(7.2e12), "7200 s"},
		{size(512), "512 B"}, {size(4096), "4 KiB"}, {size(1.5 * (1 << 30)), "1.50 GiB"},
		{count(3), "3"}, {count(20.14), "20.1"}, {count(48_213), "48.2k"}, {count(1_234_567), "1.23M"},
		{stats.Factor(1), "1.00"}, {stats.Factor(12.34), "12.3"}, {stats.Factor(480.2), "480"},
		{metric(result.Metric{Name: "lock-wait-p99-ns", Value: 1.2e6}), "lock-wait-p99 1.20 ms"},
		{metric(result.Metric{Name: "kills", Value: 3}), "kills 3"},
		{percent(0.031), "±3%"}, {percent(0.004), "±0.4%"}, {percent(0), "±0%"},
		{bar(0, 8), "▏"}, {bar(0.5, 8), "████"}, {bar(2, 2), "██"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestTablesOfDifferentProofAreToldApart(t *testing.T) {
	run := exampleRun()
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Workload == "events" && c.Promise.Delivered == "synced" && c.Engine == "pebble" {
			c.Promise.Proof, c.Promise.Images = result.Disproved, 240
		}
	}
	stats.Finish(run)
	got := text(t, run, Options{Width: 120, All: true})
	for _, want := range []string{
		"synced, intact: survives power loss · proved\n",
		"synced, intact: seen broken: survives power loss · disproved\n",
		"events · synced, intact: survives power loss · proved in ≥ 1,240 crashes each",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for block := range strings.SplitSeq(got, "\n\n\n") {
		if strings.HasPrefix(block, "events · synced, intact: survives power loss · proved") &&
			strings.Contains(block, "pebble") {
			t.Errorf("what was disproved is compared with what was proved:\n%s", block)
		}
	}
}

// What is true of several engines at several operations is said once.
func TestNotesAreSaidOnce(t *testing.T) {
	var rows []row
	for _, op := range []string{"processes_1", "processes_4"} {
		for _, engine := range []string{"bbolt", "pebble"} {
			rows = append(rows, row{cell: &result.Cell{Engine: engine, Operation: op, Status: result.Skipped,
				Error: "one process alone"}})
		}
		rows = append(rows, row{cell: &result.Cell{Engine: "sqlite", Operation: op, Status: result.OK}}, row{})
	}
	rows = append(rows, row{cell: &result.Cell{Engine: "bbolt", Operation: "get", Status: result.Failed,
		Error: "wrong answer", Hint: "report it"}})
	var got []string
	for _, n := range tableNotes(rows) {
		got = append(got, fmt.Sprint(n.names, n.operations, n.skipped, " ", n.text))
	}
	want := []string{"[bbolt pebble] [processes_1 processes_4] true one process alone",
		"[bbolt] [get] false wrong answer → report it"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVersusMarksWhatIsOpen(t *testing.T) {
	b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{}}
	promise := result.Promise{Delivered: "synced", Intact: true, Proof: "proved"}
	for i, engine := range []string{"bbolt", "sqlite"} {
		b.cell("hook", "once", engine, promise, float64(1000*(1+i)), 1)
		b.cell("hook", "slower", engine, promise, float64(1000*(1+i)), 14)
		b.cell("hook", "same", engine, promise, 1000, 30)
		b.cell("hook", "near", engine, promise, 1000, 6)
	}
	near := b.run.Cells[len(b.run.Cells)-1].Samples
	for i := range near {
		near[i].NS *= []float64{1.1, 2, 1.2, 0.9, 1.4, 0.7}[i]
	}
	var out bytes.Buffer
	if _, err := Versus(&out, b.run, stats.Contender{Name: "bbolt"}, stats.Contender{Name: "sqlite"},
		Options{}); err != nil {
		t.Fatal(err)
	}
	for operation, want := range map[string]string{"once": `~ [0-9.]+x \(n=1\)  +synced, intact`, "slower": `2\.0\dx \[`,
		"same": `= 1\.\d+x \[`, "near": `~ 1\.\d\dx \[`} {
		if !regexp.MustCompile("hook " + operation + " +" + want).Match(out.Bytes()) {
			t.Errorf("no %s of %s in\n%s", want, operation, out.String())
		}
	}
}

func TestAnIntervalThatSaysNothingIsNotPrinted(t *testing.T) {
	for want, c := range map[string]stats.Comparison{
		"~ 0.82x":             {Lo: 0.0008, Mid: 0.82, Hi: 821, Rounds: 6},
		"~ 0.82x [0.40–1.30]": {Lo: 0.4, Mid: 0.82, Hi: 1.3, Rounds: 6},
		"~ 0.82x (n=2)":       {Lo: 0.0008, Mid: 0.82, Hi: 821, Rounds: 2},
	} {
		if got := comparison(c); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Who names a class that the run has no commit of is told so, and is not shown another one in
// silence.
func TestVersusTellsOfAClassThatTheRunHasNot(t *testing.T) {
	b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{}}
	b.cell("hook", "put", "bbolt", syncedProved, 1000, 20)
	b.cell("hook", "put", "sqlite", syncedProved, 3000, 20)
	stats.Finish(b.run)
	for class, want := range map[string]bool{"": false, "synced": false, "buffered": true} {
		var out bytes.Buffer
		if _, err := Versus(&out, b.run, stats.Contender{Name: "bbolt", Class: class},
			stats.Contender{Name: "sqlite", Class: "synced"}, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "no commit of bbolt in this run is buffered"); got != want {
			t.Errorf("class %q: got\n%s", class, &out)
		}
	}
}

// Where there is no room for columns the rows of tables are lists: a terminal breaks no line but of
// a command's own long words.
func TestTablesOnANarrowTerminal(t *testing.T) {
	for _, width := range []int{71, 60, 40, 32} {
		got := text(t, withManySkipped(), Options{Width: width, All: true, Explain: true})
		tooWide(t, got, width)
		flat := strings.Join(strings.Fields(strings.ReplaceAll(got, "·", " ")), " ")
		for _, c := range exampleRun().Cells {
			if c.Ratio != nil && !isBest(&c) && !strings.Contains(flat, c.Name()+" "+duration(c.NS.Mid)+" ") {
				t.Errorf("%d columns: no time of %s at %s %s", width, c.Name(), c.Workload, c.Operation)
			}
		}
	}
}

// tooWide fails for lines that a terminal would break, but for those of one long word.
func tooWide(t *testing.T, text string, width int) {
	t.Helper()
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		word := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSpace(l), ` \`), "--engines ")
		if got := lipgloss.Width(l); got > width && strings.Contains(word, " ") {
			t.Errorf("at %d columns a line has %d: %q", width, got, l)
		}
	}
}

// A comparison of two runs, or of two contenders, fits the page as every table does.
func TestComparisonsFitThePage(t *testing.T) {
	old, now := exampleRun(), exampleRun()
	for _, run := range []*result.Run{old, now} {
		for i := range run.Cells {
			c := &run.Cells[i]
			if c.Workload == "events" {
				c.Params, c.Operation = "data=1024&index=stream", "append_parallel_"+c.Operation
			}
		}
		stats.Finish(run)
	}
	c := &result.Comparison{Old: "results/main", New: "results/branch", Changes: stats.Changes(old, now, "")}
	c.Wholes = stats.Wholes(c.Changes)
	for _, width := range []int{32, 40, 60, 72, 80, 100, 120, 200} {
		var b strings.Builder
		if err := Comparison(&b, c, old, now, true, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2]string{{"sqlite@synced", "sqlite@flushed"}, {"bbolt", "sqlite"}} {
			one, err := stats.ParseContender(pair[0])
			other, err2 := stats.ParseContender(pair[1])
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if some, err := Versus(&b, old, one, other, Options{Width: width}); err != nil || !some {
				t.Fatal(some, err)
			}
		}
		tooWide(t, b.String(), width)
		flat := strings.Join(strings.Fields(b.String()), " ")
		for _, name := range []string{"events?data=1024&index=stream append_parallel_append100", "hook put"} {
			if !strings.Contains(flat, name) {
				t.Errorf("at %d columns %s is missing", width, name)
			}
		}
	}
}

// A class that the run has not is told with those that it has.
func TestAClassThatWasNotMeasuredIsToldWithThoseThatWere(t *testing.T) {
	b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{}}
	b.cell("hook", "put", "bbolt", syncedProved, 1000, 20)
	b.cell("hook", "put", "sqlite", syncedProved, 3000, 20)
	stats.Finish(b.run)
	got := text(t, b.run, Options{Class: "buffered", Width: 100})
	want := "Nothing was measured at buffered, only at synced → assay run --durability buffered"
	if !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// The commands that are printed are of the program that made the run: another one may not know its
// engines and workloads. They name the proof that it had.
func TestWhatIsToBeTypedIsOfTheProgramThatMadeTheRun(t *testing.T) {
	run := newcomer()
	run.Command = []string{"/home/me/ownassay", "run", "--proof", "mine"}
	got := text(t, run, Options{Width: 200})
	for _, want := range []string{"→ ownassay run ", " --proof mine --budget ", "More: ownassay report --all"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(strings.ReplaceAll(got, "ownassay ", ""), "assay run") {
		t.Errorf("a command of another program in\n%s", got)
	}
}

// What the run's document says is open is what its last screen says, and as much as has the mark.
func TestWhatIsOpenIsCountedOnce(t *testing.T) {
	run := exampleRun()
	for i := range run.Cells {
		for j := range run.Cells[i].Samples {
			run.Cells[i].Samples[j].NS *= 1 + 0.7*float64((j*(i+3))%5)/5
		}
	}
	stats.Finish(run)
	m := regexp.MustCompile(`(\d+) of (\d+) comparisons are open`).FindStringSubmatch(run.Warnings[len(run.Warnings)-1].Text)
	if m == nil || m[1] == "0" {
		t.Fatalf("nothing is open: %+v", run.Warnings)
	}
	for _, o := range []Options{{Height: 200}, {Height: 200, All: true}} {
		got := text(t, run, o)
		if !strings.Contains(got, "Open: "+m[1]+" of "+m[2]+" comparisons") || strings.Count(got, " comparisons") != 1 {
			t.Errorf("the document has %s, the screen is\n%s", m[0], got)
		}
	}
	screen := text(t, run, Options{Height: 200})
	screen, _, _ = strings.Cut(screen, "\n● fastest")
	if marks := strings.Count(screen, "~"); fmt.Sprint(marks) != m[1] {
		t.Errorf("%d marks, the document has %s open:\n%s", marks, m[1], screen)
	}
}
