package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"charm.land/huh/v2"

	"github.com/assaydb/assay/lab/workload"
)

// canAsk reports whether a person sits at both ends.
func (a *app) canAsk() bool {
	in, ok := a.stdin.(*os.File)
	return ok && isTerminal(in) && isTerminal(a.stdout) && isTerminal(a.stderr)
}

// answers is what questions fill in.
type answers struct {
	work      []string
	often     string
	promise   string
	processes string
	needs     []string
	memory    string
	open      string
	binary    string
}

// ask fills f by questions on the terminal.
func (a *app) ask(ctx context.Context, f *adviseFlags) error {
	g := answers{promise: "synced", processes: "one"}
	in, _ := a.stdin.(*os.File)
	form := a.questions(&g).WithOutput(a.stderr)
	ask := func() error { return form.WithInput(in).RunWithContext(ctx) }
	if textOnly() {
		ask = func() error { return askInText(ctx, form, in) }
	}
	err := ask()
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case errors.Is(err, huh.ErrUserAborted):
		return errInterrupted
	case err != nil:
		return err
	}
	return g.fill(f)
}

// askInText asks one question after the other in lines of text, without any escape sequence.
func askInText(ctx context.Context, form *huh.Form, in io.Reader) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	done := make(chan error, 1)
	plain := huh.ThemeFunc(func(bool) *huh.Styles { return &huh.Styles{} })
	// The form knows neither ctx nor the end of its input. Who waits for a line in vain does so
	// until the process ends, which is soon.
	go func() {
		done <- form.WithTheme(plain).WithAccessible(true).WithInput(untilEnd{in, end}).RunWithContext(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// untilEnd tells of the end of a reader by calling end. The read itself never returns then: a form
// would ask again for ever.
type untilEnd struct {
	io.Reader
	end context.CancelCauseFunc
}

func (r untilEnd) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.end(errors.New("the input ended before all questions were answered"))
		select {}
	}
	return n, nil
}

func (a *app) questions(g *answers) *huh.Form {
	var work []huh.Option[string]
	for _, w := range workload.All() {
		work = append(work, huh.NewOption(w.Name+": "+w.Summary, w.Name))
	}
	size := func(s string) error {
		if s == "" {
			return nil
		}
		return new(byteSize).Set(s)
	}
	return huh.NewForm(
		huh.NewGroup(
			huh.NewMultiSelect[string]().Title("What does the program do? (space marks, enter goes on)").Options(work...).
				Height(len(work)+2).Value(&g.work).
				Validate(func(all []string) error {
					if len(all) == 0 {
						return errors.New("mark what is nearest")
					}
					return nil
				}),
			huh.NewInput().Title("How much more often is some of it done? (hook/get:10; empty: all alike)").Value(&g.often).
				Validate(func(s string) error {
					f := adviseFlags{processes: 1}
					for _, w := range strings.Fields(s) {
						if err := f.add(w); err != nil {
							return err
						}
					}
					return nil
				}),
			huh.NewSelect[string]().Title("What must a commit survive, once it is acknowledged?").Options(
				huh.NewOption("a power loss (synced)", "synced"),
				huh.NewOption("the death of the process, kill -9 (flushed)", "flushed"),
				huh.NewOption("nothing: it can be made again (buffered)", "buffered")).Value(&g.promise),
			huh.NewSelect[string]().Title("How many processes use the store at the same time?").Options(
				huh.NewOption("one", "one"),
				huh.NewOption("a few, each for a moment", "4"),
				huh.NewOption("many, each for a moment", "14"),
				huh.NewOption("several, which keep it open", "held")).Value(&g.processes)),
		huh.NewGroup(
			huh.NewMultiSelect[string]().Title("What else must hold?").Options(
				huh.NewOption("no C compiler", "pure-go"),
				huh.NewOption("the store is a file, not a folder", "file"),
				huh.NewOption("the data can be read with SQL", "sql"),
				huh.NewOption("a power loss leaves the store whole", "intact"),
				huh.NewOption("what commits survive was tried", "proved")).Height(7).Value(&g.needs),
			huh.NewInput().Title("What may the process take of memory? (60MB; empty: as it likes)").Value(&g.memory).Validate(size),
			huh.NewInput().Title("How long may opening take? (5ms; empty: as it likes)").Value(&g.open).
				Validate(func(s string) error {
					if _, err := time.ParseDuration(s); s != "" && err != nil {
						return errors.New("give it a unit, for example 5ms")
					}
					return nil
				}),
			huh.NewInput().Title("What may the engine add to the program? (5MB; empty: as it likes)").Value(&g.binary).
				Validate(size)),
	)
}

// fill puts the answers where flags would.
func (g answers) fill(f *adviseFlags) error {
	f.work, f.promise = append(g.work, strings.Fields(g.often)...), g.promise
	switch g.processes {
	case "one":
	case "held":
		f.processes, f.held = 2, true
	case "4":
		f.processes = 4
	case "14":
		f.processes = 14
	}
	for _, n := range g.needs {
		*map[string]*bool{"pure-go": &f.pureGo, "file": &f.file, "sql": &f.sql, "intact": &f.intact,
			"proved": &f.proved}[n] = true
	}
	for size, text := range map[*byteSize]string{&f.memory: g.memory, &f.binary: g.binary} {
		if text == "" {
			continue
		}
		if err := size.Set(text); err != nil {
			return usage(err, "for example: 60MB")
		}
	}
	if g.open != "" {
		var err error
		if f.open, err = time.ParseDuration(g.open); err != nil {
			return usage(err, "for example: 5ms")
		}
	}
	return nil
}
