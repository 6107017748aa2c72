package report

import (
	"fmt"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/assaydb/assay/lab/report/chart"
)

// policy forbids the page to load anything.
const policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

// document returns the whole page.
func (p *htmlPage) document() g.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content(policy)),
			h.Link(h.Rel("icon"), h.Href("data:,")), // or a browser asks for one
			h.TitleEl(g.Text(p.Title)),
			h.StyleEl(g.Raw(htmlStyle+dataColors())),
			h.NoScript(h.StyleEl(g.Raw(".filters, .screen { display: none }")))), // boxes that do nothing
		h.Body(p.verdictNodes(), p.filterNodes(),
			h.Main(p.answerNodes(), p.sectionNodes(), p.growthNodes(), p.costNodes(), p.Proof.nodes(), p.allNodes(),
				p.whereNodes()),
			h.Script(g.Raw(htmlScript)))))
}

// with returns nodes where there is something to show.
func with(some bool, nodes func() g.Node) g.Node { return g.Iff(some, nodes) }

func dim(text string) g.Node { return h.P(h.Class("dim"), g.Text(text)) }

// notes returns things to know as a list.
func notes(all []htmlNote) g.Node {
	return h.Dl(g.Map(all, func(n htmlNote) g.Node {
		return h.Div(g.If(n.Label != "", h.Dt(g.Text(n.Label+" "))),
			h.Dd(g.If(n.Warn, h.Class("open")), broken(n.Text)))
	}))
}

// broken returns text that a browser breaks as a reader would: paths behind slashes, intervals and
// flags never.
func broken(text string) g.Node {
	var all g.Group
	for word := range strings.SplitAfterSeq(text, " ") {
		switch {
		case strings.Contains(word, "–"), strings.HasPrefix(word, "--"):
			all = append(all, unbroken(word))
		default:
			for part := range strings.SplitAfterSeq(word, "/") {
				all = append(all, g.Text(part), g.If(strings.HasSuffix(part, "/"), h.Wbr()))
			}
		}
	}
	return all
}

// typed returns a command of which flags are not broken.
func typed(command string) g.Node {
	var all g.Group
	for word := range strings.SplitAfterSeq(command, " ") {
		if strings.HasPrefix(word, "--") {
			all = append(all, unbroken(word))
		} else {
			all = append(all, g.Text(word))
		}
	}
	return all
}

// unbroken returns a word that stays on one line, and the space behind it.
func unbroken(word string) g.Node {
	alone := strings.TrimSuffix(word, " ")
	return g.Group{h.Span(h.Class("whole"), g.Text(alone)), g.Text(word[len(alone):])}
}

// verdictNodes is the first screen: what was found, in words.
func (p *htmlPage) verdictNodes() g.Node {
	return h.Header(with(p.Index != "", func() g.Node { return h.P(h.A(h.Href(p.Index), g.Text("← all results"))) }),
		with(p.Command != "", func() g.Node { return dim(p.Command) }), h.H1(g.Text(p.Headline)),
		with(len(p.Verdicts) > 0, func() g.Node {
			return h.Div(h.Class("verdicts"), g.Map(p.Verdicts, htmlVerdict.node))
		}),
		with(p.Reading != "", func() g.Node { return dim(p.Reading) }),
		g.Map(p.Doubts, func(n htmlNote) g.Node { return n.node("doubt") }))
}

// node is a paragraph that ends in the command, if there is one.
func (n htmlNote) node(class string) g.Node {
	return h.P(h.Class(class), g.Text(n.Text), with(n.Command != "",
		func() g.Node { return g.Group{g.Text(" → "), h.Code(typed(n.Command))} }))
}

func (v htmlVerdict) node() g.Node {
	class := "open"
	if v.Picked {
		class = "best"
	}
	subject := g.Text(v.Subject)
	if v.Page != "" {
		subject = h.A(h.Href(v.Page), subject)
	}
	return h.Section(h.Class("verdict"), h.H2(subject), h.P(h.Class(class), g.Text(v.Text)),
		with(len(v.Notes) > 0, func() g.Node { return notes(v.Notes) }))
}

// box is a box to tick.
func box(name string, attributes ...g.Node) g.Node {
	return h.Label(h.Input(h.Type("checkbox"), g.Group(attributes)), g.Text(name))
}

// filterNodes is what is shown of the page.
func (p *htmlPage) filterNodes() g.Node {
	return with(len(p.Engines) > 0, func() g.Node {
		return h.Form(h.Class("filters"), h.Aria("label", "Show"),
			h.FieldSet(h.Legend(g.Text("Engines")), g.Map(p.Engines, func(e htmlEngine) g.Node {
				return h.Label(h.Input(h.Type("checkbox"), h.Checked(), h.Data("show-engine", e.Name),
					h.Data("color", fmt.Sprint(e.Color)), h.Data("traits", e.Traits)),
					htmlKey{e.Name, chart.Key{Name: e.Name, Color: e.Color}}.swatch())
			})),
			with(len(p.Traits) > 0, func() g.Node {
				return h.FieldSet(h.Legend(g.Text("Only with")),
					g.Map(p.Traits, func(c htmlChoice) g.Node { return box(c.Name, h.Data("trait", c.Key)) }))
			}),
			h.FieldSet(h.Legend(g.Text("Promises")), g.Map(p.Promises,
				func(c htmlChoice) g.Node { return box(c.Name, h.Checked(), h.Data("show-promise", c.Key)) })))
	})
}

// swatch is a dot or a dashed line, and the name that it stands for.
func (k htmlKey) swatch() g.Node {
	class := fmt.Sprintf("d%d", k.Color)
	if line := k.Line % chart.Lines; line > 0 {
		class += fmt.Sprintf(" l%d", line)
	}
	return g.Group{h.I(h.Class(class)), g.Text(k.Name)}
}

func (p *htmlPage) answerNodes() g.Node {
	return with(len(p.Matrices) > 0, func() g.Node {
		return h.Section(h.ID("answer"), h.H2(g.Text("The answer")),
			g.Map(p.Matrices, func(m htmlMatrix) g.Node {
				return h.Div(h.Data("promise", m.Promise), h.H3(g.Text(m.Title)), m.Table.node())
			}),
			h.P(h.Class("dim"), g.Text(p.Legend+". The fastest has its time, with the half-width of its interval; "+
				"the others have how many times as long they take. Engines are compared at the same promise only."),
				h.Span(h.Class("screen"), g.Text(" A heading sorts, an operation leads to its charts."))))
	})
}

func (p *htmlPage) sectionNodes() g.Node {
	return with(len(p.Sections) > 0, func() g.Node {
		return g.Group{
			h.Nav(h.H2(g.Text("Time")), h.Ul(g.Map(p.Sections, func(s htmlSection) g.Node {
				return h.Li(h.Data("promise", s.Promise), h.A(h.Href("#"+s.ID), g.Text(s.Title)))
			}))),
			g.Map(p.Sections, func(s htmlSection) g.Node {
				return h.Section(h.ID(s.ID), h.Data("promise", s.Promise), h.H3(g.Text(s.Title)),
					g.If(s.Proof != "", dim(s.Proof)),
					g.Map(s.Notes, func(n string) g.Node { return h.P(h.Class("doubt"), g.Text(n)) }),
					figureNodes(s.Figures))
			}),
		}
	})
}

// growthNodes is what becomes of operations as numbers grow.
func (p *htmlPage) growthNodes() g.Node {
	return with(len(p.Growth)+len(p.Ungrown) > 0, func() g.Node {
		return h.Section(h.ID("growth"), h.H2(g.Text("As it grows")),
			g.Map(p.Ungrown, func(n htmlNote) g.Node { return n.node("dim") }), figureNodes(p.Growth))
	})
}

func (p *htmlPage) costNodes() g.Node {
	return with(len(p.Costs) > 0, func() g.Node {
		return h.Section(h.ID("costs"), h.H2(g.Text("What else they need")), figureNodes(p.Costs))
	})
}

func figureNodes(all []htmlFigure) g.Node {
	return h.Div(h.Class("figures"), g.Map(all, htmlFigure.node))
}

// node is a chart with its table, how to read it, and the command that measures it again.
func (f htmlFigure) node() g.Node {
	return h.Figure(h.ID(f.ID), data("promise", f.Promise), h.FigCaption(g.Text(f.Title)), g.Raw(f.Chart),
		with(len(f.Legend) > 0, func() g.Node {
			return h.P(h.Class("legend"), g.Map(f.Legend, func(k htmlKey) g.Node { // lines break between two
				return g.Group{h.Span(h.Data("engine", k.Engine), k.swatch()), g.Text(" ")}
			}))
		}),
		g.Map(f.Notes, dim),
		h.Details(h.Summary(g.Text("Table, how to read it, and the command")), h.P(g.Text(f.How)), f.Table.node(),
			h.P(g.Text("Again: "), h.Code(typed(f.Command)))))
}

// nodes is what promises survived; nothing of nil.
func (p *htmlProof) nodes() g.Node {
	return with(p != nil, func() g.Node {
		text := func(s string) g.Node { return h.P(g.Text(s)) }
		return h.Section(h.ID("proof"), h.H2(g.Text("What commits survive")), dim(p.Source), g.Map(p.Said, text),
			p.Table.node(),
			dim("✓ kept what is promised, in so many crashed stores that were opened and compared; ✗ broke a promise; ? was not tried to the end. "+
				"Without a mark, nothing was promised: “held”, “lost” and “broke” say what happened. “syncs” and “writes” are of one commit."),
			with(len(p.Work) > 0, func() g.Node {
				return h.Details(h.Summary(g.Text("What was covered")),
					g.Map(p.Work, text))
			}), h.P(g.Text("Again: "), h.Code(typed(p.Command))))
	})
}

func (p *htmlPage) allNodes() g.Node {
	return with(len(p.All.Rows) > 0, func() g.Node {
		if p.AllTitle != "" {
			return h.Section(h.ID("beside"), h.H2(g.Text(p.AllTitle)),
				h.P(h.Class("dim"), g.Text(p.AllHow), h.Span(h.Class("screen"), g.Text(" A heading sorts."))), p.All.node())
		}
		return h.Section(h.ID("figures"), h.H2(g.Text("All figures")), p.All.node(),
			h.P(h.Class("dim"), g.Text("Empty is not measured. The same as a file: "),
				h.Code(g.Text("assay report DIR --format csv"))))
	})
}

func (p *htmlPage) whereNodes() g.Node {
	return with(len(p.Facts) > 0, func() g.Node {
		return h.Section(h.ID("where"), h.H2(g.Text("Where it was measured")), notes(p.Facts))
	})
}

// node is a table, of which every heading is a button.
func (t htmlTable) node() g.Node {
	return h.Div(h.Class("scroll"), h.Table(h.Aria("label", t.Name),
		h.THead(h.Tr(g.Map(t.Head, func(c htmlHead) g.Node {
			return h.Th(h.Scope("col"), g.If(c.Right, h.Class("right")), data("engine", c.Engine),
				h.Button(h.Type("button"), g.Text(c.Text)))
		}))),
		h.TBody(g.Map(t.Rows, func(r htmlRow) g.Node {
			return h.Tr(data("engine", r.Engine), data("promise", r.Promise), g.Map(r.Cells, htmlCell.node))
		}))))
}

func (c htmlCell) node() g.Node {
	class := c.Class
	if c.Right {
		class = strings.TrimSpace("right " + class)
	}
	content := g.Text(c.Text)
	if c.Link != "" {
		content = h.A(h.Href("#"+c.Link), content)
	}
	return h.Td(g.If(class != "", h.Class(class)), data("engine", c.Engine), data("sort", c.Sort), content)
}

// data is an attribute that is there where it says something.
func data(name, value string) g.Node { return g.If(value != "", h.Data(name, value)) }
