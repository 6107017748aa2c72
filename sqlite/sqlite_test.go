//go:build cgo

package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/sqlite"
)

func open(t testing.TB, path string, o *sqlite.Options) *sqlite.Conn {
	t.Helper()
	c, err := sqlite.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, kv.Closed) {
			t.Error(err)
		}
	})
	return c
}

func exec(t testing.TB, c *sqlite.Conn, sql string) {
	t.Helper()
	if err := c.Exec(context.Background(), sql); err != nil {
		t.Fatal(err)
	}
}

func prepare(t testing.TB, c *sqlite.Conn, sql string) *sqlite.Stmt {
	t.Helper()
	s, err := c.Prepare(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// text returns the rows of a query: columns by |, rows by lines.
func text(t testing.TB, c *sqlite.Conn, sql string) string {
	t.Helper()
	s := prepare(t, c, sql)
	defer s.Close()
	var rows []string
	for {
		ok, err := s.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return strings.Join(rows, "\n")
		}
		var row []string
		for i := range s.Columns() {
			switch s.Type(i) {
			case sqlite.Integer:
				row = append(row, fmt.Sprint(s.Int(i)))
			case sqlite.Float:
				row = append(row, fmt.Sprint(s.Float(i)))
			case sqlite.Null:
				row = append(row, "NULL")
			default:
				row = append(row, s.Text(i))
			}
		}
		rows = append(rows, strings.Join(row, "|"))
	}
}

func wantKind(t testing.TB, err error, kind kv.Kind) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want an error of kind %v", err, kind)
	}
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, "CREATE TABLE t (a, b)")
	in, out := prepare(t, c, "INSERT INTO t VALUES (?1, ?2)"), prepare(t, c, "SELECT a, b FROM t ORDER BY rowid")
	blob := bytes.Repeat([]byte{0, 1, 255}, 70_000) // more than the buffer holds
	in.BindInt(1, math.MinInt64)
	in.BindFloat(2, -math.MaxFloat64)
	check(t, in.Run(t.Context()))
	in.BindText(1, "zero\x00inside, ünï")
	in.BindBlob(2, blob)
	check(t, in.Run(t.Context()))
	in.BindText(1, "")
	in.BindBlob(2, nil)
	check(t, in.Run(t.Context()))
	check(t, in.Run(t.Context())) // nothing is bound

	next(t, out)
	if out.Int(0) != math.MinInt64 || out.Float(1) != -math.MaxFloat64 {
		t.Error(out.Int(0), out.Float(1))
	}
	next(t, out)
	if out.Text(0) != "zero\x00inside, ünï" || !bytes.Equal(out.Bytes(1), blob) {
		t.Errorf("%q, %d bytes", out.Text(0), len(out.Bytes(1)))
	}
	next(t, out)
	if out.Type(0) != sqlite.Text || out.Type(1) != sqlite.Blob || len(out.Bytes(0))+len(out.Bytes(1)) != 0 {
		t.Error(out.Type(0), out.Type(1))
	}
	next(t, out)
	if out.Type(0) != sqlite.Null || out.Type(1) != sqlite.Null {
		t.Error(out.Type(0), out.Type(1))
	}
	if ok, err := out.Next(t.Context()); ok || err != nil {
		t.Error(ok, err)
	}
	if in.LastID() != 4 || in.Changes() != 1 {
		t.Error(in.LastID(), in.Changes())
	}
}

// TestAnInterruptThatComesLateEndsNothingElse has contexts end when SQLite has a row already, or
// the end: what runs next, with a context of its own, does not end.
func TestAnInterruptThatComesLateEndsNothingElse(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "a.db"), &sqlite.Options{Journal: "wal", Sync: sqlite.SyncOff, Checkpoint: -1})
	exec(t, c, "CREATE TABLE t (a)")
	rows, insert := prepare(t, c, "SELECT 1 UNION ALL SELECT 2"), prepare(t, c, "INSERT INTO t VALUES (1)")
	rows.ReadAhead(1)
	cancel := func() {}
	check(t, c.OnTrace(sqlite.TraceRow|sqlite.TraceProfile, func(sqlite.Event) {
		cancel()
		for range 100 { // who is told by the context has the time to tell SQLite
			runtime.Gosched()
		}
	}))
	for range 100 {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		_, err := rows.Next(ctx)
		cancel = func() {}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		check(t, c.Update(t.Context(), func() error { return insert.Run(t.Context()) }))
		check(t, rows.Reset())

		ctx, cancel = context.WithCancel(t.Context())
		if err := insert.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cancel = func() {}
		_, _, err = c.Checkpoint(t.Context(), sqlite.Passive)
		check(t, err)
	}
}

// TestAFloatIsCutToAnInteger holds Int to what SQLite makes of a float, on every processor.
func TestAFloatIsCutToAnInteger(t *testing.T) {
	c := open(t, ":memory:", nil)
	for value, want := range map[string]int64{"2.9": 2, "-2.9": -2, "1e300": math.MaxInt64, "-1e300": math.MinInt64, "9e999": math.MaxInt64,
		"-9e999": math.MinInt64, "9223372036854775807.0": math.MaxInt64, "9223372036854774784.0": 9223372036854774784} {
		s := prepare(t, c, "SELECT "+value)
		if next(t, s); s.Int(0) != want || s.Type(0) != sqlite.Float {
			t.Errorf("%s is %d, want %d", value, s.Int(0), want)
		}
		check(t, s.Close())
	}
}

// TestTextsNeedNotBeUTF8 has what no decoder takes come back as it was.
func TestTextsNeedNotBeUTF8(t *testing.T) {
	c := open(t, ":memory:", nil)
	s := prepare(t, c, "SELECT ?1, typeof(?1), length(CAST(?1 AS BLOB))")
	const odd = "a\xff\xfe\x00\xed\xa0\x80z"
	s.BindText(1, odd)
	if next(t, s); s.Text(0) != odd || s.Text(1) != "text" || s.Int(2) != int64(len(odd)) {
		t.Errorf("%q, %s, %d", s.Text(0), s.Text(1), s.Int(2))
	}
}

// TestAContextThatHasEndedDoesNothing makes no file and runs nothing.
func TestAContextThatHasEndedDoesNothing(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "a.db")
	_, err := sqlite.Open(ended, path, nil)
	wantKind(t, err, kv.Canceled)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file was made:", err)
	}
	c := open(t, path, nil)
	exec(t, c, "CREATE TABLE t (a)")
	s := prepare(t, c, "INSERT INTO t VALUES (1)")
	to := open(t, ":memory:", nil)
	never := func() error { t.Error("it runs"); return nil }
	for what, err := range map[string]error{"run": s.Run(ended), "exec": c.Exec(ended, "INSERT INTO t VALUES (2)"),
		"begin": c.Begin(ended, sqlite.Immediate), "update": c.Update(ended, never), "view": c.View(ended, never), "save": c.Save(ended, never),
		"back up": c.Backup(ended, to, 1, nil), "policy": c.SetPolicy(ended, nil)} {
		if !errors.Is(err, kv.Canceled) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := text(t, c, "SELECT count(*) FROM t"); got != "0" || c.InTx() {
		t.Error(got, c.InTx())
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func next(t testing.TB, s *sqlite.Stmt) {
	t.Helper()
	ok, err := s.Next(context.Background())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
}

func TestManyRowsOfAnySizeComeInOrder(t *testing.T) {
	c := open(t, ":memory:", nil)
	s := prepare(t, c, `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 5000)
		SELECT i, zeroblob(i * i % 7919), printf('%05d', i) FROM n WHERE i >= ?1`)
	for _, ahead := range []int{0, 1, 7} {
		s.ReadAhead(ahead)
		s.BindInt(1, 100)
		for i := int64(100); i <= 5000; i++ {
			next(t, s)
			if s.Int(0) != i || int64(len(s.Bytes(1))) != i*i%7919 || s.Text(2) != fmt.Sprintf("%05d", i) {
				t.Fatalf("row %d: %d, %d bytes, %q", i, s.Int(0), len(s.Bytes(1)), s.Text(2))
			}
		}
		if ok, err := s.Next(t.Context()); ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	// A new argument ends a run that has rows left.
	s.BindInt(1, 10)
	next(t, s)
	s.BindInt(1, 20)
	if next(t, s); s.Int(0) != 20 {
		t.Error(s.Int(0))
	}
	check(t, s.Reset())
	if ok, err := s.Next(t.Context()); ok || err != nil { // nothing is at least NULL
		t.Error("an argument of an earlier run holds", s.Int(0), err)
	}
}

func TestStatementsOfAText(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, "-- first\n;; CREATE TABLE t (a); /* then */ INSERT INTO t VALUES (1), (2) ;\n-- end")
	if got := text(t, c, "SELECT a FROM t;  "); got != "1\n2" {
		t.Error(got)
	}
	_, err := c.Prepare(t.Context(), "SELECT 1; SELECT 2")
	wantKind(t, err, kv.Invalid)
	_, err = c.Prepare(t.Context(), " -- nothing")
	wantKind(t, err, kv.Invalid)
	_, err = c.Prepare(t.Context(), "SELECT * FROM nowhere")
	wantKind(t, err, kv.Invalid)
	if !strings.Contains(err.Error(), "no such table: nowhere") {
		t.Error(err)
	}
	wantKind(t, c.Exec(t.Context(), "SELECT 1; \x00 DROP TABLE t"), kv.Invalid)
	s, rest, err := c.PrepareFirst(t.Context(), "SELECT :a + @b + ?7; SELECT 2")
	check(t, err)
	if s.Params() != 7 || s.Param("a") != 1 || s.Param("@b") != 2 || s.Param("c") != 0 || rest != " SELECT 2" {
		t.Error(s.Params(), s.Param("a"), s.Param("@b"), rest)
	}
	s.BindInt(8, 1)
	wantKind(t, s.Run(t.Context()), kv.Invalid)
}

func TestErrorsHaveTheirCodes(t *testing.T) {
	c := open(t, ":memory:", &sqlite.Options{ForeignKeys: true})
	exec(t, c, `CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE NOT NULL CHECK (b <> 'no')) STRICT;
		CREATE TABLE u (a INTEGER REFERENCES t) STRICT; INSERT INTO t VALUES (1, 'x')`)
	for sql, code := range map[string]sqlite.Code{
		"INSERT INTO t VALUES (1, 'y')":   sqlite.ConstraintPrimaryKey,
		"INSERT INTO t VALUES (2, 'x')":   sqlite.ConstraintUnique,
		"INSERT INTO t VALUES (2, NULL)":  sqlite.ConstraintNotNull,
		"INSERT INTO t VALUES (2, 'no')":  sqlite.ConstraintCheck,
		"INSERT INTO u VALUES (9)":        sqlite.ConstraintForeignKey,
		"INSERT INTO u VALUES ('a word')": sqlite.ConstraintDataType,
	} {
		err := c.Exec(t.Context(), sql)
		if !errors.Is(err, code) || !errors.Is(err, sqlite.Constraint) || !errors.Is(err, kv.Conflict) ||
			sqlite.CodeOf(err) != code {
			t.Errorf("%s: %v", sql, err)
		}
	}
	c2 := open(t, filepath.Join(t.TempDir(), "a.db"), nil)
	exec(t, c2, "CREATE TABLE t (a); PRAGMA query_only = on")
	wantKind(t, c2.Exec(t.Context(), "INSERT INTO t VALUES (1)"), kv.NotWritable)
	_, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "none.db"), &sqlite.Options{Mode: sqlite.ReadWrite})
	wantKind(t, err, kv.NoStore)
	for _, mode := range []sqlite.Mode{sqlite.ReadWriteCreate, sqlite.ReadWrite, sqlite.ReadOnlyMode} {
		_, err = sqlite.Open(t.Context(), t.TempDir(), &sqlite.Options{Mode: mode})
		wantKind(t, err, kv.Invalid)
	}
}

func TestTransactionsAndSavepoints(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, "CREATE TABLE t (a)")
	stop := errors.New("stop")
	insert := func(n int) error { return c.Exec(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d)", n)) }
	check(t, c.Update(t.Context(), func() error {
		check(t, insert(1))
		err := c.Save(t.Context(), func() error {
			check(t, insert(2))
			check(t, c.Save(t.Context(), func() error { return insert(3) }))
			return stop
		})
		if !errors.Is(err, stop) {
			t.Error(err)
		}
		return c.Save(t.Context(), func() error { return insert(4) })
	}))
	err := c.Update(t.Context(), func() error { return errors.Join(insert(5), stop) })
	if !errors.Is(err, stop) || c.InTx() {
		t.Error(err, c.InTx())
	}
	func() {
		defer func() { _ = recover() }()
		_ = c.Update(t.Context(), func() error { check(t, insert(6)); panic("fn") })
	}()
	if got := text(t, c, "SELECT a FROM t"); got != "1\n4" || c.InTx() {
		t.Error(got, c.InTx())
	}
}

func TestAContextEndsAStatement(t *testing.T) {
	c := open(t, ":memory:", nil)
	endless := prepare(t, c, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n")
	for range 20 { // whether it ends before the first step or later
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		err := endless.Run(ctx)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, kv.Canceled) {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := endless.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if got := text(t, c, "SELECT 1"); got != "1" {
		t.Error("the connection cannot be used afterwards:", got)
	}
}

func TestAContextEndsTheWaitForALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	a, b := open(t, path, nil), open(t, path, nil)
	check(t, a.Begin(t.Context(), sqlite.Immediate))
	var err error
	// On a machine that stands still the time may be up before the lock was met.
	for wait := 20 * time.Millisecond; !errors.Is(err, sqlite.Busy) && wait < time.Minute; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		err = b.Begin(ctx, sqlite.Immediate)
		cancel()
		wantKind(t, err, kv.Canceled)
	}
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, sqlite.Busy) {
		t.Error(err)
	}
	none := open(t, path, &sqlite.Options{Wait: -1})
	wantKind(t, none.Begin(t.Context(), sqlite.Immediate), kv.Busy)
	check(t, a.Rollback())
	check(t, b.Begin(t.Context(), sqlite.Immediate))
}

func TestAClosedConnectionIsAnError(t *testing.T) {
	c, err := sqlite.Open(t.Context(), ":memory:", nil)
	check(t, err)
	s := prepare(t, c, "SELECT 1 UNION ALL SELECT 2")
	s.ReadAhead(1)
	next(t, s)
	check(t, c.Close())
	_, err = s.Next(t.Context())
	wantKind(t, err, kv.Closed)
	wantKind(t, s.Run(t.Context()), kv.Closed)
	wantKind(t, c.Exec(t.Context(), "SELECT 1"), kv.Closed)
	wantKind(t, c.Close(), kv.Closed)
	wantKind(t, c.OnWAL(func(string, int) {}), kv.Closed)
	_, _, err = c.Checkpoint(t.Context(), sqlite.Passive)
	wantKind(t, err, kv.Closed)
	check(t, s.Close())
	_, _, _, _, _ = s.Columns(), s.Declared(0), s.Param("a"), s.ReadOnly(), c.InTx()
}

// TestRowsReadAheadEndWithTheirStatement closes a statement or its connection before all rows that
// came in one crossing were asked for.
func TestRowsReadAheadEndWithTheirStatement(t *testing.T) {
	for what, end := range map[string]func(*sqlite.Conn, *sqlite.Stmt) error{
		"connection": func(c *sqlite.Conn, _ *sqlite.Stmt) error { return c.Close() },
		"statement":  func(_ *sqlite.Conn, s *sqlite.Stmt) error { return s.Close() },
	} {
		c, err := sqlite.Open(t.Context(), ":memory:", nil)
		check(t, err)
		s := prepare(t, c, "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3")
		next(t, s)
		check(t, end(c, s))
		for range 2 {
			if ok, err := s.Next(t.Context()); ok || !errors.Is(err, kv.Closed) {
				t.Errorf("%s: %v, %v", what, ok, err)
			}
		}
		_ = c.Close()
	}
}

// TestAConnectionInUseIsAnError calls one from a callback of its own, which is deterministic, and
// as wrong as a call from another goroutine.
func TestAConnectionInUseIsAnError(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, "CREATE TABLE t (a)")
	var inside []error
	check(t, c.OnUpdate(func(sqlite.Change) {
		inside = append(inside, c.Exec(t.Context(), "SELECT 1"), c.Close(), c.OnUpdate(nil))
	}))
	exec(t, c, "INSERT INTO t VALUES (1)")
	for _, err := range inside {
		wantKind(t, err, kv.Busy)
	}
	if len(inside) != 3 {
		t.Error(inside)
	}
}

func TestADamagedFileIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	check(t, os.WriteFile(path, bytes.Repeat([]byte("not a database. "), 1000), 0o600))
	_, err := sqlite.Open(t.Context(), path, nil)
	wantKind(t, err, kv.Corrupt)
	if !errors.Is(err, sqlite.NotADatabase) {
		t.Error(err)
	}

	path = filepath.Join(t.TempDir(), "b.db")
	c := open(t, path, nil)
	exec(t, c, `CREATE TABLE t (a); WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 10000)
		INSERT INTO t SELECT i || ' of many' FROM n`)
	check(t, c.Close())
	data, err := os.ReadFile(path)
	check(t, err)
	for i := 4096 * 3; i < len(data); i++ {
		data[i] = 0xa5
	}
	check(t, os.WriteFile(path, data, 0o600))
	c = open(t, path, nil)
	wantKind(t, c.Exec(t.Context(), "SELECT sum(length(a)) FROM t"), kv.Corrupt)
}

// TestATimeoutOfATableIsTheTables reads what a program keeps beside what PRAGMA busy_timeout tells.
func TestATimeoutOfATableIsTheTables(t *testing.T) {
	c := open(t, ":memory:", &sqlite.Options{Wait: 1234 * time.Millisecond})
	exec(t, c, "CREATE TABLE settings (name, timeout); INSERT INTO settings VALUES ('busy_timeout', 7)")
	for query, want := range map[string]string{
		"SELECT timeout FROM settings WHERE name = 'busy_timeout'":    "7",
		"SELECT timeout FROM settings WHERE 'busy_timeout' = name":    "7",
		"SELECT timeout FROM settings WHERE name IN ('busy_timeout')": "7",
		"-- of this connection\n/* now */ PRAGMA busy_timeout":        "1234",
		"pragma main.Busy_Timeout":                                    "1234",
	} {
		if got := text(t, c, query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func TestColumnsFollowTheSchema(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x')")
	s := prepare(t, c, "SELECT * FROM t")
	next(t, s)
	if got := fmt.Sprintf("%s %s", s.Columns(), s.Declared(1)); got != "[a b] TEXT" {
		t.Error(got)
	}
	check(t, s.Reset())
	exec(t, c, "ALTER TABLE t RENAME COLUMN a TO other")
	next(t, s)
	if got := fmt.Sprintf("%s %s", s.Columns(), s.Declared(1)); got != "[other b] TEXT" {
		t.Error(got)
	}
	check(t, s.Reset())
	exec(t, c, "DROP TABLE t; CREATE TABLE t (c BLOB, d BLOB); INSERT INTO t VALUES (zeroblob(100000), 2)") // no room at first
	next(t, s)
	if got := fmt.Sprintf("%s %s %d", s.Columns(), s.Declared(1), len(s.Bytes(0))); got != "[c d] BLOB 100000" {
		t.Error(got)
	}
}

// TestAContextEndsOneStatement has others that have rows left, and an open blob: SQLite's interrupt
// would end them, and each statement that begins while they are there.
func TestAContextEndsOneStatement(t *testing.T) {
	c := open(t, ":memory:", nil)
	exec(t, c, "CREATE TABLE t (a); INSERT INTO t VALUES (x'01'), (x'02'), (x'03')")
	endless := prepare(t, c, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n")
	end := func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		wantKind(t, endless.Run(ctx), kv.Canceled)
		if got := text(t, c, "SELECT count(*) FROM t"); got != "3" {
			t.Error(got)
		}
	}
	rows := prepare(t, c, "SELECT a FROM t")
	rows.ReadAhead(1)
	next(t, rows)
	end()
	next(t, rows)
	check(t, rows.Reset())
	b, err := c.OpenBlob(t.Context(), "main", "t", "a", 1, sqlite.ReadBlob)
	check(t, err)
	end()
	if _, err := b.ReadAt(make([]byte, 1), 0); err != nil {
		t.Error(err)
	}
	check(t, b.Close())
	end()
}
