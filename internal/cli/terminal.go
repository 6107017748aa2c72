package cli

import (
	"errors"
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

// textOnly reports whether nothing but text goes to a terminal, no escape sequence: TERM is dumb.
// NO_COLOR (https://no-color.org) asks for no colours, and the cursor still moves.
func textOnly() bool { return os.Getenv("TERM") == "dumb" }

// keyboard is the input of a terminal at which a person is asked. Its end is an error: bubbletea
// takes an end for silence, and would wait for ever at a terminal that is gone.
type keyboard struct{ *os.File }

func (k keyboard) Read(p []byte) (int, error) {
	n, err := k.File.Read(p)
	if errors.Is(err, io.EOF) {
		err = errors.New("the terminal is gone")
	}
	return n, err
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
