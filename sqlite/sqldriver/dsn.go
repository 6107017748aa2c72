//go:build cgo

package sqldriver

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/sqlite"
)

// pragma is one that a parameter sets.
type pragma struct {
	name  string
	valid []string // values that it may have; none is any
}

// switches are the values of a pragma that is on or off: SQLite takes any other for off.
var switches = []string{"0", "1", "on", "off", "true", "false", "yes", "no"}

// pragmas are the parameters that set a pragma, by their long and their short form.
var pragmas = func() map[string]pragma {
	vacuum := pragma{"auto_vacuum", []string{"0", "1", "2", "none", "full", "incremental"}}
	like, defers := pragma{"case_sensitive_like", switches}, pragma{"defer_foreign_keys", switches}
	locking, triggers := pragma{"locking_mode", []string{"normal", "exclusive"}}, pragma{"recursive_triggers", switches}
	return map[string]pragma{"_auto_vacuum": vacuum, "_vacuum": vacuum, "_cache_size": {"cache_size", nil},
		"_case_sensitive_like": like, "_cslike": like, "_defer_foreign_keys": defers, "_defer_fk": defers,
		"_ignore_check_constraints": {"ignore_check_constraints", switches}, "_locking_mode": locking, "_locking": locking,
		"_query_only": {"query_only", switches}, "_recursive_triggers": triggers, "_rt": triggers,
		"_secure_delete": {"secure_delete", append(slices.Clone(switches), "fast")}, "_writable_schema": {"writable_schema", switches}}
}()

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
	for _, key := range slices.Sorted(maps.Keys(values)) { // or settings would meet in another order each time
		for _, v := range values[key] {
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
		ms, err := strconv.ParseInt(v, 10, 32) // as SQLite has it
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
	case "_timezone", "_time_format", "_time_integer_format", "_inttotime", "_texttotime":
		return c.times(key, v)
	case "_defensive", "_dqs":
		on, err := strconv.ParseBool(v)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if key == "_defensive" {
			db.Defensive = on
		} else {
			db.StrictQuotes = !on
		}
	case "_mutex": // each connection has one user anyway
		if v != "no" && v != "full" {
			return fmt.Errorf("_mutex %q: valid are no, full", v)
		}
	case "_pragma":
		return c.pragma(v)
	default:
		p, ok := pragmas[key]
		if !ok {
			return fmt.Errorf("unknown parameter %s", key)
		}
		if p.valid != nil && !slices.Contains(p.valid, strings.ToLower(v)) {
			return fmt.Errorf("%s %q: valid are %s", key, v, strings.Join(p.valid, ", "))
		}
		return c.pragma(p.name + "(" + v + ")")
	}
	return nil
}

// timeFormatOf are the formats by modernc's names.
var timeFormatOf = map[string]map[string]TimeFormat{
	"_time_format":         {"sqlite": TimeWithZone, "datetime": TimeInSeconds},
	"_time_integer_format": {"unix": TimeUnix, "unix_milli": TimeUnixMilli, "unix_micro": TimeUnixMicro, "unix_nano": TimeUnixNano},
}

// times sets a parameter about times, of those that modernc has.
func (c *Connector) times(key, v string) error {
	switch key {
	case "_timezone":
		zone, err := time.LoadLocation(v)
		if err != nil {
			return fmt.Errorf("_timezone: %w", err)
		}
		c.o.Zone = zone
		return nil
	case "_inttotime", "_texttotime":
		on, err := strconv.ParseBool(v)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if key == "_texttotime" {
			c.o.AnyTimes = on
		} else if !on {
			return errors.New("_inttotime: integers in columns of times are times in any case")
		}
		return nil
	}
	f, ok := timeFormatOf[key][v]
	if !ok {
		return fmt.Errorf("%s %q: valid are %s", key, v, strings.Join(slices.Sorted(maps.Keys(timeFormatOf[key])), ", "))
	}
	c.o.Times = f
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
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return fmt.Errorf("pragma %q: %w", v, err)
		}
		if c.o.Database.Checkpoint = int(n); n <= 0 {
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
