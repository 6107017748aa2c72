package cli

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/assaydb/assay/lab/report"
)

// isTerminal reports whether a person watches w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// reportOptions returns how to draw a report on w. COLUMNS and LINES override its size, also of a
// pipe or file, and CLICOLOR_FORCE asks for colours there.
func reportOptions(w io.Writer) report.Options {
	var o report.Options
	if f, ok := w.(*os.File); ok {
		o = report.OptionsFor(f)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		o.Width = n
	}
	if n, err := strconv.Atoi(os.Getenv("LINES")); err == nil && n > 0 {
		o.Height = n
	}
	if force := os.Getenv("CLICOLOR_FORCE"); force != "" && force != "0" && os.Getenv("NO_COLOR") == "" {
		o.Color = true
	}
	return o
}
