package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer/live"
)

func (a *app) switchCommand() *cobra.Command {
	var old, fresh, to string
	var compare, asJSON bool
	cmd := &cobra.Command{
		Use:   "switch DIR",
		Short: "Tell how a live switch stands, compare its stores, move it to another phase",
		Long: `A switch is two stores behind one, which a program opens as switch:DIR and which change places while it runs;
docs/moving.md tells how. The program moves it by itself, with transfer/live. This command is for when no program has it open, since one
process has a switch alone: to look at it, to fill the new store before the program starts, to take it back.

Without flags it reads where the switch stands and changes nothing. --old and --new make a switch in a DIR that is not
there. --to waits until the new store is filled and both are equal.`,
		Example: `  assay switch app.switch
  assay switch --old bbolt:app.db --new pebble:data --compare app.switch
  assay switch --to flipped app.switch
  assay switch --to shadowed app.switch    # the way back`,
		Args: usageArgs(func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return usage(fmt.Errorf("name one switch; %s given", count(int64(len(args)), "argument")),
				"for example: assay switch app.switch")
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			w := switching{dir: args[0], old: old, new: fresh, compare: compare}
			if to != "" {
				w.to = new(live.Phase)
				if err := w.to.UnmarshalText([]byte(to)); err != nil {
					return usage(err, "name shadowed, flipped or dropped")
				}
			}
			p := newMeter(cmd.Context(), a.stderr, "filling and comparing "+args[0])
			st, err := w.do(cmd.Context())
			p.end()
			if errors.Is(err, kv.Canceled) {
				fmt.Fprintf(a.stderr, "%s stays as it is; what is to be filled goes on when it is opened again\n", args[0])
			}
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.stdout, newSwitchShown(st))
			}
			return printSwitch(a.stdout, args[0], st)
		},
	}
	cmd.Flags().StringVar(&old, "old", "", "the URL of the store that there is, to make a switch")
	cmd.Flags().StringVar(&fresh, "new", "", "the URL of the store to go to, which must be empty or absent")
	cmd.Flags().StringVar(&to, "to", "", "move to this phase: shadowed, flipped, dropped")
	cmd.Flags().BoolVar(&compare, "compare", false, "read all of both stores, and make the shadow equal to the truth")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print how it stands as one JSON document")
	return cmd
}

// switching is what is to be done with a switch.
type switching struct {
	dir, old, new string // URLs, "" of a switch that there is
	to            *live.Phase
	compare       bool
}

// do opens the switch, read-only where nothing is to be changed.
func (w *switching) do(ctx context.Context) (st live.Status, err error) {
	var options []kv.Option
	looks := w.old == "" && w.new == "" && w.to == nil && !w.compare
	if looks {
		options = append(options, kv.WithMode(kv.ReadOnly))
	}
	db, err := live.Open(ctx, w.dir, w.old, w.new, options...)
	if err != nil {
		return st, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s, err := live.Of(db)
	if err != nil || looks {
		return s.Status(), err
	}
	if w.to != nil {
		if err := s.Move(ctx, *w.to); err != nil {
			return st, err
		}
	}
	if w.compare {
		return s.Compare(ctx)
	}
	return s.Status(), nil
}

// switchShown is how a switch stands, as --json shows it.
type switchShown struct {
	live.Status
	Failure string `json:"failure,omitempty"` // the last one of the shadow
}

func newSwitchShown(st live.Status) switchShown {
	shown := switchShown{Status: st}
	if st.Err != nil {
		shown.Failure = st.Err.Error()
	}
	return shown
}

func printSwitch(w io.Writer, dir string, st live.Status) error {
	truth, shadow := "the old store", "the new one follows"
	if st.Phase != live.Shadowed {
		truth, shadow = "the new store", "the old one follows"
	}
	switch {
	case st.Phase == live.Dropped:
		shadow = "the old one is not opened any more"
	case st.InStep:
		shadow += " and holds the same"
	default:
		shadow += ", and is to be compared or filled"
	}
	_, err := fmt.Fprintf(w, "%s is %s: %s is the truth; %s\n", dir, st.Phase, truth, shadow)
	if err == nil && st.Mended+st.Differing+st.Missed > 0 {
		_, err = fmt.Fprintf(w, "%s put into the shadow or removed; %s differed that should not; %s missed\n",
			count(st.Mended, "pair"), humanize.Comma(st.Differing), count(st.Missed, "commit"))
	}
	if err == nil && st.Err != nil {
		_, err = fmt.Fprintf(w, "the last failure of the shadow: %v\n", st.Err)
	}
	return err
}
