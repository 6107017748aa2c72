package report

import (
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/result"
)

// Text writes the report of a finished run for reading in a terminal or a log: where it took place,
// and the answer last, where a terminal shows it. With Options.All a table for each workload and
// promise comes before the answer, and with Options.Explain how to read all that. A run that ranks
// nothing has tables alone.
func Text(w io.Writer, run *result.Run, o Options) error {
	o.madeBy(run.Command)
	p := page{options: o, width: o.widthFrom(narrowest), styles: newStyles(o)}
	tables := slices.DeleteFunc(result.Tables(run.Cells), func(t result.Table) bool {
		return o.Class != "" && t.Promise.Delivered != o.Class && t.Promise.Delivered != "read"
	})
	unranked := run.Environment.Unranked != ""
	p.header(run)
	if o.All || unranked {
		p.warnings(run)
		q := page{options: o, width: p.width, styles: p.styles}
		for _, t := range tables {
			q.table(run, t)
		}
		p.lines = append(p.lines, q.lines...)
	}
	if o.Explain {
		p.legend(run, tables)
		p.blank()
	}
	if !unranked || len(tables) == 0 {
		p.screen(run)
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// page collects the lines of a report.
type page struct {
	options Options
	width   int
	styles  styles
	lines   []string
	forms   []string // that the matrices tell
}

// styles are the looks of things. Without colour they are all plain, for what they say is also said
// in words.
type styles struct {
	title, heading, best, tie, slower, bad, warn, dim, plain lipgloss.Style
}

func newStyles(o Options) styles {
	if !o.Color {
		return styles{}
	}
	s := lipgloss.NewStyle
	return styles{
		title: s().Bold(true).Foreground(lipgloss.Cyan), heading: s().Faint(true),
		best: s().Bold(true).Foreground(lipgloss.Green),
		tie:  s().Foreground(lipgloss.Green), slower: s().Foreground(lipgloss.Blue), bad: s().Foreground(lipgloss.Red),
		warn: s().Foreground(lipgloss.Yellow), dim: s().Faint(true),
	}
}

func (p *page) line(s string) { p.lines = append(p.lines, s) }

func (p *page) blank() { p.line("") }

// paragraph prints text after a label, wrapped; its further lines are indented to where the text
// began.
func (p *page) paragraph(label string, labelStyle lipgloss.Style, text string, style lipgloss.Style) {
	label, text = clean(label), clean(text)
	indent := lipgloss.Width(label)
	for i, l := range strings.Split(wrap(text, p.width-indent), "\n") {
		if i == 0 {
			p.line(paint(labelStyle, label) + paint(style, l))
		} else {
			p.line(strings.Repeat(" ", indent) + paint(style, l))
		}
	}
}

// toType prints text, and behind it the command that follows from it.
func (p *page) toType(label, text, command string) {
	indent := lipgloss.Width(label)
	all, text := p.width-indent, clean(text)+" → "
	room := all - lipgloss.Width(text)
	if room < all/3 || p.width < minWidth {
		p.paragraph(label, p.styles.warn, strings.TrimSpace(text), p.styles.plain)
		if p.width < minWidth {
			indent, all = gap, p.width-gap // a value is not broken, and may be as long as that
		}
		label, text, room = strings.Repeat(" ", indent), "", all
	}
	for i, l := range shellLines(clean(command), room, all) {
		if i == 0 {
			p.line(paint(p.styles.warn, label) + text + l)
		} else {
			p.line(strings.Repeat(" ", indent) + l)
		}
	}
}

// shellLines breaks a command into lines that can be copied as they stand: a shell reads on behind
// a backslash. The first has so many columns, the others as many as all. A flag stays with its
// value, and a value is never broken, however long it is.
func shellLines(command string, first, all int) []string {
	const more = ` \`
	var words []string
	for _, w := range strings.Fields(command) {
		last := len(words) - 1
		ofLast := last >= 0 && (strings.Count(words[last], "'")%2 == 1 ||
			strings.HasPrefix(words[last], "-") && !strings.ContainsAny(words[last], " =") && !strings.HasPrefix(w, "-"))
		if ofLast {
			words[last] += " " + w
		} else {
			words = append(words, w)
		}
	}
	lines, room := []string{""}, first-len(more)
	for _, w := range words {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = w
		case lipgloss.Width(*last)+1+lipgloss.Width(w) <= room:
			*last += " " + w
		default:
			*last += more
			lines, room = append(lines, w), all-len(more)
		}
	}
	return lines
}

// list prints items after a label, with a dot between them and line breaks only there.
func (p *page) list(label string, labelStyle lipgloss.Style, items []string, style lipgloss.Style) {
	label = clean(label)
	indent := lipgloss.Width(label)
	lines := []string{""}
	for _, item := range items {
		item = clean(item)
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = item
		case lipgloss.Width(*last)+3+lipgloss.Width(item) <= p.width-indent:
			*last += " · " + item
		default:
			lines = append(lines, item)
		}
	}
	for i, l := range lines {
		if i > 0 {
			label = strings.Repeat(" ", indent)
		}
		p.paragraph(label, labelStyle, l, style)
	}
}

// String returns the page without spaces at the ends of lines.
func (p *page) String() string {
	var b strings.Builder
	for _, l := range p.lines {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	if p.options.ASCII {
		return ascii(b.String())
	}
	return b.String()
}

// ascii replaces each character beyond ASCII with one that is as wide, so that columns stay where
// they are.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 {
			return r
		}
		if sub, ok := asciiFor[r]; ok {
			return sub
		}
		return '?'
	}, s)
}

var asciiFor = map[rune]rune{
	'·': '|', '—': '-', '–': '-', '─': '-', '×': 'x', 'µ': 'u', '±': '~', '…': '.', '✗': 'x', '⚠': '!', '█': '#',
	'²': '2',
	'▏': '.', '▎': '.', '▍': ':', '▌': ':', '▋': ':', '▊': '#', '▉': '#', '→': '>', '✓': '+', '≤': '<', '≥': '>',
	'●': '*', '○': 'o', '»': '>',
}

// clean replaces control characters: an engine's message, or a document from elsewhere, must not
// steer the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
}

// wrap breaks text at spaces so that no line is longer than width. Hyphens do not break: --budget
// is one word.
func wrap(text string, width int) string {
	const hyphen = "\u2011" // the one that never breaks
	wrapped := lipgloss.Wrap(strings.ReplaceAll(text, "-", hyphen), max(width, 10), " ")
	return strings.ReplaceAll(wrapped, hyphen, "-")
}

// paint renders s in a style; a plain style leaves it as it is.
func paint(style lipgloss.Style, s string) string {
	if s == "" {
		return s
	}
	return style.Inline(true).Render(s)
}
