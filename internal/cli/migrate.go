package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
)

func (a *app) migrateCommand() *cobra.Command {
	var p part
	var pace string
	var o transfer.MoveOptions
	var remove, dry, asJSON bool
	cmd := &cobra.Command{
		Use:   "migrate SRC DST",
		Short: "Move a store to another engine, while nobody can change it",
		Long: `Copies the store SRC to DST as assay copy does, verified, while nobody can change SRC: another process that has it open
for writing is waited for. SRC is kept, or removed with --remove when DST is there and no other process has SRC open.

If DST is there from an earlier migration, it gets what an older program has changed in SRC since, in one transaction. If
DST was changed, too, that is an error and nothing is done.

A migration that was killed or interrupted goes on when the same command is run again. A program does the same when it
starts, by transfer.Open.`,
		Example: `  assay migrate sqlite:old.db pebble:data
  assay migrate --dry-run bbolt:app.db badger:data
  assay migrate --remove --wait 5m bbolt:app.db sqlite:data.db`,
		Args: usageArgs(twoStores("SRC and DST", "assay migrate sqlite:old.db pebble:data")),
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := p.options(cmd)
			if err != nil {
				return err
			}
			if options.BytesPerSecond, err = parseRate(pace); err != nil {
				return err
			}
			options.Restart = o.Restart
			o.Options = *options
			if remove {
				o.Old = transfer.Remove
			}
			if o.Wait <= 0 {
				return usage(fmt.Errorf("--wait %v", o.Wait), "for example: --wait 1m")
			}
			if args[0], err = p.source(cmd.Context(), args[0]); err != nil {
				return err
			}
			if dry {
				return a.copy(cmd, args[0], args[1], &o.Options, true, asJSON)
			}
			return a.migrate(cmd, args[0], args[1], &o, asJSON)
		},
	}
	p.flags(cmd, "move only", "SRC", "DST")
	cmd.Flags().StringVar(&pace, "rate", "", "copy at most so many bytes of keys and values a second, for example 20MB")
	cmd.Flags().BoolVar(&remove, "remove", false, "remove SRC when DST is there (default: keep it)")
	cmd.Flags().DurationVar(&o.Wait, "wait", transfer.DefaultMoveWait,
		"how long to wait for processes that have a store open")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only tell what would be copied, and whether it fits")
	cmd.Flags().BoolVar(&o.Restart, "restart", false,
		"do not go on with what an interrupted migration left, begin anew")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as one JSON document")
	return cmd
}

func (a *app) migrate(cmd *cobra.Command, from, to string, o *transfer.MoveOptions, asJSON bool) error {
	end := a.watch(cmd.Context(), &o.Options)
	done, err := transfer.Migrate(cmd.Context(), from, to, o)
	end()
	if errors.Is(err, kv.Canceled) {
		fmt.Fprintf(a.stderr,
			"%s holds as before; the same command goes on with what was copied, --restart begins anew\n", from)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.stdout, done)
	}
	var text string
	switch done.Outcome {
	case transfer.Moved:
		text = fmt.Sprintf("moved and verified %s in %v\n", told(done.Summary), done.Took.Round(time.Millisecond))
	case transfer.Caught:
		text = fmt.Sprintf("brought to %s what was changed since it was moved; it holds %s\n", to, told(done.Summary))
	default:
		text = fmt.Sprintf("nothing to do: %s was moved before\n", from)
	}
	switch {
	case !done.Kept:
		text += from + " is removed\n"
	case o.Old == transfer.Remove:
		text += from + " is kept: another process has it open; run the command again when that has ended\n"
	default:
		text += from + " is kept\n"
	}
	_, err = io.WriteString(a.stdout, text)
	return err
}

// told says what a store holds.
func told(s transfer.Summary) string {
	return fmt.Sprintf("%s, %s, digest %.16s", count(s.Pairs, "pair"), humanize.Bytes(uint64(s.Bytes)), s.Digest)
}

// parseRate returns the bytes a second that text says, 0 for none.
func parseRate(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > 1<<40 {
		return 0, usage(fmt.Errorf("--rate %s is not a number of bytes", text), "for example: --rate 20MB")
	}
	return int(n), nil
}
