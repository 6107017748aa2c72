package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assaydb/assay/kv"
)

// scanFlags say which pairs are shown, and how.
type scanFlags struct {
	format   string
	from, to string
	reverse  bool
	keysOnly bool
}

// flagsOf names the verbs that take a flag of scanFlags.
var flagsOf = map[string][]string{
	"--format":  {"get", "scan"},
	"--from":    {"scan", "sizes", "events"},
	"--to":      {"scan", "sizes"},
	"--reverse": {"scan", "events", "records"},
	"--keys":    {"scan"},
}

// check refuses a flag that says nothing to a verb.
func (f *scanFlags) check(verb string) error {
	for flag, given := range map[string]bool{"--format": f.format != "", "--from": f.from != "", "--to": f.to != "",
		"--reverse": f.reverse, "--keys": f.keysOnly} {
		if given && !slices.Contains(flagsOf[flag], verb) {
			return usage(fmt.Errorf("%s says nothing to %s", flag, verb), "it is for %s",
				strings.Join(flagsOf[flag], ", "))
		}
	}
	return nil
}

// keyRange returns the keys that the flags and a prefix select.
func (f *scanFlags) keyRange(prefix []string) (kv.Range, error) {
	r := kv.Range{}
	if len(prefix) > 0 {
		begin, err := parseKey(prefix[0])
		if err != nil {
			return r, err
		}
		r = kv.Prefix(begin)
	}
	from, err := parseKey(f.from)
	if err != nil {
		return r, err
	}
	to, err := parseKey(f.to)
	if err != nil {
		return r, err
	}
	if bytes.Compare(from, r.Start) > 0 {
		r.Start = from
	}
	if len(to) > 0 && (r.End == nil || bytes.Compare(to, r.End) < 0) {
		r.End = to
	}
	r.Reverse, r.KeysOnly = f.reverse, f.keysOnly
	if r.End != nil && bytes.Compare(r.Start, r.End) >= 0 {
		return r, usage(fmt.Errorf("no key is between %q and %q", r.Start, r.End),
			"--from is before --to, and both within PREFIX")
	}
	return r, nil
}

// pairForms write a pair on one line, or more; value is nil where it was not read.
var pairForms = map[string]func(w io.Writer, key, value []byte) error{
	"raw": func(w io.Writer, key, value []byte) error { return writeFields(w, key, value, "%s") },
	"text": func(w io.Writer, key, value []byte) error {
		return writeFields(w, printable(key), printable(value), "%s")
	},
	"quoted": func(w io.Writer, key, value []byte) error { return writeFields(w, key, value, "%q") },
	"hex":    func(w io.Writer, key, value []byte) error { return writeFields(w, key, value, "%x") },
	"json":   func(w io.Writer, key, value []byte) error { return json.NewEncoder(w).Encode(newPairShown(key, value)) },
}

func writeFields(w io.Writer, key, value []byte, verb string) (err error) {
	if value == nil {
		_, err = fmt.Fprintf(w, verb+"\n", key)
	} else {
		_, err = fmt.Fprintf(w, verb+"\t"+verb+"\n", key, value)
	}
	return err
}

// printable returns b with a dot for each byte or letter that a terminal does not show; nil stays
// nil.
func printable(b []byte) []byte {
	if b == nil {
		return nil
	}
	return bytes.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' || r >= 0x7f && r < 0xa0 {
			return '.'
		}
		return r
	}, b)
}

// formatNamed returns how pairs are written: the format named, or the default of a verb.
func (f *inspectFlags) formatNamed(otherwise string) (string, error) {
	name := f.format
	switch {
	case name == "" && f.asJSON:
		name = "json"
	case name == "":
		name = otherwise
	case f.asJSON && name != "json":
		return "", usage(errors.New("--json and --format exclude each other"), "use one of them")
	}
	if _, ok := pairForms[name]; !ok {
		return "", usage(fmt.Errorf("unknown format %q", name), "use raw, quoted, text, hex or json")
	}
	return name, nil
}

// pairShown is a pair as JSON. What is not UTF-8 is in base64.
type pairShown struct {
	Key        *string `json:"key,omitempty"`
	KeyBytes   []byte  `json:"key_base64,omitempty"`
	Value      *string `json:"value,omitempty"`
	ValueBytes []byte  `json:"value_base64,omitempty"`
}

func newPairShown(key, value []byte) (p pairShown) {
	p.Key, p.KeyBytes = textOrBytes(key)
	if value != nil {
		p.Value, p.ValueBytes = textOrBytes(value)
	}
	return p
}

// textOrBytes returns b as a text if it is one.
func textOrBytes(b []byte) (*string, []byte) {
	if text := string(b); utf8.ValidString(text) {
		return &text, nil
	}
	return nil, b
}

// get prints the value of a key. Raw is what it says, without the end of a line.
func (a *app) get(ctx context.Context, db *kv.DB, operands []string, f inspectFlags) error {
	format, err := f.formatNamed("raw")
	if err != nil {
		return err
	}
	key, err := parseKey(operands[0])
	if err != nil {
		return err
	}
	v, err := db.Get(ctx, key)
	switch {
	case errors.Is(err, kv.NotFound):
		return &kv.Error{Op: "get", Engine: db.Engine(), Path: db.Path(), Kind: kv.NotFound,
			Err:  fmt.Errorf("key %q", key),
			Hint: "list the keys with: assay inspect " + db.Engine() + ":" + db.Path() + " scan"}
	case err != nil:
		return err
	case format == "raw":
		_, err = a.stdout.Write(v)
	case format == "hex":
		_, err = io.WriteString(a.stdout, hex.Dump(v))
	case format == "json":
		err = pairForms[format](a.stdout, key, v)
	case format == "quoted":
		_, err = fmt.Fprintf(a.stdout, "%q\n", v)
	default:
		_, err = fmt.Fprintf(a.stdout, "%s\n", printable(v))
	}
	return err
}

// scan prints pairs.
func (a *app) scan(ctx context.Context, db *kv.DB, operands []string, f inspectFlags) error {
	format, err := f.formatNamed("quoted")
	if err != nil {
		return err
	}
	r, err := f.keyRange(operands)
	if err != nil {
		return err
	}
	write := pairForms[format]
	out := bufio.NewWriterSize(a.stdout, 64<<10)
	enough, n := errors.New("enough"), 0
	err = db.View(ctx, func(s *kv.Snapshot) error {
		return s.Each(r, func(k, v []byte) error {
			if r.KeysOnly {
				v = nil
			} else if v == nil {
				v = []byte{}
			}
			if err := write(out, k, v); err != nil {
				return err
			}
			if n++; n == f.limit {
				return enough
			}
			return nil
		})
	})
	if errors.Is(err, enough) {
		err = nil
	}
	if ferr := out.Flush(); err == nil { // also of what was read before an error
		err = ferr
	}
	return err
}

// put sets a value with the strongest class.
func (a *app) put(ctx context.Context, db *kv.DB, operands []string, _ inspectFlags) error {
	key, err := parseKey(operands[0])
	if err != nil {
		return err
	}
	var value []byte
	if operands[1] == "-" {
		value, err = io.ReadAll(a.stdin)
	} else {
		value, err = parseKey(operands[1])
	}
	if err != nil {
		return err
	}
	if err := db.Put(ctx, db.Caps().Strongest(), key, value); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%q has a value of %s\n", key, count(int64(len(value)), "byte"))
	return err
}

// remove deletes keys in one transaction; if one of them is absent it deletes none.
func (a *app) remove(ctx context.Context, db *kv.DB, operands []string, _ inspectFlags) error {
	err := db.Update(ctx, db.Caps().Strongest(), func(tx *kv.Tx) error {
		for _, operand := range operands {
			key, err := parseKey(operand)
			if err != nil {
				return err
			}
			has, err := tx.Has(key)
			if err == nil && !has {
				err = &kv.Error{Op: "delete", Kind: kv.NotFound, Err: fmt.Errorf("key %q", key),
					Hint: "nothing was deleted; list the keys with: scan --keys"}
			}
			if err == nil {
				err = tx.Delete(key)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "deleted %s\n", count(int64(len(operands)), "key"))
	}
	return err
}

// backup copies the store.
func (a *app) backup(ctx context.Context, db *kv.DB, operands []string, _ inspectFlags) error {
	if err := db.Backup(ctx, operands[0]); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "%s is a copy of %s\n", operands[0], db.Path())
	return err
}

// compact gives space back and says how much.
func (a *app) compact(ctx context.Context, db *kv.DB, _ []string, _ inspectFlags) error {
	if !db.Caps().Compacts {
		return &kv.Error{Op: "compact", Engine: db.Engine(), Path: db.Path(), Kind: kv.Unsupported,
			Err: errors.New("the engine gives no space back while it is open"), Hint: "copy the store: assay copy"}
	}
	before, err := db.Size()
	if err == nil {
		err = db.Compact(ctx)
	}
	if err != nil {
		return err
	}
	after, err := db.Size()
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "%d bytes on disk, %d before\n", after.Allocated, before.Allocated)
	}
	return err
}
