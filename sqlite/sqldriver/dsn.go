//go:build cgo

package sqldriver

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/sqlite"
)

// pragmas are the parameters that set a pragma of that name, and their short forms.
var pragmas = map[string]string{
	"_auto_vacuum": "auto_vacuum", "_vacuum": "auto_vacuum", "_cache_size": "cache_size",
	"_case_sensitive_like": "case_sensitive_like", "_cslike": "case_sensitive_like",
	"_defer_foreign_keys": "defer_foreign_keys", "_defer_fk": "defer_foreign_keys",
	"_ignore_check_constraints": "ignore_check_constraints", "_locking_mode": "locking_mode", "_locking": "locking_mode",
	"_query_only": "query_only", "_recursive_triggers": "recursive_triggers", "_rt": "recursive_triggers",
	"_secure_delete": "secure_delete",
}

// parse reads a name: a path or a URI, and parameters behind a question mark.
func parse(name string) (*Connector, error) {
	c := &Connector{path: name, o: Options{Begin: sqlite.Deferred}}
	path, query, ok := strings.Cut(name, "?")
	if !ok {
		return c, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, invalid(name, err)
	}
	for key, all := range values {
		for _, v := range all {
			if !strings.HasPrefix(key, "_") {
				continue
			}
			if err := c.parameter(key, v); err != nil {
				return nil, invalid(name, err)
			}
		}
		if strings.HasPrefix(key, "_") {
			delete(values, key)
		}
	}
	c.path = path
	if strings.HasPrefix(path, "file:") && len(values) > 0 { // SQLite's own parameters
		c.path += "?" + values.Encode()
	}
	return c, nil
}

func invalid(name string, err error) error {
	return &kv.Error{Op: "open", Engine: Name, Path: name, Kind: kv.Invalid, Err: err,
		Hint: "docs/sqlite.md lists the parameters"}
}

func (c *Connector) parameter(key, v string) error {
	db := &c.o.Database
	switch key {
	case "_busy_timeout", "_timeout":
		ms, err := strconv.Atoi(v)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if db.Wait = time.Duration(ms) * time.Millisecond; ms <= 0 {
			db.Wait = -1
		}
	case "_foreign_keys", "_fk":
		on, err := strconv.ParseBool(switched(v))
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		db.ForeignKeys = on
	case "_journal_mode", "_journal":
		db.Journal = v
	case "_synchronous", "_sync":
		return c.level(v)
	case "_txlock":
		kinds := map[string]sqlite.TxKind{"deferred": sqlite.Deferred, "immediate": sqlite.Immediate, "exclusive": sqlite.Exclusive}
		kind, ok := kinds[strings.ToLower(v)]
		if !ok {
			return fmt.Errorf("_txlock %q: valid are deferred, immediate, exclusive", v)
		}
		c.o.Begin = kind
	case "_loc":
		if v == "auto" {
			c.o.Location = time.Local
			return nil
		}
		loc, err := time.LoadLocation(v)
		if err != nil {
			return fmt.Errorf("_loc: %w", err)
		}
		c.o.Location = loc
	case "_mutex": // each connection has one user anyway
		if v != "no" && v != "full" {
			return fmt.Errorf("_mutex %q: valid are no, full", v)
		}
	case "_pragma":
		return c.pragma(v)
	default:
		name, ok := pragmas[key]
		if !ok {
			return fmt.Errorf("unknown parameter %s", key)
		}
		return c.pragma(name + "(" + v + ")")
	}
	return nil
}

// switched returns a boolean as Go reads it.
func switched(v string) string {
	switch strings.ToLower(v) {
	case "on", "yes":
		return "true"
	case "off", "no":
		return "false"
	}
	return v
}

func (c *Connector) level(v string) error {
	for i, names := range [][]string{sqlite.SyncFull: {"2", "full"}, sqlite.SyncExtra: {"3", "extra"},
		sqlite.SyncNormal: {"1", "normal"}, sqlite.SyncOff: {"0", "off"}} {
		for _, n := range names {
			if strings.EqualFold(v, n) {
				c.o.Database.Sync = sqlite.Level(i)
				return nil
			}
		}
	}
	return fmt.Errorf("synchronous %q: valid are off, normal, full, extra", v)
}

// pragma takes "name(value)", "name=value" or "name". What Options have is set there.
func (c *Connector) pragma(v string) error {
	name, value, _ := strings.Cut(strings.TrimSuffix(strings.Replace(v, "=", "(", 1), ")"), "(")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	word := strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789")
	if name == "" || word != "" || strings.ContainsAny(value, ";()") {
		return fmt.Errorf("pragma %q: write name(value)", v)
	}
	switch strings.ToLower(name) {
	case "busy_timeout":
		return c.parameter("_busy_timeout", value)
	case "foreign_keys":
		return c.parameter("_foreign_keys", value)
	case "journal_mode":
		return c.parameter("_journal_mode", value)
	case "synchronous":
		return c.level(value)
	case "wal_autocheckpoint":
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("pragma %q: %w", v, err)
		}
		if c.o.Database.Checkpoint = n; n <= 0 {
			c.o.Database.Checkpoint = -1
		}
		return nil
	}
	if value != "" {
		name += " = " + value
	}
	c.o.Database.Pragmas = append(c.o.Database.Pragmas, name)
	return nil
}
