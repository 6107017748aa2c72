package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/assaydb/assay/lab/result"
)

// PublishedMarkdown writes published figures with ours beside them as a page in Markdown.
func PublishedMarkdown(w io.Writer, p *result.Published) error {
	var b strings.Builder
	b.WriteString("# Published comparisons, measured again\n\n")
	fmt.Fprintf(&b, "%s\n\n", publishedLegend)
	fmt.Fprintf(&b, "This page was written by a run and is made again, with the figures of your machine, by\n\n```sh\n%s --out DIR\nassay report DIR --format markdown >published.md\n```\n\n",
		strings.Join(p.Command, " "))
	e := p.Environment
	for _, f := range []struct {
		label string
		items []string
	}{
		{"machine", []string{e.CPU, countOf(e.CPUs, "CPU"), bytesOrNothing(e.Memory), strings.TrimSpace(system(e))}},
		{"disk", []string{storage(e), floor("append + sync", p.Floor.AppendSync),
			floor("overwrite + sync", p.Floor.OverwriteSync)}},
		{"software", append([]string{prefixed("assay ", e.Assay), strings.Replace(e.Go, "go", "Go ", 1)},
			modules(e.Modules)...)},
		{"run", []string{started(p.Started), prefixed("took ", took(p.Took)), prefixed("budget ", took(p.Budget)),
			fmt.Sprintf("seed %d", p.Seed)}},
	} {
		fmt.Fprintf(&b, "- %s: %s\n", f.label, clean(strings.Join(nonEmpty(f.items), " · ")))
	}
	if p.Interrupted {
		b.WriteString("- The run was interrupted: this is what had been measured by then.\n")
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(&b, "- Note: %s. %s\n", clean(warning.Text), clean(warning.Hint))
	}
	for _, publication := range p.Publications {
		publicationMarkdown(&b, publication)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func publicationMarkdown(b *strings.Builder, p result.Publication) {
	fmt.Fprintf(b, "\n## %s · %s\n\n%s. %s\n\n", clean(p.Name), clean(p.System), clean(p.Summary), clean(p.Setup))
	for _, part := range p.Parts {
		fmt.Fprintf(b, "- %s: `%s` on `%s`%s\n", clean(part.Name), clean(strings.Join(part.Work, " ")),
			clean(strings.Join(part.Engines, ", ")), clean(partNotes(part)))
	}
	b.WriteByte('\n')
	markdownRow(b, []string{"figure", "published", "here, as published", "same promise", "why they differ"})
	b.WriteString("|---|---|---|---|---|\n")
	for _, l := range p.Lines {
		figure := figureText(l.Figure, l.Engine)
		why := whyText(l)
		if l.Race != nil {
			why += "<br>Built with -race: **" + ourRatio(l.Race) + "** " + measurementText(l.Race)
		}
		if l.Also != nil {
			why += "<br>Also: **" + ourRatio(l.Also) + "** " + measurementText(l.Also)
		}
		markdownRow(b, []string{l.Engine + " " + l.Operation, "**" + publishedRatio(l.Figure) + "**<br>" + figure,
			measurementMarkdown(l.Published), measurementMarkdown(l.Matched), why})
	}
}

func measurementMarkdown(m *result.Measurement) string {
	if m == nil {
		return ourRatio(m)
	}
	return "**" + ourRatio(m) + "**<br>" + measurementText(m)
}

// nonEmpty returns those of items that say something.
func nonEmpty(items []string) []string {
	var kept []string
	for _, s := range items {
		if strings.Trim(s, " /") != "" {
			kept = append(kept, s)
		}
	}
	return kept
}
