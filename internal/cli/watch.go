package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/observe"
)

// watchFlags are those of assay watch.
type watchFlags struct {
	every        time.Duration
	once, asJSON bool
}

func (a *app) watchCommand() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch TARGET",
		Short: "See what a running program's store does",
		Long: `Shows, every second, what the store of a running program does: how often its operations run and how
long they take, waits for the turn and for locks, transactions that last, slow operations, size and log of the store,
the engine's syncs, flushes of the disk (Linux), and commits of other processes.

TARGET is a socket or URL at which the program serves an observe.Observer, or a store, by its path or URL. Beside a
store lies the socket if the program called Listen(""). While no program serves a store it is watched from outside: its
size and log, when its files change, and which processes have locks of it (Linux). The store is not opened, and
nothing is changed.

Where standard output is no terminal or TERM is dumb, each look is a line. Ctrl-C ends it.`,
		Example: `  assay watch app.db
  assay watch http://localhost:8080/debug/store
  assay watch pebble:data --once
  assay watch app.db --json | jq '.ops[] | select(.op == "write") | .latency.p99'`,
		Args: usageArgs(func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(fmt.Errorf("%d targets were named, not one", len(args)), "for example: assay watch app.db")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.every <= 0 {
				return usage(fmt.Errorf("--every %v", f.every), "for example: --every 2s")
			}
			look, err := watched(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.follow(cmd.Context(), look, f)
		},
	}
	cmd.Flags().DurationVar(&f.every, "every", time.Second, "time between two looks")
	cmd.Flags().BoolVar(&f.once, "once", false, "look once: the counts are those since the store was opened")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "each look as a JSON document on a line; with --once it is indented")
	return cmd
}

// glance is one look at a target: the figures of a program, or a store from outside.
type glance struct {
	Figures *observe.Figures `json:"-"`

	Store   observe.Store    `json:"store"`
	Holders []observe.Holder `json:"holders"`
	mark    uint64
}

// MarshalJSON is that of the figures where a program has any.
func (v glance) MarshalJSON() ([]byte, error) {
	if v.Figures != nil {
		return json.Marshal(v.Figures)
	}
	type outside glance
	return json.Marshal(outside(v))
}

// watched finds out what target is, and returns the way to look at it.
func watched(ctx context.Context, target string) (look func(context.Context) (glance, error), err error) {
	program := func(address string) func(context.Context) (glance, error) {
		return func(ctx context.Context) (glance, error) {
			f, err := observe.Fetch(ctx, address)
			return glance{Figures: &f}, err
		}
	}
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") || isSocket(target) {
		return program(target), nil
	}
	path := target
	if _, err := os.Stat(path); err != nil {
		if hostAndPort.MatchString(target) {
			return program("http://" + target), nil
		}
		if scheme, _, ok := strings.Cut(target, ":"); ok && scheme != "" {
			if path, err = kv.PathOf(target); err != nil {
				return nil, usageError{err}
			}
			if path == "" {
				return nil, usage(fmt.Errorf("%s names no file or folder", target), "for example: assay watch bbolt:app.db")
			}
		}
	}
	first, err := lookAt(ctx, path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil && first.Figures == nil {
		return nil, &kv.Error{Op: "watch", Path: path, Kind: kv.KindOf(err), Err: errors.New("nothing is there"),
			Hint: "name a store that exists, or the socket or URL of a program that serves its figures"}
	}
	return func(ctx context.Context) (glance, error) { return lookAt(ctx, path) }, nil
}

// lookAt looks at a store: by the program that serves its figures now, from outside while there is
// none.
func lookAt(ctx context.Context, path string) (v glance, err error) {
	if socket := observe.SocketOf(path); isSocket(socket) {
		f, err := observe.Fetch(ctx, socket)
		if err == nil || ctx.Err() != nil || kv.KindOf(err) == kv.Busy {
			return glance{Figures: &f}, err // somebody is there, who knows more than can be seen from outside
		}
	}
	v.Store, v.Holders, v.mark, err = observe.Outside(path)
	return v, err
}

// hostAndPort is how people write a URL, "localhost:8080/debug/store".
var hostAndPort = regexp.MustCompile(`^[^/:]*:\d+(/|$)`)

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Type() == os.ModeSocket
}

// follow shows look after look, until ctx ends.
func (a *app) follow(ctx context.Context, look func(context.Context) (glance, error), f watchFlags) error {
	now, err := look(ctx)
	if err != nil {
		return err
	}
	switch {
	case f.once && f.asJSON:
		return writeJSON(a.stdout, now)
	case f.once:
		return printLines(a.stdout, screen(now, glance{}, reportOptions(a.stdout).Width), reportOptions(a.stdout).Color)
	}
	show, end := a.shower(f)
	defer end()
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	before := glance{}
	for {
		if err := show(now, before, err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-tick.C:
		}
		var next glance
		if next, err = look(ctx); err == nil {
			next.noticeChanges(now)
			before, now = now, next
		} else if ctx.Err() != nil {
			return errInterrupted
		}
	}
}

// noticeChanges counts, from outside, looks that found changed files.
func (v *glance) noticeChanges(before glance) {
	if v.Figures != nil || before.mark == 0 {
		return
	}
	v.Store.Watched, v.Store.Foreign, v.Store.Last = true, before.Store.Foreign, before.Store.Last
	if v.mark != before.mark {
		v.Store.Foreign, v.Store.Last = v.Store.Foreign+1, v.Store.At
	}
}

// shower returns how looks are shown, and what ends that. A failed look has an error, and shows the
// one before.
func (a *app) shower(f watchFlags) (show func(now, before glance, failed error) error, end func()) {
	switch {
	case f.asJSON:
		enc := json.NewEncoder(a.stdout)
		return func(now, before glance, failed error) error {
			if failed != nil {
				fmt.Fprintln(a.stderr, failed)
				return nil
			}
			return enc.Encode(now)
		}, func() {}
	case !isTerminal(a.stdout) || textOnly():
		return func(now, before glance, failed error) error {
			text := oneRow(oneLine(now, before))
			if failed != nil {
				text = noAnswer(failed, 0).text
			}
			_, err := fmt.Fprintln(a.stdout, time.Now().Format(time.TimeOnly), text)
			return err
		}, func() {}
	}
	var last []line
	fmt.Fprint(a.stdout, "\x1b[?1049h\x1b[?25l") // another screen, no cursor: what stood there comes back
	return func(now, before glance, failed error) error {
			o := reportOptions(a.stdout)
			last = screen(now, before, o.Width)
			if failed != nil {
				last = append([]line{noAnswer(failed, o.Width)}, last...)
			}
			shown := last
			if o.Height > 1 && len(shown) >= o.Height {
				shown = shown[:o.Height-1]
			}
			fmt.Fprint(a.stdout, "\x1b[H")
			err := printLines(a.stdout, shown, o.Color)
			fmt.Fprint(a.stdout, "\x1b[J")
			return err
		}, func() {
			fmt.Fprint(a.stdout, "\x1b[?25h\x1b[?1049l")
			_ = printLines(a.stdout, last, reportOptions(a.stdout).Color)
		}
}
