package advise

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/lab/result"
)

// engine returns one in a file, in Go, that keeps all promises.
func engine(name string, change ...func(*Engine)) Engine {
	e := Engine{Name: name, Argument: name, URL: name + ":", Package: "example.com/" + name,
		Caps: kv.Caps{Persistent: true, PureGo: true,
			Modes: []kv.Mode{kv.Exclusive}}}
	for d := range e.Caps.Promises {
		e.Caps.Promises[d] = kv.Promise{Supported: true, Class: kv.Durability(d), Intact: true, KillAtomic: true,
			PowerAtomic: true}
		e.Promises[d] = result.Promise{Delivered: kv.Durability(d).String(), Proof: result.Proved, Images: 9}
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

// measuredAt returns a cell of an operation at a class, with a figure that hardly varies.
func measuredAt(name, operation, class string, ns float64, change ...func(*result.Cell)) result.Cell {
	rss, open := int64(40e6), int64(100e3)
	c := result.Cell{Workload: "w", Operation: operation, Engine: name, Ranked: true, Status: result.OK, RSS: &rss,
		Open: &open,
		NS:   &result.Interval{Lo: ns, Mid: ns, Hi: ns}, Promise: result.Promise{Requested: class, Delivered: class,
			Intact: true, Proof: result.Proved, Images: 9}}
	for i := range 30 {
		c.Samples = append(c.Samples, result.Sample{Round: i, N: 1000, NS: ns * (1 + 0.01*float64(i%3))})
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func proof(verdict string) func(*result.Cell) {
	return func(c *result.Cell) { c.Promise.Proof = verdict }
}

var put = Needs{Work: []Work{{Workload: "w", Operation: "put", Weight: 1}}}

func TestTheFastestIsThePickAndTheNextTheRunnerUp(t *testing.T) {
	run := &result.Run{Cells: []result.Cell{measuredAt("slow", "put", "synced", 300),
		measuredAt("fast", "put", "synced", 100),
		measuredAt("middle", "put", "synced", 200)}}
	a := Advise(put, []Engine{engine("slow"), engine("middle"), engine("fast")}, run)
	if a.Pick == nil || a.Pick.Name != "fast" || a.Others[0].Name != "middle" || a.Sure != Sure {
		t.Fatalf("got %+v", a)
	}
	if !strings.HasPrefix(a.Why, "the next, middle, takes 2.00x [") || a.Next != "" {
		t.Errorf("why %q, next %q", a.Why, a.Next)
	}
}

// Weights are how often an operation is done: what is rare and slow may cost less than what is
// frequent and fast.
func TestTheTimeOfTheWorkIsTheSumOfItsOperations(t *testing.T) {
	run := &result.Run{Cells: []result.Cell{
		measuredAt("a", "put", "synced", 1000), measuredAt("b", "put", "synced", 4000),
		measuredAt("a", "get", "read", 50), measuredAt("b", "get", "read", 10),
	}}
	work := func(gets float64) Needs {
		return Needs{Work: []Work{{Workload: "w", Operation: "put", Weight: 1},
			{Workload: "w", Operation: "get", Weight: gets}}}
	}
	for gets, want := range map[float64]struct {
		pick  string
		ratio float64
	}{1: {"a", 4010.0 / 1050}, 1000: {"b", 51000.0 / 14000}} {
		a := Advise(work(gets), []Engine{engine("a"), engine("b")}, run)
		r := a.Others[0].Ratio
		if a.Pick.Name != want.pick || math.Abs(r.Mid-want.ratio) > 0.02*want.ratio ||
			!(r.Lo < r.Mid && r.Mid < r.Hi) || r.Lo < 0.7*r.Mid {
			t.Errorf("%g gets: got %s, %+v, want %s, %.2f", gets, a.Pick.Name, r, want.pick, want.ratio)
		}
		if !slices.ContainsFunc(a.Otherwise, func(s string) bool { return strings.Contains(s, "counted most: ") }) {
			t.Errorf("%g gets: otherwise %q", gets, a.Otherwise)
		}
	}
}

func TestWhatWasDisprovedIsNeverRecommended(t *testing.T) {
	now := engine("broken", func(e *Engine) { e.Promises[kv.Synced].Proof = result.Disproved })
	run := &result.Run{Cells: []result.Cell{measuredAt("broken", "put", "synced", 1),
		measuredAt("whole", "put", "synced", 100)}}
	then := &result.Run{Cells: []result.Cell{measuredAt("broken", "put", "synced", 1, proof(result.Disproved)),
		run.Cells[1]}}
	for name, a := range map[string]*Advice{
		"seen when it was measured": Advise(put, []Engine{engine("broken"), engine("whole")}, then),
		"seen since":                Advise(put, []Engine{now, engine("whole")}, run),
	} {
		if a.Pick == nil || a.Pick.Name != "whole" || len(a.Others) != 0 || a.Sure != Alone {
			t.Errorf("%s: got %+v", name, a)
		}
		if len(a.Removed) != 1 || !strings.Contains(a.Removed[0].Reasons[0].Text, "broken") || len(a.Otherwise) != 0 {
			t.Errorf("%s: removed %+v, otherwise %q", name, a.Removed, a.Otherwise)
		}
	}
	if a := Advise(put, []Engine{now}, run); a.Pick != nil || len(a.Relax) != 0 {
		t.Errorf("alone: got %+v", a)
	}
}

func TestOfTwoThatAreNotToldApartTheProvedOneIsThePick(t *testing.T) {
	run := &result.Run{Cells: []result.Cell{measuredAt("believed", "put", "synced", 100, proof(result.Unproved)),
		measuredAt("tried", "put", "synced", 100.1)}}
	a := Advise(put, []Engine{engine("believed"), engine("tried")}, run)
	if a.Pick.Name != "tried" || !strings.Contains(a.Why, "tried is preferred to believed") || a.Sure != Equivalent {
		t.Errorf("got %s, %s: %s", a.Pick.Name, a.Sure, a.Why)
	}
	run.Cells[1] = measuredAt("tried", "put", "synced", 200)
	if a := Advise(put, []Engine{engine("believed"), engine("tried")}, run); a.Pick.Name != "believed" {
		t.Errorf("twice as slow: got %s", a.Pick.Name)
	}
}

func TestWhatIsOpenIsSaidWithTheCommandThatTellsMore(t *testing.T) {
	noisy := func(c *result.Cell) {
		for i := range c.Samples {
			c.Samples[i].NS *= 1 + 2*float64((i*7)%5)
		}
	}
	run := &result.Run{Cells: []result.Cell{measuredAt("a", "put", "synced", 100),
		measuredAt("b", "put", "synced", 25, noisy)}}
	a := Advise(put, []Engine{engine("a"), engine("b", func(e *Engine) { e.Argument = "b=mine:?x=1" })}, run)
	if a.Sure != Open || !strings.Contains(a.Next, "assay run 'w/put' --engines") ||
		!strings.Contains(a.Next, "b=mine:?x=1") {
		t.Errorf("got %s, %q", a.Sure, a.Next)
	}
}

func rounds(from, to int) func(*result.Cell) {
	return func(c *result.Cell) { c.Samples = c.Samples[from:to] }
}

// Four rounds show no difference, however far apart they are: neither a ranking nor what would be
// otherwise may rest on them.
func TestTooFewRoundsDecideNothing(t *testing.T) {
	run := &result.Run{Cells: []result.Cell{measuredAt("a", "put", "synced", 100, rounds(0, 4)),
		measuredAt("b", "put", "synced", 300, rounds(0, 4)), measuredAt("folder", "put", "synced", 20, rounds(0, 4)),
		measuredAt("a", "put", "flushed", 10, rounds(0, 4))}}
	n := put
	n.File = true
	a := Advise(n, []Engine{engine("a"), engine("b"), engine("folder", func(e *Engine) { e.Caps.Folder = true })}, run)
	if a.Pick.Name != "a" || a.Sure != Open || len(a.Otherwise) != 0 {
		t.Errorf("got %s, %s, otherwise %q", a.Pick.Name, a.Sure, a.Otherwise)
	}
	if o := a.Others[0]; o.Is != Open || !o.Few ||
		!strings.HasSuffix(a.Why, "b, which takes 3.00x (too few rounds) the time") {
		t.Errorf("got %+v, why %q", o, a.Why)
	}
}

// b takes longer in the ten rounds that both have, and less in all of its own, as where the machine
// was slow for a while. The tables call that open, and so does the advice.
func TestWhatAllRoundsContradictIsOpen(t *testing.T) {
	b := measuredAt("b", "put", "synced", 150)
	for i := range b.Samples[10:] {
		b.Samples[10+i].NS = 20
	}
	run := &result.Run{Cells: []result.Cell{measuredAt("a", "put", "synced", 100, rounds(0, 10)), b}}
	a := Advise(put, []Engine{engine("a"), engine("b")}, run)
	if o := a.Others[0]; a.Pick.Name != "a" || !(o.Ratio.Lo > 1) || o.Is != Open || a.Sure != Open {
		t.Errorf("got %s, %s beside %+v", a.Pick.Name, a.Sure, o)
	}
}

func TestEveryNeedRemovesWithItsReason(t *testing.T) {
	big := int64(9e6)
	good := engine("good", func(e *Engine) { e.Caps.Modes, e.SQL, e.Binary = []kv.Mode{kv.Shared}, true, new(int64) })
	for _, c := range []struct {
		needs Needs
		bad   func(*Engine)
		cell  func(*result.Cell)
		flag  string
		text  string
	}{
		{Needs{}, func(e *Engine) { e.Caps.Promises[0].Supported = false }, nil, "--promise synced",
			"cannot be synced"},
		{Needs{}, func(e *Engine) { e.Caps.Promises[0].KillAtomic = false }, nil, never, "part of a transaction"},
		{Needs{}, func(e *Engine) { e.Caps.Persistent = false }, nil, never, "keeps nothing"},
		{Needs{Intact: true}, func(e *Engine) { e.Caps.Promises[0].Intact = false }, nil, "--intact", "may damage"},
		{Needs{Proved: true}, func(e *Engine) { e.Promises[0].Proof = result.Unproved }, nil, "--proved",
			"assay prove --engines bad"},
		{Needs{PureGo: true}, func(e *Engine) { e.Caps.PureGo = false }, nil, "--pure-go", "needs C"},
		{Needs{Processes: 3, Held: true}, func(*Engine) {}, nil, "--held", "3 cannot"},
		{Needs{SQL: true}, func(*Engine) {}, nil, "--sql", "SQL"},
		{Needs{File: true}, func(e *Engine) { e.Caps.Folder = true }, nil, "--file", "folder"},
		{Needs{Binary: 5e6}, func(e *Engine) { e.Binary = &big }, nil, "--binary", "adds 9 MB"},
		{Needs{Memory: 5e7}, func(*Engine) {}, func(c *result.Cell) { *c.RSS = 77e6 }, "--memory", "77 MB at w/put"},
		{Needs{Open: time.Millisecond}, func(*Engine) {}, func(c *result.Cell) { *c.Open = 3e6 }, "--open",
			"3 ms to open at w/put"},
		{Needs{}, func(*Engine) {}, func(c *result.Cell) { c.Status, c.Error = result.Failed, "wrong answer" }, never,
			"wrong answer"},
		{Needs{}, func(*Engine) {}, func(c *result.Cell) { c.Status, c.Error = result.Skipped, "no keys" }, measured,
			"no keys"},
		{Needs{}, func(*Engine) {}, func(c *result.Cell) { c.Operation = "other" }, measured, "w/put was not measured"},
	} {
		c.needs.Work = put.Work
		if c.cell == nil {
			c.cell = func(*result.Cell) {}
		}
		run := &result.Run{Cells: []result.Cell{measuredAt("good", "put", "synced", 200),
			measuredAt("bad", "put", "synced", 100, c.cell)}}
		a := Advise(c.needs, []Engine{good, engine("bad", c.bad)}, run)
		if a.Pick == nil || a.Pick.Name != "good" || len(a.Removed) != 1 || len(a.Removed[0].Reasons) != 1 {
			t.Errorf("%s: got %+v, removed %+v", c.flag, a.Pick, a.Removed)
			continue
		}
		if r := a.Removed[0].Reasons[0]; r.Need != c.flag || !strings.Contains(r.Text, c.text) {
			t.Errorf("%s: got %+v, want %q", c.flag, r, c.text)
		}
		if strings.HasPrefix(c.flag, "--") && !slices.ContainsFunc(a.Otherwise,
			func(s string) bool { return strings.HasPrefix(s, "without "+c.flag+": bad, in 0.50x [") }) {
			t.Errorf("%s: otherwise %q", c.flag, a.Otherwise)
		}
		if alone := Advise(c.needs, []Engine{engine("bad", c.bad)}, run); alone.Pick != nil ||
			strings.HasPrefix(c.flag, "--") != (len(alone.Relax) == 1 &&
				slices.Equal(alone.Relax[0].Needs, []string{c.flag})) {
			t.Errorf("%s alone: relax %+v", c.flag, alone.Relax)
		}
	}
}

func TestTheSmallestSetOfNeedsIsToBeGivenUp(t *testing.T) {
	folder := func(e *Engine) { e.Caps.Folder = true }
	cgo := func(e *Engine) { e.Caps.PureGo = false }
	n := Needs{Work: put.Work, File: true, PureGo: true, SQL: true}
	a := Advise(n, []Engine{engine("a", folder), engine("b", folder, cgo), engine("c", cgo), engine("d", folder)}, nil)
	if got := fmt.Sprint(a.Relax); got != "[{[--file --sql] [a d]} {[--pure-go --sql] [c]}]" {
		t.Errorf("got %s", got)
	}
}

func TestWithoutARunNothingIsRecommended(t *testing.T) {
	for _, run := range []*result.Run{nil, {}, {Cells: []result.Cell{measuredAt("a", "put", "synced", 100,
		func(c *result.Cell) { c.Rate = 9 })}}} {
		a := Advise(put, []Engine{engine("a"), engine("b", func(e *Engine) { e.Caps.Persistent = false })}, run)
		if a.Pick != nil || len(a.Removed) != 2 || a.Removed[0].Reasons[0].Need != measured ||
			!strings.HasPrefix(a.Next, "assay run 'w/put'") {
			t.Errorf("got %+v", a)
		}
	}
}

func TestAFigureThatIsNotThereIsSaidToBeNotKnown(t *testing.T) {
	bare := func(c *result.Cell) { c.RSS, c.Open = nil, nil }
	n := Needs{Work: put.Work, Memory: 1e6, Open: 1, Binary: 1}
	a := Advise(n, []Engine{engine("a")}, &result.Run{Cells: []result.Cell{measuredAt("a", "put", "synced", 100,
		bare)}})
	if a.Pick == nil || len(a.Unknown) != 3 {
		t.Errorf("got %+v, unknown %q", a.Pick, a.Unknown)
	}
}

func TestAStrongerPromiseServesAWeakerNeed(t *testing.T) {
	n := Needs{Work: put.Work, Promise: kv.Flushed}
	run := &result.Run{Cells: []result.Cell{measuredAt("a", "put", "synced", 100),
		measuredAt("b", "put", "synced", 900),
		measuredAt("b", "put", "flushed", 50), measuredAt("b", "put", "buffered", 1)}}
	a := Advise(n, []Engine{engine("a"), engine("b")}, run)
	if a.Pick.Name != "b" || a.Pick.NS != 50 || a.Others[0].NS != 100 {
		t.Errorf("got %+v", a.Pick)
	}
	if !slices.ContainsFunc(a.Otherwise, func(s string) bool {
		return strings.HasPrefix(s,
			"if buffered commits were enough: b, in 0.02")
	}) {
		t.Errorf("otherwise %q", a.Otherwise)
	}
}

func TestGainsAndLossesAreBesideTheRunnerUp(t *testing.T) {
	run := &result.Run{Cells: []result.Cell{
		measuredAt("a", "put", "synced", 100, func(c *result.Cell) { *c.Open = 9e6 }),
		measuredAt("b", "put", "synced", 200)}}
	shared := func(e *Engine) { e.Caps.Modes = []kv.Mode{kv.Shared} }
	folder := func(e *Engine) { e.Caps.Folder = true }
	a := Advise(put, []Engine{engine("a", shared), engine("b", folder)}, run)
	gain, loss := strings.Join(a.Gain, "; "), strings.Join(a.GiveUp, "; ")
	if !strings.Contains(gain, "several processes") || !strings.Contains(gain, "one file") ||
		loss != "opening takes 9 ms instead of 100 µs" {
		t.Errorf("gain %q, give up %q", gain, loss)
	}
}

// What is known of an opening by itself is one, which may have been disturbed.
func TestAnOpeningTakesNoLongerThanAnOperationThatOpens(t *testing.T) {
	disturbed, mean := int64(1400e3), 37e3
	hook := func(c *result.Cell) { c.Workload, c.Open = "hook", &disturbed }
	for operation, want := range map[string]int64{"get": 37e3, "get_shared_14": disturbed} {
		run := &result.Run{Cells: []result.Cell{measuredAt("a", operation, "synced", mean, hook)}}
		a := Advise(Needs{Work: []Work{{Workload: "hook", Operation: operation, Weight: 1}}}, []Engine{engine("a")}, run)
		if a.Pick == nil || a.Pick.Open == nil || *a.Pick.Open != want {
			t.Errorf("%s, which takes %v: got %+v, want an opening of %d", operation, mean, a.Pick, want)
		}
	}
}
