package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/assaydb/assay/lab/result"
	"github.com/assaydb/assay/lab/stats"
)

// Facts are what is known of an engine without measuring it.
type Facts struct {
	Shared bool // several processes may write to a store
	File   bool // a store is one file, not a folder
	SQL    bool // its files can be queried with SQL
	PureGo bool
}

// adoption is how a program of one kind takes an engine.
type adoption struct {
	kind, pkg, symbol, code string
}

// adoptions are those of the workloads that come with assay.
var adoptions = map[string]adoption{
	"hook":    {"a short-lived command", "stores/state", "New", `state.New(%q, options)`},
	"events":  {"an event store", "stores/eventlog", "Open", `kv.Open(ctx, %q); eventlog.Open(ctx, db, nil)`},
	"feed":    {"a message log", "stores/eventlog/feed", "Open", `kv.Open(ctx, %q); feed.Open(ctx, db, nil)`},
	"queue":   {"a job queue", "stores/queue", "New", `kv.Open(ctx, %q); queue.New(db, nil)`},
	"records": {"typed records", "stores/record", "Open", `kv.Open(ctx, %q); record.Open[T](ctx, db, nil)`},
	"ycsb":    {"keys and values", "kv", "Open", `kv.Open(ctx, %q)`},
}

// inTables are the adoptions of workloads that have a form in SQLite's own tables.
var inTables = map[string]adoption{
	"events": {"an event store", "stores/eventlog/sqllog", "Open", `sqllog.Open(ctx, %q, nil)`},
	"queue":  {"a job queue", "stores/queue/sqlqueue", "Open", `sqlqueue.Open(ctx, %q, nil)`},
}

// module is the path in front of the packages of adoptions.
const module = "github.com/assaydb/assay/"

// choice is what a matrix says of the engine that is best on the whole.
type choice struct {
	engine, next  string
	sure          []string // operations at which it is the fastest for sure
	level         []string // operations at which it and another one take equally long, and no other less
	equals        []string // engines that do so at every operation
	undecided     []string
	leads, behind []string // by how much
	tables        int      // operations whose figure is of SQLite's own tables
	without       []string // operations of which it has no figure
	why           string   // of the first of them
}

// choose returns what m says of its first engine.
func choose(m matrix) choice {
	c := choice{engine: m.engines[0]}
	for _, e := range slices.Backward(m.engines[1:]) {
		if slices.ContainsFunc(m.races, func(r race) bool { return r.standing(r.of(e)) > failed }) {
			c.next = e
		}
	}
	c.equals = slices.Clone(m.engines[1:])
	for _, r := range m.races {
		x := r.of(c.engine)
		if x != nil && x.cell.Form == "sql" {
			c.tables++
		}
		equals := r.equals(c.engine)
		c.equals = slices.DeleteFunc(c.equals, func(e string) bool { return !slices.Contains(equals, e) })
		op := r.operation()
		switch s := r.standing(x); s {
		case fastest, leads, alone:
			switch {
			case s == fastest:
				c.sure = append(c.sure, op)
			case s == leads && !r.undecided() && r.complete():
				c.level = append(c.level, op+" ("+strings.Join(equals, ", ")+")")
			case s == leads:
				c.undecided = append(c.undecided, op)
			}
			c.leads = append(c.leads, op+" "+brief(x.cell.NS.Mid)+r.nextText(c.engine))
		case equivalent:
			c.level = append(c.level, op+" ("+strings.Join(equals, ", ")+")")
			c.leads = append(c.leads, op+" "+brief(x.cell.NS.Mid))
		case open:
			c.undecided = append(c.undecided, op)
		case slower, behind:
			c.behind = append(c.behind, fmt.Sprintf("%s %s than %s", op, interval(x.cell.Ratio), x.cell.Ratio.To))
		default:
			if x != nil && c.without == nil {
				c.why = oneLine(x.cell.Error)
			}
			c.without = append(c.without, op)
		}
	}
	return c
}

// operation names a race within its workload: "claim?backlog=1k".
func (r race) operation() string {
	name, op, _ := strings.Cut(r.label, " ")
	if _, params, several := strings.Cut(name, "?"); several {
		op += "?" + params
	}
	return op
}

// lead tells who leads a race, and by how much: "append1: bunt 326µs, pebble 1.07x [0.97–1.20]"; ""
// if nobody does. Of the next engine it has the form that the matrix shows, which may be the open
// one.
func (r race) lead() string {
	for i := range r.rows {
		x := &r.rows[i]
		if s := r.standing(x); s != fastest && s != leads {
			continue
		}
		text := r.operation() + ": " + x.cell.Name() + " " + brief(x.cell.NS.Mid)
		if next := r.next(x.cell.Engine); next != nil {
			text += withRatio(r.of(next.Engine).cell)
		}
		return text
	}
	return ""
}

// equals returns the engines that take as long as engine, if that is the fastest or takes as long
// as the fastest itself: it is then the fastest alone that it was compared with.
func (r race) equals(engine string) (all []string) {
	mine := r.standing(r.of(engine))
	for _, x := range r.rows {
		e, its := x.cell.Engine, r.standing(&x)
		if e != engine && !slices.Contains(all, e) &&
			(mine == leads && its == equivalent || mine == equivalent && isBest(x.cell)) {
			all = append(all, e)
		}
	}
	return all
}

// complete reports whether no contender was skipped.
func (r race) complete() bool {
	return !slices.ContainsFunc(r.rivals(), func(x row) bool { return x.cell.Status == result.Skipped })
}

// nextText tells of the best of the other engines in a race that engine leads: ", sqlite 3.6x
// [3.4–3.7]".
func (r race) nextText(engine string) string {
	if next := r.next(engine); next != nil {
		return withRatio(next)
	}
	return ""
}

// next returns the best of the other engines' cells that has a ratio, or nil.
func (r race) next(engine string) *result.Cell {
	for _, x := range r.rows {
		if x.cell.Engine != engine && x.cell.Ratio != nil && !x.few {
			return x.cell
		}
	}
	return nil
}

func withRatio(c *result.Cell) string {
	if c.Ratio == nil {
		return ""
	}
	return ", " + c.Name() + " " + interval(c.Ratio)
}

func interval(r *result.Ratio) string {
	return fmt.Sprintf("%sx [%s–%s]", times(r.Mid), times(r.Lo), times(r.Hi))
}

// verdict returns the headline, and whether it is a pick.
func (c choice) verdict() (text string, picked bool) {
	decided := len(c.sure) + len(c.level)
	all := decided + len(c.undecided) + len(c.behind)
	switch {
	case c.next == "":
		return "only " + c.engine + " was measured, nothing to pick from", false
	case all == 0 || decided == 0 && len(c.undecided) > 0 || 2*len(c.undecided) > all:
		return fmt.Sprintf("no pick yet, %s or %s: open at %d of %d", c.engine, c.next, len(c.undecided), all), false
	case decided < all || len(c.without) > 0:
		return c.engine + ", on the whole", true
	case len(c.equals) > 0:
		return fmt.Sprintf("%s or %s, told apart by less than %.0f %%", c.engine, strings.Join(c.equals, " or "),
			100*stats.Margin), true
	case len(c.level) > 0:
		return c.engine + ", at least as fast as all others", true
	}
	return c.engine + ", for sure", true
}

// advice is which engine a run of one workload is for, in words.
type advice struct {
	kind, promise string // of program: "a job queue"; "synced", of reads alone ""
	text          string // the engine, and how sure that is
	picked        bool   // text names one, and notes tell of it
	choice        choice
	leads         []string // who leads at which operation, by how much
	notes         []adviceNote
}

// adviceNote is a few things to know of what was picked: by how much, at what not, at which price.
type adviceNote struct {
	label string
	items []string
	warn  bool
}

// advise returns what a matrix of one workload says; false if that is nothing.
func (p *page) advise(run *result.Run, workload string, m matrix, room density) (advice, bool) {
	if len(m.engines) == 0 || m.promise.Proof == result.Disproved {
		return advice{}, false
	}
	a, known := adoptions[workload]
	if !known {
		a = adoptions["ycsb"]
		a.kind = workload
	}
	said := advice{kind: a.kind, choice: choose(m)}
	for _, r := range m.races {
		said.leads = append(said.leads, r.lead())
	}
	said.leads = nonEmpty(said.leads)
	c := said.choice
	said.text, said.picked = c.verdict()
	if m.promise.Delivered != "read" {
		said.promise = m.promise.Delivered
	}
	if !said.picked {
		return said, true
	}
	said.add("for sure at ", c.sure, 6)
	said.add("as fast as another at ", c.level, 6)
	said.add("", c.leads, 4)
	said.add("slower at ", c.behind, 3)
	said.add("open at ", c.undecided, 6)
	if len(c.without) > 0 {
		said.add("not with "+c.engine+": ", []string{some(c.without) + ": " + c.why}, 1)
	}
	if trade := p.trade(run, c); trade != "" {
		said.add("against "+c.next+": ", []string{trade}, 1)
	}
	if m.promise.Delivered != "read" {
		said.notes = append(said.notes, p.proofOfPick(run, c.engine, m.promise)...)
	}
	place := urlWithPath(run, c.engine)
	if t, ok := inTables[workload]; ok && 2*c.tables > len(m.races) {
		a, place = t, "app.db"
	}
	adopt := "go doc " + module + a.pkg
	if room < dense {
		adopt += fmt.Sprintf(" · "+a.code, place)
	}
	said.add("adopt: ", []string{adopt}, 1)
	return said, true
}

// add adds a list, of many things the number of the rest.
func (a *advice) add(label string, items []string, most int) {
	if len(items) == 0 {
		return
	}
	if len(items) > most {
		items = append(slices.Clone(items[:most]), fmt.Sprintf("%d more", len(items)-most))
	}
	a.notes = append(a.notes, adviceNote{label: label, items: items})
}

// advices returns what a run says of each of its workloads, in the order in which they ran.
func (p *page) advices(run *result.Run, room density) (all []advice) {
	for _, name := range workloadNames(run.Cells) {
		part := *run
		part.Cells = slices.DeleteFunc(slices.Clone(run.Cells), func(c result.Cell) bool { return c.Workload != name })
		if own := matrices(&part); len(own) > 0 {
			if a, ok := p.advise(&part, name, own[0], room); ok {
				all = append(all, a)
			}
		}
	}
	return all
}

// workloadNames returns the workloads of cells, in the order in which they ran.
func workloadNames(cells []result.Cell) []string {
	var names []string
	for _, c := range cells {
		if !slices.Contains(names, c.Workload) {
			names = append(names, c.Workload)
		}
	}
	return names
}

// picks prints which engine each workload of a run is for. Of a run of one workload it says also by
// how much, how sure that is, and how to take it; of several, at which promise, if that is another
// one than of the first matrix.
func (p *page) picks(run *result.Run, first matrix, room density) {
	all := p.advices(run, room)
	if len(workloadNames(run.Cells)) > 1 {
		var items []string
		for _, a := range all {
			subject := a.kind
			if a.promise != first.promise.Delivered {
				subject = a.subject()
			}
			items = append(items, subject+": "+a.text)
		}
		if len(items) > 0 && room < tight {
			p.list("For ", p.styles.title, items, p.styles.plain)
		}
		return
	}
	for _, a := range all {
		p.pick(a)
	}
}

// pick prints all that is known of a pick.
func (p *page) pick(a advice) {
	style := p.styles.best
	if !a.picked {
		style = p.styles.warn
	}
	p.paragraph("For "+a.subject()+": ", p.styles.title, a.text, style)
	for _, n := range a.notes {
		label := p.styles.dim
		if n.warn {
			label = p.styles.warn
		}
		p.list("  "+n.label, label, n.items, p.styles.plain)
	}
}

// subject returns "a job queue, synced".
func (a advice) subject() string {
	if a.promise == "" {
		return a.kind
	}
	return a.kind + ", " + a.promise
}

// trade returns what the pick costs and brings beside the next engine: what is known of both, and
// what was measured.
func (p *page) trade(run *result.Run, c choice) string {
	var up, gain []string
	say := func(mine, its bool, what string) {
		switch {
		case mine && !its:
			gain = append(gain, what)
		case its && !mine:
			up = append(up, what)
		}
	}
	if known := p.options.Facts; known != nil {
		mine, its := known(scheme(run, c.engine)), known(scheme(run, c.next))
		say(mine.Shared, its.Shared, "several processes at once")
		say(mine.SQL, its.SQL, "SQL on its file")
		say(mine.File, its.File, "one file")
		say(mine.PureGo, its.PureGo, "pure Go")
	}
	for _, f := range []struct {
		what string
		of   func(*result.Cell) *int64
	}{{"memory", func(c *result.Cell) *int64 { return c.RSS }}, {"space", storeSize}} {
		switch r := typical(run, c.engine, c.next, f.of); {
		case r == 0:
		case r <= 0.67:
			gain = append(gain, times(1/r)+"x less "+f.what)
		case r >= 1.5:
			up = append(up, times(r)+"x the "+f.what)
		}
	}
	var parts []string
	if len(up) > 0 {
		parts = append(parts, "you give up "+strings.Join(up, ", "))
	}
	if len(gain) > 0 {
		parts = append(parts, "you gain "+strings.Join(gain, ", "))
	}
	return strings.Join(parts, "; ")
}

// typical returns the middle of the ratios of a figure of two engines, over the operations that
// both have it of; 0 if none.
func typical(run *result.Run, one, other string, of func(*result.Cell) *int64) float64 {
	figures := map[string]map[string]float64{one: {}, other: {}}
	for i := range run.Cells {
		c := &run.Cells[i]
		if v := of(c); figures[c.Engine] != nil && v != nil && *v > 0 {
			figures[c.Engine][work(c)+c.Form+c.Promise.Label()] = float64(*v)
		}
	}
	var logs []float64
	for key, v := range figures[one] {
		if w := figures[other][key]; w > 0 {
			logs = append(logs, math.Log(v/w))
		}
	}
	if len(logs) == 0 {
		return 0
	}
	slices.Sort(logs)
	return math.Exp(logs[len(logs)/2])
}

func storeSize(c *result.Cell) *int64 {
	if c.Size == nil {
		return nil
	}
	return c.Size.Churned
}

// proofOfPick tells whether the promise of the pick was proved.
func (p *page) proofOfPick(run *result.Run, engine string, promise result.Promise) []adviceNote {
	for _, c := range run.Cells {
		if c.Engine != engine || c.Promise.Label() != promise.Label() {
			continue
		}
		switch {
		case c.Promise.Proof == result.Proved && c.Promise.Images > 0:
			return []adviceNote{{label: "proved: ", items: []string{fmt.Sprintf("kept in all of %s crashes (%s engines --proof)", Grouped(c.Promise.Images), p.options.program)}}}
		case c.Promise.Proof != result.Proved:
			command := p.options.program + " prove --engines " + quote(engineSpecs(p.options.flags, []string{engine})[0])
			return []adviceNote{{label: c.Promise.Proof + ": ", items: []string{command}, warn: true}}
		}
		return nil
	}
	return nil
}

// scheme returns what the URLs of an engine of the run begin with.
func scheme(run *result.Run, engine string) string {
	name, _, _ := strings.Cut(urlOf(run, engine), ":")
	return name
}

func urlOf(run *result.Run, engine string) string {
	for _, c := range run.Cells {
		if c.Engine == engine && c.URL != "" {
			return c.URL
		}
	}
	return engine + ":"
}

// urlWithPath returns the URL with which a program opens a store of an engine of the run:
// "bbolt:app.db".
func urlWithPath(run *result.Run, engine string) string {
	name, options, _ := strings.Cut(urlOf(run, engine), ":")
	return name + ":app.db" + options
}
