//go:build cgo

package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/sqlite"
)

const declared = `CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE UNIQUE) STRICT;
	CREATE TABLE posts (id INTEGER PRIMARY KEY AUTOINCREMENT, author INTEGER REFERENCES users(id) ON DELETE CASCADE) STRICT;
	PRAGMA user_version = 3`

// withPolicy makes a database with the tables above, and a policy that fits all of it.
func withPolicy(t *testing.T, change func(p *sqlite.Policy)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.db")
	c := open(t, path, nil)
	exec(t, c, declared)
	tables, err := c.Describe(t.Context())
	check(t, err)
	p := &sqlite.Policy{SchemaVersion: 3, LeastDriver: 1, Strict: true, Tables: tables, ForeignKeys: true, Journal: "wal",
		Sync: "extra", MaxBytes: 400 << 10, Trace: true}
	if change != nil {
		change(p)
	}
	check(t, c.SetPolicy(t.Context(), p))
	check(t, c.Close())
	return path
}

func TestThePolicyHoldsUnseen(t *testing.T) {
	c := open(t, withPolicy(t, nil), &sqlite.Options{Sync: sqlite.SyncOff, Journal: "delete"})
	if p := c.Policy(); p == nil || p.SchemaVersion != 3 || len(p.Tables) != 2 {
		t.Fatalf("%+v", p)
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "3", "foreign_keys": "1", "max_page_count": "100"} {
		if got := text(t, c, "PRAGMA "+pragma); got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
	for _, query := range []string{"PRAGMA journal_mode = delete", "PRAGMA Synchronous = off", "PRAGMA foreign_keys(0)",
		"PRAGMA main.max_page_count = 1000000", "PRAGMA writable_schema = on", "PRAGMA page_size = 65536"} {
		if err := c.Exec(t.Context(), query); !errors.Is(err, kv.Permission) {
			t.Errorf("%s: %v", query, err)
		}
	}
	writable := open(t, c.Path(), &sqlite.Options{Pragmas: []string{"writable_schema = on"}})
	if writable.Exec(t.Context(), "DELETE FROM sqlite_schema WHERE name = 'sqlite_assay'") == nil {
		t.Error("a program can remove the policy")
	}
	wantKind(t, c.Exec(t.Context(), "INSERT INTO posts (author) VALUES (7)"), kv.Conflict)
	wantKind(t, c.Exec(t.Context(), "CREATE TABLE big (b BLOB) STRICT; INSERT INTO big VALUES (zeroblob(500000))"), kv.Full)
	events, _ := c.Ring().Take(nil)
	if len(events) == 0 {
		t.Error("nothing was traced")
	}
}

func TestThePolicysTableIsNotSeen(t *testing.T) {
	path := withPolicy(t, nil)
	c := open(t, path, nil)
	for _, query := range []string{
		"SELECT name FROM sqlite_schema", "SELECT * FROM main.sqlite_master", "SELECT sql FROM sqlite_schema WHERE type = 'table'",
		"SELECT name FROM pragma_table_list", "PRAGMA table_list", "SELECT group_concat(name) OVER () FROM sqlite_schema WHERE name = 'posts'",
		"PRAGMA table_info(sqlite_assay)", "SELECT tbl_name || '' FROM sqlite_schema",
	} {
		if got := text(t, c, query); strings.Contains(got, "sqlite_assay") {
			t.Errorf("%s:\n%s", query, got)
		}
	}
	for _, query := range []string{
		"SELECT * FROM sqlite_assay", "DELETE FROM SQLite_Assay", "INSERT INTO main.sqlite_assay VALUES ('strict', 'false')",
		"UPDATE sqlite_assay SET value = 1", "DROP TABLE sqlite_assay", "ALTER TABLE sqlite_assay RENAME TO a",
		"CREATE INDEX i ON sqlite_assay (name)", "CREATE TRIGGER tr AFTER INSERT ON sqlite_assay BEGIN SELECT 1; END",
		"CREATE VIEW v AS SELECT * FROM sqlite_assay; SELECT * FROM v", "SELECT (SELECT count(*) FROM sqlite_assay)",
	} {
		if err := c.Exec(t.Context(), query); err == nil {
			t.Errorf("%s: no error", query)
		}
	}
	if _, err := c.Column("main", "sqlite_assay", "name"); !errors.Is(err, kv.NotFound) {
		t.Error(err)
	}
	for _, name := range []string{"sqlite_assay", "SQLite_Assay", "sqlite_assay\x00"} {
		if _, err := c.OpenBlob(t.Context(), "main", name, "value", 1, sqlite.WriteBlob); err == nil {
			t.Errorf("the blobs of %q can be written", name)
		}
		if _, err := c.Column("main", name, "value"); !errors.Is(err, kv.NotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
	// It outlives what SQLite does with all tables.
	exec(t, c, "VACUUM; ANALYZE; REINDEX")
	if got := text(t, c, "PRAGMA integrity_check"); got != "ok" {
		t.Error(got)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	check(t, c.BackupTo(t.Context(), copied))
	if p := open(t, copied, nil).Policy(); p == nil || p.SchemaVersion != 3 {
		t.Errorf("the copy has %+v", p)
	}
}

func TestViolationsAreOneErrorThatListsAll(t *testing.T) {
	path := withPolicy(t, nil)
	other := plain(t, path)
	check(t, other.Exec(t.Context(), `PRAGMA user_version = 4; CREATE TABLE loose (a); ALTER TABLE users ADD COLUMN age INTEGER;
		DROP TABLE posts; CREATE TABLE posts (id INTEGER PRIMARY KEY, author TEXT) STRICT;
		UPDATE sqlite_assay SET value = '9' WHERE name = 'least_driver';
		INSERT INTO loose VALUES (zeroblob(500000))`))
	check(t, other.Close())
	_, err := sqlite.Open(t.Context(), path, nil)
	wantKind(t, err, kv.Conflict)
	for _, want := range []string{"asks for driver 9, this is 1", "the schema has version 4, not 3", "table loose is not STRICT",
		"table users has a column age that is not declared", "column 1 of table posts is id INTEGER PRIMARY KEY, declared is id INTEGER PRIMARY KEY AUTOINCREMENT",
		"column 2 of table posts is author TEXT, declared is author INTEGER", "the foreign keys of table posts are", "bytes, at most 409600 are allowed"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

// TestASettingThatCannotBeMadeIsListed opens a file for reading alone, whose journal mode another
// program has changed.
func TestASettingThatCannotBeMadeIsListed(t *testing.T) {
	path := withPolicy(t, nil)
	other := plain(t, path)
	check(t, other.Exec(t.Context(), "PRAGMA journal_mode = delete; PRAGMA user_version = 4"))
	check(t, other.Close())
	_, err := sqlite.Open(t.Context(), path, &sqlite.Options{Mode: sqlite.ReadOnlyMode})
	wantKind(t, err, kv.Conflict)
	for _, want := range []string{"the schema has version 4, not 3", "journal mode is delete, not wal"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

func TestAPolicyOfANewerDriverIsRefused(t *testing.T) {
	path := withPolicy(t, nil)
	other := plain(t, path)
	check(t, other.Exec(t.Context(), "INSERT INTO sqlite_assay VALUES ('moon_phase', '\"full\"')"))
	check(t, other.Close())
	_, err := sqlite.Open(t.Context(), path, nil)
	wantKind(t, err, kv.Conflict)
	if err == nil || !strings.Contains(err.Error(), `"moon_phase"`) {
		t.Error(err)
	}
}

func TestAReadOnlyPolicyIsChangedByTheNextOne(t *testing.T) {
	path := withPolicy(t, func(p *sqlite.Policy) { p.ReadOnly = true })
	c := open(t, path, nil)
	wantKind(t, c.Exec(t.Context(), "INSERT INTO users VALUES (1, 'a')"), kv.NotWritable)
	wantKind(t, c.Exec(t.Context(), "PRAGMA query_only = off"), kv.Permission)
	check(t, c.SetPolicy(t.Context(), nil))
	wantKind(t, c.Exec(t.Context(), "INSERT INTO users VALUES (1, 'a')"), kv.NotWritable)
	check(t, c.Close())
	c = open(t, path, nil)
	exec(t, c, "INSERT INTO users VALUES (1, 'a')")
}

func TestAPolicyThatIsBrokenIsNotSet(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "a.db"), nil)
	exec(t, c, "CREATE TABLE t (a)")
	err := c.SetPolicy(t.Context(), &sqlite.Policy{Strict: true, SchemaVersion: 2})
	wantKind(t, err, kv.Conflict)
	wantKind(t, c.SetPolicy(t.Context(), &sqlite.Policy{Sync: "loud"}), kv.Invalid)
	if got := text(t, c, "SELECT name FROM sqlite_schema"); got != "t" {
		t.Error(got)
	}
}

// plain opens a database as a program that does not know policies.
func plain(t *testing.T, path string) *plainDB {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	check(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return &plainDB{db}
}

type plainDB struct{ *sql.DB }

func (p *plainDB) Exec(ctx context.Context, text string) error {
	_, err := p.ExecContext(ctx, text)
	return err
}
