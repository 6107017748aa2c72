package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv"
)

// otherProgram runs statements on the database at path, by database/sql, and returns what the last
// one finds.
func otherProgram(t *testing.T, path string, statements ...string) (found []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range statements {
		rows, err := db.Query(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		found = nil
		for rows.Next() {
			var one string
			if err := rows.Scan(&one); err != nil {
				t.Fatal(err)
			}
			found = append(found, one)
		}
		if err := rows.Err(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return found
}

// A bit of the schema's page may turn the name of a column into another one, or its one row into
// none.
func aTableThatIsNotWhatItWasMadeAsIsCorrupt(t *testing.T, engine string) {
	for _, damage := range []string{
		"UPDATE sqlite_schema SET sql = replace(sql, ' v ', ' w ') WHERE name = 'kv'",
		"DELETE FROM sqlite_schema",
	} {
		path := filepath.Join(t.TempDir(), "store")
		db := open(t, engine, path, "")
		if err := errors.Join(db.Put(t.Context(), kv.Synced, []byte("k"), []byte("v")), db.Close()); err != nil {
			t.Fatal(err)
		}
		otherProgram(t, path, "PRAGMA writable_schema = ON; "+damage)
		db = open(t, engine, path, "")
		defer db.Close()
		if _, err := db.Get(t.Context(), []byte("k")); !errors.Is(err, kv.Corrupt) {
			t.Errorf("%s: get: %v, want corrupt", damage, err)
		}
		if err := db.Put(t.Context(), kv.Synced, []byte("k"), nil); !errors.Is(err, kv.Corrupt) {
			t.Errorf("%s: put: %v, want corrupt", damage, err)
		}
		err := db.View(t.Context(), func(*kv.Snapshot) error { return nil })
		if !errors.Is(err, kv.Corrupt) && strings.HasPrefix(damage, "DELETE") {
			t.Errorf("%s: view: %v, want corrupt", damage, err)
		}
	}
}

func aTableOfAnotherProgramIsAStore(t *testing.T, engine string) {
	for what, c := range map[string]struct{ table, insert, params, classes, class string }{
		"blobs": {"CREATE TABLE cache(name BLOB PRIMARY KEY, data BLOB) WITHOUT ROWID",
			"INSERT INTO cache VALUES(CAST('b' AS BLOB), x'32'), (CAST('d' AS BLOB), NULL)",
			"?Table=cache&Key=name&Value=data",
			"SELECT DISTINCT typeof(name) || typeof(data) FROM cache WHERE data > x'33'", "blobblob"},
		"text": {"CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL)",
			"INSERT INTO settings VALUES('b', '2'), ('d', '')", "?Table=settings&Key=key&Value=VALUE",
			"SELECT DISTINCT typeof(key) || typeof(value) FROM settings WHERE value LIKE 'new%'", "texttext"},
		"blobs in a column for text": {"CREATE TABLE t(k VARCHAR(20) UNIQUE, v)",
			"INSERT INTO t VALUES(CAST('b' AS BLOB), CAST('2' AS BLOB)), (CAST('d' AS BLOB), x'')", "?Table=t",
			"SELECT DISTINCT typeof(k) || typeof(v) FROM t", "blobblob"},
		"a number for each row, odd names": {"CREATE TABLE `my \"odd\" table`(id INTEGER PRIMARY KEY, `the ``key` TEXT UNIQUE, v BLOB, more TEXT DEFAULT 'x')",
			"INSERT INTO `my \"odd\" table`(`the ``key`, v) VALUES('b', CAST('2' AS BLOB)), ('d', '')",
			"?Table=my+%22odd%22+table&Key=the+%60key",
			"SELECT DISTINCT typeof(`the ``key`) || typeof(v) FROM `my \"odd\" table` WHERE more = 'x' AND v > x'33'",
			"textblob"},
	} {
		path := filepath.Join(t.TempDir(), "other.db")
		otherProgram(t, path, c.table, c.insert)
		db := open(t, engine, path, c.params)
		if got := all(t, db, kv.Range{}); got != "b=2 d=" {
			t.Errorf("%s: got %s", what, got)
		}
		err := db.Update(t.Context(), kv.Synced, func(tx *kv.Tx) error {
			for _, k := range []string{"c", "a", "b", "e"} {
				if err := tx.Put([]byte(k), []byte("new "+k)); err != nil {
					return err
				}
			}
			return tx.Delete([]byte("e"))
		})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := all(t, db, kv.Range{}); got != "a=new a b=new b c=new c d=" {
			t.Errorf("%s: got %s", what, got)
		}
		if got := all(t, db, kv.Range{Start: []byte("b"), End: []byte("d"), Reverse: true}); got != "c=new c b=new b" {
			t.Errorf("%s, in reverse: got %s", what, got)
		}
		closeDB(t, db)
		db = open(t, engine, path, c.params+"&mode=ro")
		if got := get(t, db, "a"); got != "new a" {
			t.Errorf("%s, read-only: a is %q", what, got)
		}
		closeDB(t, db)
		got := otherProgram(t, path, c.classes)
		if !slices.Equal(got, []string{c.class}) {
			t.Errorf("%s: the other program finds %q, want %q", what, got, c.class)
		}
		if got := otherProgram(t, path, "PRAGMA journal_mode"); !slices.Equal(got, []string{"delete"}) {
			t.Errorf("%s: its journal mode is %q now", what, got)
		}
	}
}

func all(t *testing.T, db *kv.DB, r kv.Range) string {
	t.Helper()
	var list, keys []string
	err := db.View(t.Context(), func(s *kv.Snapshot) error {
		for k, v := range s.Scan(r) {
			list = append(list, string(k)+"="+string(v))
			if n, err := s.Len(k); n != len(v) || err != nil {
				t.Errorf("the length of %s: got %d, %v, want %d", k, n, err, len(v))
			}
		}
		for k := range s.Keys(r) {
			keys = append(keys, string(k))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range keys {
		if len(keys) != len(list) || !strings.HasPrefix(list[i], k+"=") {
			t.Errorf("keys alone: %q, pairs: %q", keys, list)
		}
	}
	return strings.Join(list, " ")
}

func aTableThatNoStoreCanBeKeptInIsRefusedAndNotTouched(t *testing.T, engine string) {
	for what, c := range map[string]struct {
		statements, params, want string
	}{
		"no such table":            {"CREATE TABLE songs(k BLOB PRIMARY KEY, v)", "?Table=t", `"songs"`},
		"no such key":              {"CREATE TABLE t(id BLOB PRIMARY KEY, v)", "?Table=t", `"id"`},
		"no such value":            {"CREATE TABLE t(k BLOB PRIMARY KEY, data)", "?Table=t", `"data"`},
		"a key in double quotes":   {"CREATE TABLE t(k BLOB PRIMARY KEY, v)", `?Table=t&Key="k"`, `"v"`},
		"a key that is not unique": {"CREATE TABLE t(k BLOB, v)", "?Table=t", "UNIQUE"},
		"a key of two columns":     {"CREATE TABLE t(k BLOB, l BLOB, v, PRIMARY KEY(k, l))", "?Table=t", "UNIQUE"},
		"unique for some rows": {"CREATE TABLE t(k BLOB, v); CREATE UNIQUE INDEX i ON t(k) WHERE v > 1",
			"?Table=t", "UNIQUE"},
		"without regard to case":  {"CREATE TABLE t(k TEXT COLLATE NOCASE PRIMARY KEY, v)", "?Table=t", "BINARY"},
		"numbers":                 {"CREATE TABLE t(k INTEGER PRIMARY KEY, v)", "?Table=t", "INTEGER"},
		"values that are numbers": {"CREATE TABLE t(k BLOB PRIMARY KEY, v REAL)", "?Table=t", "REAL"},
		"text among blobs": {"CREATE TABLE t(k BLOB PRIMARY KEY, v); INSERT INTO t VALUES('a', 1), (x'61', 2)",
			"?Table=t", "blob"},
		"numbers among text": {"CREATE TABLE t(k BLOB PRIMARY KEY, v); INSERT INTO t VALUES(1, 1), ('a', 2)",
			"?Table=t", "integer"},
		"a key that is nothing": {"CREATE TABLE t(k BLOB PRIMARY KEY, v); INSERT INTO t VALUES(NULL, 1), (x'61', 2)",
			"?Table=t", "null"},
		"a key of no bytes": {"CREATE TABLE t(k BLOB PRIMARY KEY, v); INSERT INTO t VALUES(x'', 1)",
			"?Table=t", "nothing"},
		"a view": {"CREATE TABLE s(k BLOB PRIMARY KEY, v); CREATE VIEW t AS SELECT * FROM s",
			"?Table=t", "view"},
		"a value that is computed": {"CREATE TABLE t(k BLOB PRIMARY KEY, v BLOB AS (k))", "?Table=t", "generated"},
		"text of two bytes for each": {"PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(k TEXT PRIMARY KEY, v)",
			"?Table=t", "UTF-16"},
	} {
		path := filepath.Join(t.TempDir(), "other.db")
		otherProgram(t, path, strings.Split(c.statements, "; ")...)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"", "&mode=ro", "&journal_mode=WAL"} {
			_, err := kv.Open(t.Context(), engine+":"+path+c.params+mode)
			wantKind(t, what+mode, err, kv.Invalid)
			if err != nil && !strings.Contains(err.Error()+kv.HintOf(err), c.want) {
				t.Errorf("%s%s: %v (%s) does not say %s", what, mode, err, kv.HintOf(err), c.want)
			}
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the database changed (%v)", what, err)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := kv.Open(t.Context(), engine+":"+missing+"?Table=t")
	wantKind(t, "a file that does not exist", err, kv.NoStore)
	path := filepath.Join(t.TempDir(), "other.db")
	otherProgram(t, path, "CREATE TABLE t(k BLOB PRIMARY KEY, v, owner TEXT NOT NULL)")
	db := open(t, engine, path, "?Table=t")
	wantKind(t, "a row of which more must be given", db.Put(t.Context(), kv.Flushed, []byte("a"), nil), kv.Invalid)
	_, err = db.Get(t.Context(), []byte("a"))
	wantKind(t, "get after it", err, kv.NotFound)
}

func typedOptionsAreThoseOfTheURL(t *testing.T, engine string) {
	path := filepath.Join(t.TempDir(), "db")
	db, err := typed[engine](t.Context(), path, &sqlite.Options{JournalMode: "DELETE", PageSize: 8192, CacheSize: -4000,
		WALAutocheckpoint: 50})
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, "a", "1")
	got := map[string]string{}
	for _, s := range db.Settings() {
		got[s.Name] = s.Value
	}
	for name, want := range map[string]string{"journal_mode": "DELETE", "page_size": "8192", "cache_size": "-4000",
		"wal_autocheckpoint": "50"} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	closeDB(t, db)
	_, err = typed[engine](t.Context(), path, &sqlite.Options{JournalMode: "OFF"})
	wantKind(t, "a value that is not on offer", err, kv.Invalid)
	db, err = typed[engine](t.Context(), path, nil, kv.WithMode(kv.ReadOnly))
	if err != nil {
		t.Fatal(err)
	}
	defer closeDB(t, db)
	if got := get(t, db, "a"); got != "1" || db.Mode() != kv.ReadOnly {
		t.Errorf("read-only: a is %q, the mode %v", got, db.Mode())
	}
	if db.Engine() != engine {
		t.Errorf("got engine %q", db.Engine())
	}
}

// theLengthOfAValueIsToldWithoutReadingIt damages the pages that a value lies in: its key and
// length are still told, it itself is not. In the package's own table SQLite reads all of a row
// that it looks for.
func theLengthOfAValueIsToldWithoutReadingIt(t *testing.T, engine string) {
	path := filepath.Join(t.TempDir(), "db")
	otherProgram(t, path, "CREATE TABLE t(id INTEGER PRIMARY KEY, k BLOB UNIQUE, v)",
		"INSERT INTO t(k, v) VALUES(CAST('a' AS BLOB), zeroblob(100000))")
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(stored[3*4096:]) // behind the schema, the table's first page and the index's
	if err := os.WriteFile(path, stored, 0o600); err != nil {
		t.Fatal(err)
	}
	err = open(t, engine, path, "?mode=ro&Table=t").View(t.Context(), func(s *kv.Snapshot) error {
		if n, err := s.Len([]byte("a")); n != 100_000 || err != nil {
			t.Errorf("length: got %d, %v", n, err)
		}
		for k := range s.Keys(kv.Range{}) {
			if string(k) != "a" {
				t.Errorf("key: got %s", k)
			}
		}
		if err := s.Err(); err != nil {
			t.Errorf("keys alone: %v", err)
		}
		_, err := s.Get([]byte("a"))
		return err
	})
	wantKind(t, "the value", err, kv.Corrupt)
}

// aFullDiskIsNotDoneAndTheStoreGoesOn has SQLite find the database full, as it does of a disk. The
// failing disk of drivertest tells that of Full the same holds after a power cut.
func aFullDiskIsNotDoneAndTheStoreGoesOn(t *testing.T, engine string) {
	for _, journal := range []string{"WAL", "DELETE"} {
		path := filepath.Join(t.TempDir(), "db")
		db := open(t, engine, path, "?journal_mode="+journal)
		put(t, db, "a", "1")
		if err := db.Driver().(*sqlite.Store).Writer().Exec("PRAGMA max_page_count = 20"); err != nil {
			t.Fatal(err)
		}
		large := []byte(strings.Repeat("x", 1<<20))
		var two kv.Batch
		two.Put([]byte("b"), nil)
		two.Put([]byte("c"), large)
		wantKind(t, journal+": put", db.Put(t.Context(), kv.Flushed, []byte("b"), large), kv.Full)
		wantKind(t, journal+": write", db.Write(t.Context(), kv.Flushed, &two), kv.Full)
		wantKind(t, journal+": update", db.Update(t.Context(), kv.Flushed, two.Run), kv.Full)
		put(t, db, "d", "4")
		if got := all(t, db, kv.Range{}); got != "a=1 d=4" {
			t.Errorf("%s: got %s", journal, got)
		}
	}
}
