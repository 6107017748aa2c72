//go:build cgo

package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	for _, query := range []string{"PRAGMA table_xinfo(sqlite_assay)", "SELECT name FROM pragma_table_info('sqlite_assay')",
		"SELECT name FROM pragma_table_xinfo('SQLite_Assay', 'main')"} {
		if got := text(t, c, query); got != "" {
			t.Errorf("%s:\n%s", query, got)
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
	check(t, other.Exec(t.Context(), `INSERT INTO sqlite_assay VALUES ('moon_phase', '"full"'); PRAGMA user_version = 4;
		UPDATE sqlite_assay SET value = '"a mode of later"' WHERE name = 'journal'`))
	check(t, other.Close())
	_, err := sqlite.Open(t.Context(), path, nil)
	wantKind(t, err, kv.Conflict)
	for _, want := range []string{`it asks for "moon_phase"`, "the schema has version 4, not 3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
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

// TestAPolicyOfAnotherProgramIsDoubted has another program write what SetPolicy would refuse: it
// stands in settings that the package makes by SQL.
func TestAPolicyOfAnotherProgramIsDoubted(t *testing.T) {
	for what, change := range map[string]string{
		"SQL in it":         `UPDATE sqlite_assay SET value = '"off; CREATE TABLE made (a)"' WHERE name = 'sync'`,
		"an unknown mode":   `UPDATE sqlite_assay SET value = '"off"' WHERE name = 'journal'`,
		"a negative number": `UPDATE sqlite_assay SET value = '-1' WHERE name = 'max_bytes'`,
		"no value":          `UPDATE sqlite_assay SET value = 'null' WHERE name = 'strict'`,
		"no JSON":           `UPDATE sqlite_assay SET value = 'tru' WHERE name = 'strict'`,
		"another type":      `UPDATE sqlite_assay SET value = '"yes"' WHERE name = 'strict'`,
	} {
		t.Run(what, func(t *testing.T) {
			path := withPolicy(t, nil)
			other := plain(t, path)
			check(t, other.Exec(t.Context(), change))
			_, err := sqlite.Open(t.Context(), path, nil)
			wantKind(t, err, kv.Corrupt)
			var made int
			check(t, other.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'made'").Scan(&made))
			if made != 0 {
				t.Error("the policy's SQL has run")
			}
		})
	}
}

// TestOptionsComeBehindThePolicy opens with settings that contradict it, some of which would write:
// beside a connection that has the log open, another journal mode cannot be set.
func TestOptionsComeBehindThePolicy(t *testing.T) {
	path := withPolicy(t, nil)
	first := open(t, path, nil)
	exec(t, first, "INSERT INTO users VALUES (1, 'a')")
	c := open(t, path, &sqlite.Options{Wait: -1, Journal: "delete", Sync: sqlite.SyncOff,
		Pragmas: []string{"foreign_keys = off", "page_size = 65536", "cache_size = 77"}})
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "3", "foreign_keys": "1", "cache_size": "77"} {
		if got := text(t, c, "PRAGMA "+pragma); got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}

	path = withPolicy(t, func(p *sqlite.Policy) { p.ReadOnly, p.Journal = true, "" })
	before := text(t, open(t, path, nil), "PRAGMA journal_mode")
	_, err := sqlite.Open(t.Context(), path, &sqlite.Options{Pragmas: []string{"query_only = off", "user_version = 9"}})
	wantKind(t, err, kv.NotWritable)
	c = open(t, path, &sqlite.Options{Journal: "wal"})
	wantKind(t, c.Exec(t.Context(), "PRAGMA journal_mode = wal"), kv.Permission)
	if got := text(t, c, "PRAGMA journal_mode; "); got != before {
		t.Errorf("the journal mode was %s and is %s, though nothing is to be written", before, got)
	}
	if got := text(t, c, "PRAGMA user_version"); got != "3" {
		t.Errorf("the version is %s", got)
	}
}

// TestPagesDoNotGrowAroundThePolicy has VACUUM make larger pages, of which as many are allowed.
func TestPagesDoNotGrowAroundThePolicy(t *testing.T) {
	path := withPolicy(t, func(p *sqlite.Policy) { p.Journal = "delete" })
	c := open(t, path, &sqlite.Options{Pragmas: []string{"page_size = 65536"}})
	exec(t, c, "VACUUM")
	if got := text(t, c, "PRAGMA page_size"); got != "4096" {
		t.Errorf("pages have %s bytes", got)
	}
}

// TestWhatSQLiteCompilesAgainIsGuarded has a statement change its meaning after it was prepared, by
// a trigger and by a view.
func TestWhatSQLiteCompilesAgainIsGuarded(t *testing.T) {
	c := open(t, withPolicy(t, nil), nil)
	exec(t, c, "CREATE TABLE t (a INTEGER) STRICT; CREATE VIEW v AS SELECT 'x' AS name; CREATE VIEW w AS SELECT 'x' AS name")
	insert, read := prepare(t, c, "INSERT INTO t VALUES (1)"), prepare(t, c, "SELECT name FROM v")
	listing := prepare(t, c, "SELECT name FROM w")
	for _, s := range []*sqlite.Stmt{insert, read, listing} {
		check(t, s.Run(t.Context()))
	}
	exec(t, c, `CREATE TRIGGER tr AFTER INSERT ON t BEGIN DELETE FROM sqlite_assay; END;
		DROP VIEW v; CREATE VIEW v AS SELECT name FROM sqlite_assay; DROP VIEW w; CREATE VIEW w AS SELECT name FROM sqlite_schema`)
	wantKind(t, insert.Run(t.Context()), kv.Permission)
	if ok, err := read.Next(t.Context()); ok || !errors.Is(err, kv.Permission) {
		t.Errorf("the policy's table is read: %q, %v", read.Text(0), err)
	}
	for {
		ok, err := listing.Next(t.Context())
		check(t, err)
		if !ok {
			break
		}
		if listing.Text(0) == "sqlite_assay" {
			t.Error("the policy's table is seen")
		}
	}
	if p := open(t, c.Path(), nil).Policy(); p == nil || p.SchemaVersion != 3 {
		t.Errorf("the policy is %+v now", p)
	}
}

// TestChecksAndDefaultsAreDeclared has another program change each of them.
func TestChecksAndDefaultsAreDeclared(t *testing.T) {
	const table = `CREATE TABLE "odd (" (a INTEGER DEFAULT 7 CHECK (a > 0 AND a <> ')'), -- CHECK (not this)
		b TEXT DEFAULT ('CHECK (' || 'nor this'), [check] TEXT CHECK([check]  IN ('it''s', '(')), CONSTRAINT c CHECK ((a)+1 < 9)/* end */)`
	path := filepath.Join(t.TempDir(), "a.db")
	c := open(t, path, nil)
	exec(t, c, table)
	tables, err := c.Describe(t.Context())
	check(t, err)
	want := []string{"( a ) + 1 < 9", "[check] IN ( 'it''s' , '(' )", "a > 0 AND a <> ')'"}
	if got := tables["odd ("]; !slices.Equal(got.Checks, want) || got.Columns[0].Default != "7" ||
		got.Columns[1].Default != "'CHECK (' || 'nor this'" || got.Columns[2].Default != "" {
		t.Errorf("%q in %+v", got.Checks, got)
	}
	check(t, c.SetPolicy(t.Context(), &sqlite.Policy{Tables: tables}))
	check(t, c.Close())
	check(t, open(t, path, nil).Close())
	for change, complaint := range map[string]string{
		strings.Replace(table, "< 9", "< 10", 1):            "the CHECK constraints of table odd ( are",
		strings.Replace(table, "DEFAULT 7", "DEFAULT 8", 1): "is a INTEGER DEFAULT 8, declared is a INTEGER DEFAULT 7",
	} {
		check(t, plain(t, path).Exec(t.Context(), `DROP TABLE "odd ("; `+change))
		_, err := sqlite.Open(t.Context(), path, nil)
		wantKind(t, err, kv.Conflict)
		if err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%q is not in\n%v", complaint, err)
		}
	}
	check(t, plain(t, path).Exec(t.Context(), `DROP TABLE "odd ("; `+strings.ReplaceAll(table, "  ", " ")))
	check(t, open(t, path, nil).Close())
}

// TestADefensiveConnectionSetsPolicies has SQLite's defensive mode, which refuses to make such a
// table.
func TestADefensiveConnectionSetsPolicies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	c := open(t, path, &sqlite.Options{Defensive: true})
	exec(t, c, "CREATE TABLE t (a)")
	for _, version := range []int{0, 1} {
		exec(t, c, fmt.Sprint("PRAGMA user_version = ", version))
		check(t, c.SetPolicy(t.Context(), &sqlite.Policy{SchemaVersion: version}))
		if c.Exec(t.Context(), "PRAGMA writable_schema = on; DELETE FROM sqlite_schema WHERE name = 't'") == nil {
			t.Error("it is defensive no more")
		}
	}
	if p := open(t, path, nil).Policy(); p == nil || p.SchemaVersion != 1 {
		t.Errorf("%+v", p)
	}
}

// TestTwoSetPoliciesAtOnce has several connections do so: one policy is there at the end, whole.
func TestTwoSetPoliciesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	exec(t, open(t, path, &sqlite.Options{Journal: "wal", Sync: sqlite.SyncOff}), "CREATE TABLE t (a)")
	var all sync.WaitGroup
	for i := range 4 {
		c := open(t, path, &sqlite.Options{Sync: sqlite.SyncOff})
		all.Go(func() {
			for range 20 {
				p := &sqlite.Policy{MaxBytes: int64(i+1) << 20, LeastDriver: i % 2}
				if err := c.SetPolicy(t.Context(), p); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	p := open(t, path, nil).Policy()
	if p == nil || p.MaxBytes == 0 || p.LeastDriver != int(p.MaxBytes>>20-1)%2 {
		t.Errorf("%+v", p)
	}
}
