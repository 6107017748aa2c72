package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
)

// part says which pairs are copied or compared.
type part struct {
	prefix, as string
	from, to   string
	tables     []string
}

// flags adds those of a command whose help calls its stores from and to.
func (p *part) flags(cmd *cobra.Command, verb, from, to string) {
	cmd.Flags().StringVar(&p.prefix, "prefix", "", verb+" the keys of "+from+" that begin so")
	cmd.Flags().StringVar(&p.from, "from", "", verb+" the keys of "+from+" from this one on, inclusive")
	cmd.Flags().StringVar(&p.to, "to", "", verb+" the keys of "+from+" up to this one, exclusive")
	cmd.Flags().StringArrayVar(&p.tables, "table", nil, from+" is an SQLite file of any program: "+verb+
		" the rows of this table, as [PREFIX=]TABLE[(KEY,...)][:VALUE,...]; may be repeated")
	cmd.Flags().StringVar(&p.as, "as", "", "with --prefix: the beginning that these keys have in "+to+" instead")
}

// options returns p as transfer has it.
func (p *part) options(cmd *cobra.Command) (*transfer.Options, error) {
	prefix, err := parseKey(p.prefix)
	if err != nil {
		return nil, err
	}
	var begin []string
	if len(prefix) > 0 {
		begin = []string{p.prefix}
	}
	o := &transfer.Options{}
	if o.Range, err = (&scanFlags{from: p.from, to: p.to}).keyRange(begin); err != nil {
		return nil, err
	}
	if !cmd.Flags().Changed("as") {
		return o, nil
	}
	if len(prefix) == 0 {
		return nil, usage(errors.New("--as without --prefix"), "say which keys: --prefix old/ --as new/")
	}
	as, err := parseKey(p.as)
	if err != nil {
		return nil, err
	}
	o.Into = kv.Prefix(as)
	if o.Range.Start != nil {
		o.Into.Start = slices.Concat(as, bytes.TrimPrefix(o.Range.Start, prefix))
	}
	if rest, within := bytes.CutPrefix(o.Range.End, prefix); within {
		o.Into.End = slices.Concat(as, rest)
	}
	var key []byte
	o.Change = func(k, v []byte) ([]byte, []byte, bool) {
		key = append(append(key[:0], as...), bytes.TrimPrefix(k, prefix)...)
		return key, v, true
	}
	return o, nil
}

// source returns the URL of the store that name is.
func (p *part) source(ctx context.Context, name string) (string, error) {
	if len(p.tables) == 0 {
		return pairsURL(ctx, name)
	}
	if isURL(name) {
		return "", usage(fmt.Errorf("--table with the URL %s", name), "give the path of the SQLite file alone")
	}
	return transfer.WithPath("sqltable:?tables="+url.QueryEscape(strings.Join(p.tables, " ")), name), nil
}

func (a *app) copyCommand() *cobra.Command {
	var p part
	var rate string
	var dry, restart, asJSON bool
	cmd := &cobra.Command{
		Use:   "copy SRC DST",
		Short: "Copy a store to another engine, whole and verified",
		Long: `Copies every pair of the store SRC to a new store DST, of the same engine or another. SRC is opened read-only where
its engine can, and never changed.

SRC is a URL, or a path: then its content says which engine it is of. DST must not exist. It appears when it is
complete: the copy is written beside it, synced, read again and compared with what was read from SRC by number and
digest. A copy that was killed or interrupted goes on when the same command is run again. If there are pairs that the
engine of DST cannot hold, they are listed and nothing is copied.

Rows of SQLite tables that any program made are pairs with the URL sqltable:PATH?tables=TABLE(KEY):VALUE, or with
--table; such a URL as DST makes a new file with these tables. Without (KEY) it is the primary key, without :VALUE all
other columns, as JSON.

An event log or job queues become keys or SQL tables with the URLs log:PATH?form=FORM and queue:PATH?form=FORM. FORM is
sql or an engine; a SRC needs none. prefix=KEY is that of the store's namespace. A feed becomes keys or Margaret's files
with feed:PATH?form=FORM, where FORM is margaret or an engine.

KEYs, also those of --from and --to, are taken as they are, or in Go's syntax if they begin with a quote:
--prefix '"\x00\x01"'.`,
		Example: `  assay copy sqlite:old.db pebble:data
  assay copy --dry-run bbolt:app.db badger:data
  assay copy --prefix user/ --as u/ bbolt:app.db 'bbolt:users.db'
  assay copy --from 2026-01 --to 2026-02 bbolt:days.db sqlite:january.db
  assay copy --rate 20MB pebble:data sqlite:data.db
  assay copy --table 'u/=users(id)' --table 't/=tokens(name):token' old.db bbolt:new.db
  assay copy bbolt:app.db 'sqltable:app.sqlite?tables=notes(title/text):body/text'
  assay copy 'log:app.db?prefix=e/' 'log:events.db?form=sql'`,
		Args: usageArgs(twoStores("SRC and DST", "assay copy sqlite:old.db pebble:data")),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := p.options(cmd)
			if err != nil {
				return err
			}
			if o.BytesPerSecond, err = parseRate(rate); err != nil {
				return err
			}
			o.Restart = restart
			if args[0], err = p.source(cmd.Context(), args[0]); err != nil {
				return err
			}
			return a.copy(cmd, args[0], args[1], o, dry, asJSON)
		},
	}
	p.flags(cmd, "copy only", "SRC", "DST")
	cmd.Flags().StringVar(&rate, "rate", "", "copy at most so many bytes of keys and values a second, for example 20MB")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only tell what would be copied, and whether it fits")
	cmd.Flags().BoolVar(&restart, "restart", false, "do not go on with what an interrupted copy left, begin anew")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was copied as one JSON document")
	return cmd
}

func (a *app) copy(cmd *cobra.Command, from, to string, o *transfer.Options, dry, asJSON bool) error {
	end := a.watch(cmd.Context(), o)
	var report transfer.Report
	var err error
	if dry {
		report.Summary, err = transfer.Plan(cmd.Context(), from, to, o)
	} else {
		report, err = transfer.Copy(cmd.Context(), from, to, o)
	}
	end()
	if errors.Is(err, kv.Canceled) && !dry {
		fmt.Fprintf(a.stderr,
			"nothing is at %s yet; the same command goes on with what was copied, --restart begins anew\n", to)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.stdout, report)
	}
	verb := "copied and verified"
	if dry {
		verb = "would copy"
	}
	text := verb + " " + told(report.Summary) + "\n"
	if report.Resumed > 0 {
		text += fmt.Sprintf("%s of them were there from an earlier copy\n", humanize.Comma(report.Resumed))
	}
	if !dry {
		text += fmt.Sprintf("in %v, %s/s; %s is kept as it was\n", report.Took.Round(time.Millisecond),
			perSecond(report.Bytes, report.Took), from)
	}
	_, err = io.WriteString(a.stdout, text)
	return err
}

func (a *app) verifyCommand() *cobra.Command {
	var p part
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify A B",
		Short: "Compare two stores pair by pair",
		Long: `Reads both stores in the order of their keys and names the first differences. Neither is changed.
The exit status is 0 if they are equal and 1 if they differ.`,
		Example: `  assay verify sqlite:old.db pebble:data
  assay verify --limit 100 bbolt:a.db bbolt:b.db`,
		Args: usageArgs(twoStores("A and B", "assay verify sqlite:old.db pebble:data")),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := p.options(cmd)
			if err != nil {
				return err
			}
			if limit < 1 {
				return usage(fmt.Errorf("--limit %d", limit), "name at least one difference: --limit 1")
			}
			o.Limit = limit
			if args[0], err = p.source(cmd.Context(), args[0]); err != nil {
				return err
			}
			if args[1], err = pairsURL(cmd.Context(), args[1]); err != nil {
				return err
			}
			end := a.watch(cmd.Context(), o)
			c, err := transfer.Verify(cmd.Context(), args[0], args[1], o)
			end()
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(a.stdout, c)
			} else {
				err = printComparison(a.stdout, args[0], args[1], c)
			}
			if err == nil && c.Differing > 0 {
				err = errReported
			}
			return err
		},
	}
	p.flags(cmd, "compare only", "A", "B")
	cmd.Flags().IntVar(&limit, "limit", 10, "name at most so many differences")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the comparison as one JSON document")
	return cmd
}

func printComparison(w io.Writer, a, b string, c transfer.Comparison) error {
	for _, d := range c.First {
		text := fmt.Sprintf("differs: %s and %s", length(d.A), length(d.B))
		switch {
		case d.B == nil:
			text = "only in " + a + ": " + length(d.A)
		case d.A == nil:
			text = "only in " + b + ": " + length(d.B)
		}
		if _, err := fmt.Fprintf(w, "%q  %s\n", d.Key, text); err != nil {
			return err
		}
	}
	if more := c.Differing - int64(len(c.First)); more > 0 {
		fmt.Fprintf(w, "and %s more; see more with --limit\n", humanize.Comma(more))
	}
	if c.Differing == 0 {
		_, err := fmt.Fprintln(w, "equal:", told(c.A))
		return err
	}
	_, err := fmt.Fprintf(w, "%s of %s and %s differ\n", count(c.Differing, "key"), humanize.Comma(c.A.Pairs),
		count(c.B.Pairs, "pair"))
	return err
}

func length(n *int) string {
	if n == nil {
		return "no value"
	}
	return count(int64(*n), "byte")
}

// count returns "1 pair", "1,234 pairs".
func count(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return humanize.Comma(n) + " " + what
}

func perSecond(n int64, took time.Duration) string {
	return humanize.Bytes(uint64(float64(n) / max(took.Seconds(), 1e-3)))
}

// twoStores refuses any other number of arguments.
func twoStores(what, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 2 {
			return nil
		}
		return usage(fmt.Errorf("name %s; %s given", what, count(int64(len(args)), "argument")), "for example: %s",
			example)
	}
}

// copyMemory is what Go may keep of memory that engines have let go of, in bytes, while stores are
// copied or compared. GOMEMLIMIT overrides it.
const copyMemory = 256 << 20

// watch shows how far a copy or comparison with o is, within copyMemory. The caller calls end.
func (a *app) watch(ctx context.Context, o *transfer.Options) (end func()) {
	p := newMeter(ctx, a.stderr, "opening")
	end = p.end
	if os.Getenv("GOMEMLIMIT") == "" {
		before := debug.SetMemoryLimit(copyMemory)
		end = func() { p.end(); debug.SetMemoryLimit(before) }
	}
	began, phase := time.Now(), ""
	o.Progress = func(s transfer.Progress) {
		if s.Phase != phase {
			began, phase = time.Now(), s.Phase
		}
		text := map[string]string{"check": "checking that all fits", "copy": "copying", "verify": "verifying"}[s.Phase]
		if s.Of > 0 {
			text += fmt.Sprintf(" %d %%,", 100*s.Pairs/s.Of)
		}
		text += fmt.Sprintf(" %s, %s, %s/s", count(s.Pairs, "pair"), humanize.Bytes(uint64(s.Bytes)),
			perSecond(s.Bytes, time.Since(began)))
		p.show(text, "")
	}
	return end
}
