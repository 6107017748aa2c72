// Package report renders a run: one file per format. It reads the result and nothing else, so that
// a run that comes from disk looks as it did when it ended.
package report

import (
	"os"

	"golang.org/x/term"
)

// DefaultWidth is the number of columns where there is no terminal to ask.
const DefaultWidth = 80

// minWidth is the narrowest table: below it the columns that must stay have no room, and rows are
// lists.
const minWidth = 72

// narrowest is the narrowest page of a run, or of what compares.
const narrowest = 32

// Options say how a report is drawn. The zero value is for files and pipes.
type Options struct {
	Width  int  // columns; 0 is DefaultWidth
	Height int  // lines of the terminal; 0 is no limit
	Color  bool // colours, as ANSI escape sequences
	ASCII  bool // no character beyond ASCII

	// Of a run.
	All     bool   // with a table for each workload and promise, and what was skipped
	Explain bool   // with the meaning of words and marks
	Class   string // at one class of durability alone; empty is all
	Command string // shows the run again: "assay report DIR"
	Facts   func(engine string) Facts
	Index   string // address of the page of all runs, to which the page of this one leads back; "" is none

	program string            // that made the run: "assay"
	flags   map[string]string // of its command
}

// madeBy says which command made the run, so that those that are printed are of the same program.
func (o *Options) madeBy(command []string) {
	o.program, o.flags = programOf(command), commandFlags(command)
}

// OptionsFor returns how to draw on f: as wide as its terminal, and in colour unless NO_COLOR
// (https://no-color.org) is set or TERM is dumb; plain where f is no terminal. Where the locale is
// C, it is ASCII alone.
func OptionsFor(f *os.File) Options {
	o := Options{ASCII: cLocale()}
	if !term.IsTerminal(int(f.Fd())) {
		return o
	}
	if width, height, err := term.GetSize(int(f.Fd())); err == nil {
		o.Width, o.Height = width, height
	}
	o.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return o
}

// cLocale reports whether the variables of the locale, the strongest first, name C or POSIX.
func cLocale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			return v == "C" || v == "POSIX"
		}
	}
	return false
}

func (o Options) width() int { return o.widthFrom(minWidth) }

// widthFrom returns the columns that a page has, which are at least so many.
func (o Options) widthFrom(least int) int {
	if o.Width <= 0 {
		return DefaultWidth
	}
	return max(o.Width, least)
}
