package cli

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/assaydb/assay/lab/advise"
	"github.com/assaydb/assay/lab/report"
	"github.com/assaydb/assay/lab/result"
)

// labelWidth is that of the words at the left of an advice.
const labelWidth = 11

// advicePage collects the lines of an advice.
type advicePage struct {
	width int
	text  strings.Builder
}

// line prints text behind a label, wrapped at spaces; further lines are indented to where the text
// began.
func (p *advicePage) line(label, text string) {
	line := ""
	flush := func() {
		fmt.Fprintf(&p.text, "%-*s%s\n", labelWidth, label, line)
		label, line = "", ""
	}
	for _, word := range strings.Fields(text) {
		if line != "" && lipgloss.Width(line)+1+lipgloss.Width(word) > p.width-labelWidth {
			flush()
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	flush()
}

// printAdvice prints the pick first, then what speaks against it, then why the others are out.
func printAdvice(out io.Writer, a *advise.Advice, o report.Options) error {
	p := &advicePage{width: o.Width}
	if p.width <= 0 || p.width > 110 {
		p.width = 100
	}
	if a.Pick == nil {
		p.nothing(a)
	} else {
		p.pick(a)
	}
	for i, r := range a.Removed {
		label := ""
		if i == 0 {
			label = "Not"
		}
		var why []string
		for _, reason := range r.Reasons {
			text := reason.Text
			if strings.HasPrefix(reason.Need, "--") {
				text += " (" + reason.Need + ")"
			}
			why = append(why, text)
		}
		p.line(label, r.Name+": "+strings.Join(why, "; "))
	}
	if a.Code != "" {
		fmt.Fprintf(&p.text, "\nOpens it:\n\n%s", a.Code)
	}
	_, err := io.WriteString(out, p.text.String())
	return err
}

// nothing tells what to give up where no engine fits.
func (p *advicePage) nothing(a *advise.Advice) {
	does := "does"
	if a.Next != "" {
		does = "is known to do"
	}
	p.line("No engine", fmt.Sprintf("%s all of it, of %d that were looked at.", does, len(a.Removed)))
	for i, r := range a.Relax {
		label := "Give up"
		if i > 0 {
			label = "or"
		}
		p.line(label, strings.Join(r.Needs, " and ")+": then "+strings.Join(r.Engines, ", "))
	}
	switch {
	case a.Next != "":
		p.line("", "Some were not measured, or there was no time left for them.")
		fmt.Fprintf(&p.text, "%-*s%s\n", labelWidth, "To know", a.Next)
	case len(a.Relax) == 0:
		p.line("", "Giving up a need does not help.")
	}
}

func (p *advicePage) pick(a *advise.Advice) {
	p.line("Pick", fmt.Sprintf("%s, for %s · %s", a.Pick.Name, workText(a.Needs), promised(*a.Pick)))
	sure := map[string]string{advise.Sure: "Sure", advise.Equivalent: "As good", advise.Open: "Not sure",
		advise.Alone: "Alone"}
	p.line(sure[a.Sure], strings.ToUpper(a.Why[:1])+a.Why[1:]+".")
	if a.Next != "" {
		fmt.Fprintf(&p.text, "%-*s%s\n", labelWidth, "To know", a.Next) // to be copied
	}
	p.line("It takes", figures(*a.Pick))
	for i, r := range a.Others {
		label := "Then"
		if i > 0 {
			label = ""
		}
		p.line(label, fmt.Sprintf("%s: %s%s · %s · %s", mark(r.Is), r.Name+" "+r.Times(),
			perOperation(a.Needs, r), promised(r), figuresOnly(r)))
	}
	for _, part := range []struct {
		label string
		lines []string
	}{{"Otherwise", a.Otherwise}, {"You gain", a.Gain}, {"Give up", a.GiveUp}, {"Not known", a.Unknown}} {
		for i, l := range part.lines {
			label := ""
			if i == 0 {
				label = part.label
			}
			p.line(label, l)
		}
	}
}

func mark(is string) string {
	return map[string]string{advise.Sure: "slower", advise.Equivalent: "as fast", advise.Open: "open"}[is]
}

// workText lists the work with its weights: "hook/put, hook/get ×10".
func workText(n advise.Needs) string {
	var parts []string
	for _, w := range n.Work {
		s := w.String()
		if w.Weight != 1 {
			s += fmt.Sprintf(" ×%g", w.Weight)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// promised returns "synced, proved in 355 crashes".
func promised(r advise.Ranked) string {
	p := r.Promise
	text := p.Delivered
	if p.Proof == result.Proved {
		return fmt.Sprintf("%s, proved in %s crashes", text, report.Grouped(p.Images))
	}
	return text + ", unproved"
}

// figures returns what the pick takes: the time of each operation, then what it takes besides.
func figures(r advise.Ranked) string {
	var parts []string
	for _, c := range r.Work {
		parts = append(parts, c.Work.String()+" "+advise.Nanoseconds(c.NS))
	}
	return strings.Join(parts, " · ") + " · " + figuresOnly(r)
}

func figuresOnly(r advise.Ranked) string {
	var parts []string
	if r.Open != nil {
		parts = append(parts, "opens in "+advise.Nanoseconds(float64(*r.Open)))
	}
	if r.RSS != nil {
		parts = append(parts, advise.Bytes(*r.RSS)+" of memory")
	}
	if r.Binary != nil {
		parts = append(parts, "adds "+advise.Bytes(*r.Binary))
	}
	if len(parts) == 0 {
		return "no other figures"
	}
	return strings.Join(parts, ", ")
}

// perOperation returns the ratios of the single operations where the work has several.
func perOperation(n advise.Needs, r advise.Ranked) string {
	if len(n.Work) < 2 {
		return ""
	}
	var parts []string
	for _, c := range r.Work {
		parts = append(parts, c.Operation+" "+advise.Factor(c.Ratio.Mid)+"x")
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
