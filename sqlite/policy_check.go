//go:build cgo

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/assaydb/assay/kv"
)

// A Table is what a policy declares of a table. [Conn.Describe] tells what a table has.
type Table struct {
	Columns    []Column     `json:"columns"`              // in the order of the table
	Unique     [][]string   `json:"unique,omitempty"`     // columns of each UNIQUE constraint and unique index, sorted as texts
	Checks     []string     `json:"checks,omitempty"`     // expressions of the CHECK constraints, sorted, their words a space apart
	References []ForeignKey `json:"references,omitempty"` // sorted as texts
	Strict     bool         `json:"strict,omitempty"`
}

// A ForeignKey is a constraint of a table.
type ForeignKey struct {
	Columns  []string `json:"columns"`
	Table    string   `json:"table"`
	To       []string `json:"to,omitempty"` // columns of Table, if they are named
	OnUpdate string   `json:"on_update,omitempty"`
	OnDelete string   `json:"on_delete,omitempty"`
}

// Describe returns the tables of the schema "main" as they are, for [Policy.Tables].
func (c *Conn) Describe(ctx context.Context) (map[string]Table, error) {
	names, err := c.Tables(ctx, "main")
	if err != nil {
		return nil, err
	}
	strict, err := c.list(ctx, "SELECT name FROM pragma_table_list WHERE schema = 'main' AND strict")
	if err != nil {
		return nil, err
	}
	all := map[string]Table{}
	for _, name := range names {
		t := Table{Strict: slices.Contains(strict, name)}
		if t.Columns, err = c.ColumnsOf(ctx, "main", name); err == nil {
			t.Unique, err = c.uniques(ctx, name)
		}
		if err == nil {
			t.Checks, err = c.checks(ctx, name)
		}
		if err == nil {
			t.References, err = c.references(ctx, name)
		}
		if err != nil {
			return nil, err
		}
		all[name] = t
	}
	return all, nil
}

func (c *Conn) uniques(ctx context.Context, table string) (all [][]string, err error) {
	names, err := c.list(ctx, `SELECT name FROM pragma_index_list(?1, 'main') WHERE "unique" AND NOT partial`, table)
	for _, name := range names {
		columns, err := c.list(ctx, "SELECT coalesce(name, '') FROM pragma_index_info(?1, 'main') ORDER BY seqno", name)
		if err != nil {
			return nil, err
		}
		all = append(all, columns)
	}
	slices.SortFunc(all, slices.Compare)
	return all, err
}

func (c *Conn) checks(ctx context.Context, table string) (all []string, err error) {
	created, err := c.list(ctx, "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?1", table)
	for _, text := range created {
		all = append(all, checksOf(text)...)
	}
	return all, err
}

func (c *Conn) references(ctx context.Context, table string) ([]ForeignKey, error) {
	s, err := c.Prepare(ctx, `SELECT id, "table", "from", coalesce("to", ''), on_update, on_delete
		FROM pragma_foreign_key_list(?1, 'main') ORDER BY id, seq`)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.BindText(1, table)
	var all []ForeignKey
	for id := int64(-1); ; {
		ok, err := s.Next(ctx)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if s.Int(0) != id {
			id = s.Int(0)
			all = append(all, ForeignKey{Table: s.Text(1), OnUpdate: s.Text(4), OnDelete: s.Text(5)})
		}
		f := &all[len(all)-1]
		f.Columns = append(f.Columns, s.Text(2))
		if to := s.Text(3); to != "" {
			f.To = append(f.To, to)
		}
	}
	slices.SortFunc(all, func(a, b ForeignKey) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all, nil
}

// checkPolicy refuses what no database could keep.
func (c *Conn) checkPolicy(p *Policy) error {
	levels := []string{"", SyncFull.String(), SyncExtra.String(), SyncNormal.String(), SyncOff.String()}
	switch {
	case p.Journal != "" && p.Journal != "wal" && p.Journal != "delete":
		return c.invalid("set policy", "valid are wal and delete", "journal mode %q", p.Journal)
	case !slices.Contains(levels, p.Sync):
		return c.invalid("set policy", "valid are full, extra, normal, off", "level %q", p.Sync)
	case p.MaxBytes < 0 || p.SchemaVersion < 0 || p.LeastDriver < 0:
		return c.invalid("set policy", "", "a negative number")
	}
	return nil
}

// broken is the error that lists what breaks a policy.
func (c *Conn) broken(list []string) error {
	return &kv.Error{Op: "open", Engine: engine, Path: c.path, Kind: kv.Conflict,
		Err:  fmt.Errorf("the database's policy is broken: %s", strings.Join(list, "; ")),
		Hint: "mend what is listed by a program of SQLite that does not know the policy, or use the version of your program that fits"}
}

// violations returns the error that lists all that breaks p, behind what is in list. What settings
// mend is no violation, unless the database cannot take them.
func (c *Conn) violations(ctx context.Context, p *Policy, list []string, setting bool) error {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if p.LeastDriver > DriverVersion {
		add("it asks for driver %d, this is %d", p.LeastDriver, DriverVersion)
	}
	if p.SchemaVersion != 0 {
		got, err := c.pragmaInt(ctx, "user_version")
		if err != nil {
			return err
		}
		if got != int64(p.SchemaVersion) {
			add("the schema has version %d, not %d", got, p.SchemaVersion)
		}
	}
	if p.MaxBytes > 0 {
		pages, err := c.pragmaInt(ctx, "page_count")
		size, err2 := c.pragmaInt(ctx, "page_size")
		if err != nil || err2 != nil {
			return errors.Join(err, err2)
		}
		if pages*size > p.MaxBytes {
			add("it has %d bytes, at most %d are allowed", pages*size, p.MaxBytes)
		}
	}
	if p.Journal == "wal" && c.inMemory() {
		add("journal mode wal cannot be had in memory")
	}
	if p.Journal != "" && c.readOnly() {
		got, err := c.pragmaText(ctx, "journal_mode")
		if err != nil {
			return err
		}
		if !strings.EqualFold(got, p.Journal) {
			add("journal mode is %s, not %s, and a connection that only reads cannot set it", got, p.Journal)
		}
	}
	if p.Strict || p.Tables != nil {
		got, err := c.Describe(ctx)
		if err != nil {
			return err
		}
		list = append(list, compareTables(p, got)...)
	}
	if len(list) == 0 {
		return nil
	}
	err := c.broken(list).(*kv.Error)
	if setting {
		err.Op = "set policy"
		err.Hint = "mend what is listed first"
	}
	return err
}

// compareTables lists how the tables that are there differ from those that p declares.
func compareTables(p *Policy, got map[string]Table) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if p.Strict && !got[name].Strict {
			add("table %s is not STRICT", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Tables)) {
		want := p.Tables[name]
		is, ok := got[name]
		if !ok {
			add("there is no table %s", name)
			continue
		}
		for i := range max(len(want.Columns), len(is.Columns)) {
			switch {
			case i >= len(is.Columns):
				add("table %s has no column %s", name, want.Columns[i].Name)
			case i >= len(want.Columns):
				add("table %s has a column %s that is not declared", name, is.Columns[i].Name)
			case want.Columns[i] != is.Columns[i]:
				add("column %d of table %s is %s, declared is %s", i+1, name, is.Columns[i], want.Columns[i])
			}
		}
		if want.Strict && !is.Strict && !p.Strict {
			add("table %s is not STRICT", name)
		}
		if len(want.Unique)+len(is.Unique) > 0 && !reflect.DeepEqual(want.Unique, is.Unique) {
			add("unique in table %s are the columns %v, declared are %v", name, is.Unique, want.Unique)
		}
		if !slices.Equal(want.Checks, is.Checks) {
			add("the CHECK constraints of table %s are %q, declared are %q", name, is.Checks, want.Checks)
		}
		if len(want.References)+len(is.References) > 0 && !reflect.DeepEqual(want.References, is.References) {
			add("the foreign keys of table %s are %v, declared are %v", name, is.References, want.References)
		}
	}
	return list
}

func (c Column) String() string {
	words := []string{c.Name, c.Type}
	if c.PrimaryKey {
		words = append(words, "PRIMARY KEY")
	}
	if c.AutoIncrement {
		words = append(words, "AUTOINCREMENT")
	}
	if c.NotNull {
		words = append(words, "NOT NULL")
	}
	if c.Collation != "" && c.Collation != "BINARY" {
		words = append(words, "COLLATE "+c.Collation)
	}
	if c.Default != "" {
		words = append(words, "DEFAULT "+c.Default)
	}
	return strings.Join(words, " ")
}

// inMemory reports whether there is no file that others could open.
func (c *Conn) inMemory() bool {
	if c.enter("policy") != nil {
		return false
	}
	defer c.leave()
	return c.file() == ""
}
