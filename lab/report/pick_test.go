package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// hookRun is a finished run of one workload: bbolt leads almost everywhere, one operation it lost,
// one it does not have.
func hookRun() *result.Run {
	b := builder{rand.New(rand.NewPCG(7, 7)), exampleRun()}
	b.run.Cells, b.run.Command = nil, []string{"assay", "run", "hook", "--durability", "synced"}
	proved := syncedProved
	proved.Images = 355
	reads := result.Promise{Delivered: "read"}
	for i, engine := range []string{"bbolt", "sqlite", "pebble"} {
		slow := float64(1 + 3*i)
		b.cell("hook", "put", engine, proved, 630_000*slow, 20)
		b.cell("hook", "get", engine, reads, 31_000*slow*slow, 20)
		b.cell("hook", "scan20", engine, reads, 44_000*slow, 20)
		b.cell("hook", "get_shared_14", engine, reads, 2_000-300*float64(i), 20)
		b.fail("hook", "delete_stale", engine, proved, result.Skipped, "no time was left for it", "")
		if engine == "sqlite" {
			b.cell("hook", "processes_14", engine, proved, 9_000_000, 20)
		} else {
			b.fail("hook", "processes_14", engine, proved, result.Skipped, "one process alone may have the store open",
				"")
		}
	}
	for i := range b.run.Cells {
		b.run.Cells[i].URL = b.run.Cells[i].Engine + ":"
	}
	stats.Finish(b.run)
	return b.run
}

func TestAWorkloadEndsWithItsPick(t *testing.T) {
	known := map[string]Facts{"bbolt": {File: true, PureGo: true},
		"sqlite": {File: true, PureGo: true, SQL: true, Shared: true}, "pebble": {PureGo: true}}
	o := Options{Height: 24, Facts: func(engine string) Facts { return known[engine] }}
	got := text(t, hookRun(), o)
	golden(t, "pick80.golden", got)
	for _, want := range []string{
		"For a short-lived command, synced: bbolt, on the whole", "for sure at put · get · scan20 put 63",
		"slower at get_shared_14", "not with bbolt: processes_14: one process alone",
		"you give up several processes at once, SQL on its file",
		"proved: kept in all of 355 crashes", "adopt: go doc github.com/assaydb/assay/stores/state",
		"Not measured: hook delete_stale → assay run hook/delete_stale",
	} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	_, answer, _ := strings.Cut(got, "\n\n")
	if n := strings.Count(answer, "\n"); n >= 24 {
		t.Errorf("the answer has %d lines", n)
	}
	if got := text(t, hookRun(), Options{}); !strings.Contains(got, `state.New("bbolt:app.db", options)`) {
		t.Errorf("no code where there is room for it:\n%s", got)
	}
}

// TestAPickIsTheFastestSomewhere has an engine that is slower at one operation, and of which nobody
// knows at the other.
func TestAPickIsTheFastestSomewhere(t *testing.T) {
	c := choice{engine: "pebble", next: "bunt", undecided: []string{"append1"}, behind: []string{"read100 1.8x than bbolt"}}
	if text, picked := c.verdict(); picked || text != "no pick yet, pebble or bunt: open at 1 of 2" {
		t.Errorf("%q, picked %v", text, picked)
	}
	c.sure = []string{"append100"}
	if text, picked := c.verdict(); !picked || text != "pebble, on the whole" {
		t.Errorf("of one that is the fastest somewhere: %q, picked %v", text, picked)
	}
}

// Nothing is picked that is not decided, that has no rival, or whose promise was seen broken.
func TestNoPickWithoutReason(t *testing.T) {
	promise := func(proof string) result.Promise {
		return result.Promise{Delivered: "synced", Intact: true, Proof: proof}
	}
	for name, c := range map[string]struct {
		proof   string
		engines []string
		rounds  int
		want    string
	}{
		"open":      {result.Proved, []string{"a", "b"}, 3, "no pick yet"},
		"alone":     {result.Proved, []string{"a"}, 20, "only a was measured"},
		"disproved": {result.Disproved, []string{"a", "b"}, 20, ""},
		"unproved":  {result.Unproved, []string{"a", "b"}, 20, "unproved: assay prove --engines a"},
	} {
		b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{}}
		for i, engine := range c.engines {
			b.cell("queue", "cycle", engine, promise(c.proof), float64(1000*(1+i)), c.rounds)
		}
		stats.Finish(b.run)
		got := text(t, b.run, Options{})
		if c.want == "" && strings.Contains(got, "For a job queue") || !strings.Contains(got, c.want) ||
			strings.Contains(got, "adopt") != (name == "unproved") {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

// Nothing is the pick for sure where another engine takes as long: the words say which, and where.
func TestAPickThatIsEquivalentToAnotherSaysSo(t *testing.T) {
	const get, cycle = 2000, 300_000
	for name, c := range map[string]struct {
		cycle, get map[string]float64
		want, not  []string
	}{
		"at everything": {
			map[string]float64{"a": cycle, "b": cycle * 1.01, "c": 2 * cycle},
			map[string]float64{"a": get, "b": get, "c": 3 * get},
			[]string{"synced: a or b, told apart by less than 10 %", "as fast as another at cycle (b)"},
			[]string{"for sure"},
		},
		"at one of two": {
			map[string]float64{"a": cycle, "b": cycle * 1.01, "c": 2 * cycle},
			map[string]float64{"a": get, "b": 2 * get, "c": 3 * get},
			[]string{"synced: a, at least as fast as all others", "for sure at get", "as fast as another at cycle (b)"},
			[]string{"a, for sure"},
		},
		"at none": {
			map[string]float64{"a": cycle, "b": cycle * 3, "c": 2 * cycle},
			map[string]float64{"a": get, "b": 2 * get, "c": 3 * get},
			[]string{"synced: a, for sure", "for sure at cycle · get"},
			[]string{"as fast as"},
		},
	} {
		b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{}}
		for _, engine := range []string{"a", "b", "c"} {
			b.cell("queue", "cycle", engine, result.Promise{Delivered: "synced", Intact: true, Proof: result.Proved},
				c.cycle[engine], 60)
			b.cell("queue", "get", engine, result.Promise{Delivered: "read"}, c.get[engine], 60)
		}
		stats.Finish(b.run)
		got := strings.Join(strings.Fields(text(t, b.run, Options{})), " ")
		_, got, _ = strings.Cut(got, "For a job queue")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
		for _, not := range c.not {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q in\n%s", name, not, got)
			}
		}
	}
}

// A run of several workloads says which engine each is for, at which promise if not at that of the
// matrix above, and leaves that out where the terminal has no line for it.
func TestSeveralWorkloadsHaveAPickEach(t *testing.T) {
	b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{}}
	flushed := result.Promise{Delivered: "flushed", Intact: true, Proof: result.Proved}
	for i, engine := range []string{"a", "b"} {
		b.cell("hook", "put", engine, syncedProved, float64(1000*(1+i)), 60)
		b.cell("queue", "cycle", engine, syncedProved, float64(1000*(2-i)), 60)
		b.cell("feed", "append", engine, flushed, float64(1000*(1+i)), 60)
	}
	stats.Finish(b.run)
	for height, want := range map[int]bool{0: true, 40: true, 10: false} {
		got := text(t, b.run, Options{Height: height})
		const line = "For a short-lived command: a, for sure · a job queue: b, for sure\n" +
			"    a message log, flushed: a, for sure\n"
		if strings.Contains(got, line) != want || !strings.Contains(got, "● fastest, 95 % sure") {
			t.Errorf("%d lines: got\n%s", height, got)
		}
	}
}

// Who is picked for what its tables do is taken with its tables.
func TestAPickOfTablesIsTakenAsTables(t *testing.T) {
	for form, want := range map[string]string{
		"":    `stores/queue · kv.Open(ctx, "a:app.db"); queue.New(db, nil)`,
		"sql": `stores/queue/sqlqueue · sqlqueue.Open(ctx, "app.db", nil)`,
	} {
		b := builder{rand.New(rand.NewPCG(7, 7)), &result.Run{}}
		for i, engine := range []string{"a", "b"} {
			b.cell("queue", "cycle", engine, result.Promise{Delivered: "synced", Intact: true, Proof: result.Proved},
				float64(1+2*i)*300_000, 60)
			b.run.Cells[i].Form = form
		}
		stats.Finish(b.run)
		if got := strings.Join(strings.Fields(text(t, b.run, Options{})), " "); !strings.Contains(got, want) {
			t.Errorf("form %q: no %q in\n%s", form, want, got)
		}
	}
}

// What the pick says to read and to call is there.
func TestAdoptionsExist(t *testing.T) {
	for _, a := range slices.Concat(slices.Collect(maps.Values(adoptions)), slices.Collect(maps.Values(inTables))) {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(a.pkg), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			source, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range source.Decls {
				f, ok := d.(*ast.FuncDecl)
				found = found || ok && f.Recv == nil && f.Name.Name == a.symbol
			}
		}
		if call := path.Base(a.pkg) + "." + a.symbol; !found || !strings.Contains(a.code, call) {
			t.Errorf("%s has no %s, or it is not what is called: %s", a.pkg, a.symbol, a.code)
		}
	}
}

func TestAPickNamesWhatItIsOpenAtWithItsParameters(t *testing.T) {
	run := growingRun()
	p := &page{width: 200}
	all := matrices(run)
	p.forms = formsOf(all)
	var said []string
	for _, a := range p.advices(run, airy) {
		for _, n := range a.notes {
			said = append(said, n.items...)
		}
	}
	for _, want := range []string{"C?records=10k&value=100 ", "C?records=10M&value=100 "} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("nothing is said of %s:\n%s", want, strings.Join(said, "\n"))
		}
	}
}
