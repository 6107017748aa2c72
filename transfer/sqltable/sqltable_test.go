package sqltable_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/transfer"
	"github.com/assaydb/assay/transfer/sqltable"

	_ "github.com/assaydb/assay/engines/bboltkv"
	_ "github.com/assaydb/assay/engines/pebblekv"
)

// otherProgram runs statements on an SQLite file through database/sql alone.
func otherProgram(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// dump returns all rows of a table with what SQLite says of each field, read by database/sql alone.
func dump(t *testing.T, path, table, columns, order string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var fields []string
	for c := range strings.SplitSeq(columns, ",") {
		fields = append(fields, fmt.Sprintf("typeof(%s) || ' ' || iif(typeof(%[1]s) IN ('text', 'blob'), hex(%[1]s), quote(%[1]s))", c))
	}
	rows, err := db.Query("SELECT " + strings.Join(fields, " || ' | ' || ") + " FROM " + table + " ORDER BY " + order)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var row string
		if err := rows.Scan(&row); err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// pairs returns what a store holds.
func pairs(t *testing.T, rawURL string, r kv.Range) (list []string) {
	t.Helper()
	db, err := transfer.OpenExisting(t.Context(), rawURL, transfer.Look)
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(t.Context(), func(s *kv.Snapshot) error {
		for k, v := range s.Scan(r) {
			list = append(list, fmt.Sprintf("%q=%s", k, v))
			if got, err := s.Get(k); err != nil || string(got) != string(v) {
				t.Errorf("get %q: %q, %v, want %q", k, got, err, v)
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return list
}

const people = "CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE, size REAL, photo BLOB, ok BOOLEAN, x)"

// values are one of each kind that SQL can tell apart.
var values = []string{"NULL", "0", "-9223372036854775808", "9223372036854775807", "1.0", "0.1", "-1e300", "9e999",
	"-9e999", "''", "'ann'",
	"'1'", "'<&>\"\\'", "'2020-01-02'", "'2020-01-02 03:04:05'", "CAST(x'ff00' AS TEXT)", "'a' || char(0) || 'b'",
	"x''", "x'00ff'", "'grüße'"}

func fillPeople(t *testing.T, path string) {
	t.Helper()
	statements := []string{people}
	for i, v := range values {
		statements = append(statements, fmt.Sprintf("INSERT INTO people VALUES(%d, 'n%d', %s, %[3]s, %[3]s, %[3]s, %[3]s)", i*i-50, i, v))
	}
	otherProgram(t, path, statements...)
}

// TestAWholeTableGoesThereAndBack: every value comes back as it was, through another engine.
func TestAWholeTableGoesThereAndBack(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.db")
	fillPeople(t, old)
	through, back := "bbolt:"+filepath.Join(dir, "kv"), filepath.Join(dir, "back.db")
	report := copied(t, sqltable.URL(old, sqltable.Table{Name: "people"}), through)
	if int(report.Pairs) != len(values) {
		t.Fatalf("%d pairs of %d rows", report.Pairs, len(values))
	}
	var columns []sqltable.Column
	for _, c := range []string{"name", "born", "size", "photo", "ok", "x"} {
		columns = append(columns, sqltable.Column{Name: c})
	}
	copied(t, through, sqltable.URL(back, sqltable.Table{Name: "people",
		Key: []sqltable.Column{{Name: "id", Type: sqltable.Int}}, Value: columns}))
	const all = "id,name,born,size,photo,ok,x"
	if got, want := dump(t, back, "people", all, "id"), dump(t, old, "people", all, "id"); !slices.Equal(got, want) ||
		len(got) != len(values) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, pair := range pairs(t, through, kv.Range{}) { // in the order of the numbers
		if !strings.Contains(pair, fmt.Sprintf(`{"name":"n%d",`, i)) {
			t.Errorf("pair %d is %s", i, pair)
		}
	}
}

func copied(t *testing.T, from, to string) transfer.Report {
	t.Helper()
	report, err := transfer.Copy(t.Context(), from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := transfer.Verify(t.Context(), from, to, nil)
	if err != nil || c.Differing != 0 || c.A != report.Summary {
		t.Fatalf("verify %s and %s: %+v, %v", from, to, c, err)
	}
	return report
}

// TestTwoColumns: a pair is two columns, keys sort by their bytes whatever the column's collation,
// others are left out.
func TestTwoColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	otherProgram(t, path, "CREATE TABLE notes(title TEXT COLLATE NOCASE, body, n INTEGER, UNIQUE(title))",
		"INSERT INTO notes VALUES('b', 'two', 1), ('A', x'00ff', 2), ('C', '', 3), ('é', 'last', 4)")
	rawURL := sqltable.URL(path, sqltable.Table{Name: "notes", Key: []sqltable.Column{{Name: "title"}},
		Value: []sqltable.Column{{Name: "body"}}})
	if got, want := pairs(t, rawURL, kv.Range{}), []string{`"A"=` + "\x00\xff", `"C"=`, `"b"=two`,
		`"é"=last`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := pairs(t, rawURL, kv.Range{Start: []byte("B"), End: []byte("c"), Reverse: true}),
		[]string{`"b"=two`, `"C"=`}; !slices.Equal(got, want) {
		t.Errorf("a range: got %q, want %q", got, want)
	}
	numbered := "sqltable:" + path + "?tables=notes(n):title"
	if got, want := pairs(t, numbered, kv.Range{Start: []byte{0x80, 0, 0, 0, 0, 0, 0, 2},
		End: []byte{0x80, 0, 0, 0, 0, 0, 0, 3, 0}}),
		[]string{`"\x80\x00\x00\x00\x00\x00\x00\x02"=A`, `"\x80\x00\x00\x00\x00\x00\x00\x03"=C`}; !slices.Equal(got,
		want) {
		t.Errorf("numbers: got %q, want %q", got, want)
	}
}

// TestSeveralTables: each has a prefix, and a key may be of several columns; all tables are there
// without a word.
func TestSeveralTables(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "old.db")
	otherProgram(t, path, "CREATE TABLE state(k TEXT PRIMARY KEY, v BLOB)",
		"CREATE TABLE `odd (name),:=`(a TEXT, b INTEGER, c, PRIMARY KEY(a, b)) WITHOUT ROWID",
		"CREATE TABLE log(line TEXT)", "INSERT INTO state VALUES('x', x'01'), ('y', x'02')",
		"INSERT INTO `odd (name),:=` VALUES('a', 2, 1), ('a', -1, 2), ('a' || char(0), 1, 3), ('', 7, 4)",
		"INSERT INTO log VALUES('one'), ('two')")
	specs := []sqltable.Table{{Prefix: "s/", Name: "state", Value: []sqltable.Column{{Name: "v"}}},
		{Prefix: "\x00 o=", Name: "odd (name),:="}, {Prefix: "l/", Name: "log"}}
	parsed, err := sqltable.ParseTables(specs[0].String() + "  " + specs[1].String() + " " + specs[2].String())
	if err != nil || fmt.Sprint(parsed) != fmt.Sprint(specs) {
		t.Fatalf("got %v, %v, want %v", parsed, err, specs)
	}
	want := []string{`"\x00 o=\x00\x01\x80\x00\x00\x00\x00\x00\x00\a"={"c":4}`,
		`"\x00 o=a\x00\x01\x7f\xff\xff\xff\xff\xff\xff\xff"={"c":2}`,
		`"\x00 o=a\x00\x01\x80\x00\x00\x00\x00\x00\x00\x02"={"c":1}`,
		`"\x00 o=a\x00\xff\x00\x01\x80\x00\x00\x00\x00\x00\x00\x01"={"c":3}`,
		`"l/\x80\x00\x00\x00\x00\x00\x00\x01"={"line":"one"}`, `"l/\x80\x00\x00\x00\x00\x00\x00\x02"={"line":"two"}`,
		`"s/x"=` + "\x01", `"s/y"=` + "\x02"}
	rawURL := sqltable.URL(path, specs...)
	if got := pairs(t, rawURL, kv.Range{}); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	slices.Reverse(want)
	if got := pairs(t, rawURL, kv.Range{Reverse: true}); !slices.Equal(got, want) {
		t.Errorf("backwards: got\n%s", strings.Join(got, "\n"))
	}
	if got := pairs(t, rawURL, kv.Prefix([]byte("l/"))); len(got) != 2 {
		t.Errorf("of one table: got %q", got)
	}
	if got := pairs(t, sqltable.URL(path), kv.Range{}); len(got) != 8 || !strings.HasPrefix(got[0], `"log/`) {
		t.Errorf("all tables: got %q", got)
	}
	copied(t, sqltable.URL(path), "pebble:"+filepath.Join(dir, "all"))
}

// TestWritesRows: pairs become rows with named columns; what would not come back as it is, is
// refused.
func TestWritesRows(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "new.db")
	db, err := kv.Open(ctx, "sqltable:"+path+"?tables=n/=notes(id/int):body/text+u/=users(name/text):age/int,mail")
	if err != nil {
		t.Fatal(err)
	}
	one := append([]byte("n/"), kv.AppendUint64(nil, 1<<63|17)...)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(db.Put(ctx, kv.Synced, one, []byte("first")))
	must(db.Put(ctx, kv.Synced, one, []byte("second")))
	must(db.Put(ctx, kv.Synced, []byte("u/ann"), []byte(`{"age":7,"mail":null}`)))
	must(db.Put(ctx, kv.Synced, []byte("u/bob"), []byte(`{"age":8,"mail":"b"}`)))
	must(db.Delete(ctx, kv.Synced, []byte("u/bob")))
	must(db.Delete(ctx, kv.Synced, []byte("u/none")))
	for key, value := range map[string]string{"u/x": "no object", "u/y": `{"mail":"a","age":1}`,
		"u/z": `{"age":1,"mail":"a","more":2}`, "n/short": "", "z": "", "u/": `{"age":1,"mail":null}`} {
		if err := db.Put(ctx, kv.Synced, []byte(key), []byte(value)); !errors.Is(err, kv.Invalid) {
			t.Errorf("put %q=%s: %v, want Invalid", key, value, err)
		}
	}
	must(db.Close())
	if got, want := dump(t, path, "notes", "id,body", "id"),
		[]string{"integer 17 | text " + fmt.Sprintf("%X", "second")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := dump(t, path, "users", "name,age,mail", "name"),
		[]string{"text 616E6E | integer 7 | null NULL"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRefused: what cannot be kept exactly is Invalid, with the way out, and the file is not
// touched.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ statements, tables, want string }{
		{"CREATE TABLE t(k TEXT PRIMARY KEY, v)", "s", "no table"},
		{"CREATE TABLE t(k TEXT PRIMARY KEY, v)", "t(k):w", "no column"},
		{"CREATE TABLE t(k, v); INSERT INTO t VALUES(1, 1), ('a', 1)", "t(k):v", "one kind"},
		{"CREATE TABLE t(k, v); INSERT INTO t VALUES(NULL, 1), ('a', 1)", "t(k):v", "one kind"},
		{"CREATE TABLE t(k, v); INSERT INTO t VALUES(1.5, 1)", "t(k)", "one kind"},
		{"CREATE TABLE t(k, v); INSERT INTO t VALUES('a', 1), ('a', 2)", "t(k)", "two rows"},
		{"CREATE TABLE t(k, v); INSERT INTO t VALUES('', 1)", "t(k)", "prefix"},
		{"CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES('a', 7)", "t(k):v", "leave the value out"},
		{"CREATE TABLE t(k TEXT PRIMARY KEY, v); CREATE TABLE s(k)", "t s", "mix"},
		{"PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(k TEXT PRIMARY KEY, v)", "t", "UTF-16"},
		{"CREATE TABLE t(k TEXT PRIMARY KEY, v)", "t(k", "parenthesis"},
		{"CREATE TABLE t(k TEXT PRIMARY KEY, v)", "t(k/float)", "real"},
	} {
		path := filepath.Join(t.TempDir(), "old.db")
		otherProgram(t, path, strings.Split(c.statements, "; ")...)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		from := "sqltable:" + path + "?tables=" + strings.ReplaceAll(c.tables, " ", "+")
		_, err = transfer.Copy(t.Context(), from, "bbolt:"+path+".new", nil)
		if text := fmt.Sprint(err, kv.HintOf(err)); !errors.Is(err, kv.Invalid) || !strings.Contains(text, c.want) {
			t.Errorf("%s, %s: %s, want Invalid with %q", c.statements, c.tables, text, c.want)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%s: the file has changed, %v", c.statements, err)
		}
	}
	missing := filepath.Join(t.TempDir(), "none")
	if _, err := kv.Open(context.Background(), sqltable.URL(missing)); !errors.Is(err, kv.NoStore) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestWhatIsWrongWithAFile: a damaged file of SQLite's is damaged, and what is none is told as what
// it is.
func TestWhatIsWrongWithAFile(t *testing.T) {
	dir := t.TempDir()
	damaged, bolt, folder, empty := filepath.Join(dir, "damaged"), filepath.Join(dir, "bolt"), filepath.Join(dir, "folder"),
		filepath.Join(dir, "empty")
	otherProgram(t, damaged, "CREATE TABLE t(k TEXT PRIMARY KEY, v)", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "+
		"SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO t SELECT 'k' || i, hex(randomblob(20)) FROM n")
	f, err := os.OpenFile(damaged, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.WriteAt(make([]byte, info.Size()/2), info.Size()/4)
	}
	if err := errors.Join(err, f.Close(), os.Mkdir(empty, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"bbolt:" + bolt, "pebble:" + folder} {
		db, err := kv.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Put(t.Context(), kv.Synced, []byte("k"), nil), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path string
		kind kv.Kind
		want string
	}{
		{damaged, kv.Corrupt, "malformed"}, {bolt, kv.Invalid, "open it as bbolt:"},
		{folder, kv.Invalid, "open it as pebble:"}, {empty, kv.Invalid, "name a file"},
	} {
		for _, tables := range []string{"t(k):v", ""} {
			_, err := transfer.Copy(t.Context(), "sqltable:"+c.path+"?tables="+tables, "bbolt:"+c.path+".new", nil)
			if text := fmt.Sprint(err, kv.HintOf(err)); !errors.Is(err, c.kind) || !strings.Contains(text, c.want) {
				t.Errorf("%s of %s: %s, want one of kind %v with %q", tables, filepath.Base(c.path), text, c.kind, c.want)
			}
		}
	}
}

// TestManyRows copies tables of random rows to a store and back.
func TestManyRows(t *testing.T) {
	dir := t.TempDir()
	old, back := filepath.Join(dir, "old.db"), filepath.Join(dir, "back.db")
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	otherProgram(t, old, "CREATE TABLE t(a TEXT, b INTEGER, c TEXT, d BLOB, PRIMARY KEY(a, b))",
		fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "+
			"INSERT INTO t SELECT 'k' || (i %% 97), i * 7919 - 50000, 'row ' || i || hex(randomblob(20)), randomblob(i %% 300) FROM n", n))
	through := "pebble:" + filepath.Join(dir, "kv")
	if report := copied(t, "sqltable:"+old+"?tables=t", through); int(report.Pairs) != n {
		t.Fatalf("%d pairs of %d rows", report.Pairs, n)
	}
	copied(t, through, "sqltable:"+back+"?tables=t(a/text,b/int):c,d")
	if got, want := dump(t, back, "t", "a,b,c,d", "a,b"), dump(t, old, "t", "a,b,c,d", "a,b"); !slices.Equal(got,
		want) {
		t.Error("the rows differ")
	}
}

// TestWhatAColumnWouldChangeIsRefused by the pair, and not by a digest when all is copied.
func TestWhatAColumnWouldChangeIsRefused(t *testing.T) {
	for _, c := range []struct{ columns, value string }{
		{"a/int,b", `{"a":"5","b":null}`}, {"a/text,b", `{"a":5,"b":null}`}, {"a/real,b", `{"a":5,"b":null}`},
		{"a/int,b", `{"a":5.0,"b":null}`}, {"a/real,b", `{"a":-0.0,"b":null}`},
	} {
		dir := t.TempDir()
		from, to := "bbolt:"+filepath.Join(dir, "old"), filepath.Join(dir, "new")
		db, err := kv.Open(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(db.Put(t.Context(), kv.Synced, []byte("key"), []byte(c.value)), db.Close())
		if err != nil {
			t.Fatal(err)
		}
		_, err = transfer.Copy(t.Context(), from, transfer.WithPath("sqltable:?tables=t(k/text):"+c.columns, to), nil)
		if !errors.Is(err, kv.Invalid) || !strings.Contains(fmt.Sprint(err), `"key"`) || kv.HintOf(err) == "" {
			t.Errorf("%s into %s: %v, want Invalid that names the key", c.value, c.columns, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%s: left: %v, %v", c.columns, left, err)
		}
		same := transfer.WithPath("sqltable:?tables=t(k/text):a,b", to)
		if _, err := transfer.Copy(t.Context(), from, same, nil); err != nil {
			t.Errorf("%s into columns without types: %v", c.value, err)
		}
	}
}
