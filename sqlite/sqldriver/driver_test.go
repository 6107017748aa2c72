//go:build cgo

package sqldriver_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/sqlite"
	"github.com/assaydb/assay/sqlite/sqldriver"
)

func open(t testing.TB, parameters string) *sql.DB {
	t.Helper()
	db, err := sql.Open(sqldriver.Name, "file:"+filepath.Join(t.TempDir(), "a.db")+parameters)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func exec(t testing.TB, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string, args ...any) sql.Result {
	t.Helper()
	r, err := db.ExecContext(context.Background(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	db := open(t, "")
	exec(t, db, "CREATE TABLE t (i INTEGER, f REAL, s TEXT, b BLOB, t TIMESTAMP, d DATE, o BOOLEAN, n)")
	at := time.Date(2026, 11, 22, 10, 20, 30, 123456789, time.FixedZone("", 3*3600))
	r := exec(t, db, "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", int64(-5), 2.5, "zero\x00byte", []byte{}, at, "2026-11-22", true, nil)
	id, err := r.LastInsertId()
	n, err2 := r.RowsAffected()
	if id != 1 || n != 1 || err != nil || err2 != nil {
		t.Error(id, n, err, err2)
	}
	var (
		i    int64
		f    float64
		s    string
		b    []byte
		when time.Time
		day  time.Time
		o    bool
		null any
	)
	if err := db.QueryRow("SELECT * FROM t").Scan(&i, &f, &s, &b, &when, &day, &o, &null); err != nil {
		t.Fatal(err)
	}
	if i != -5 || f != 2.5 || s != "zero\x00byte" || b == nil || len(b) != 0 || !when.Equal(at) || !o || null != nil ||
		!day.Equal(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)) {
		t.Error(i, f, s, b, when, day, o, null)
	}
	var nothing []byte
	exec(t, db, "UPDATE t SET b = ?", nothing)
	if err := db.QueryRow("SELECT b FROM t").Scan(&null); null != nil || err != nil {
		t.Error(null, err)
	}
}

func TestArgumentsByNameAndPlace(t *testing.T) {
	db := open(t, "")
	var got string
	for query, args := range map[string][]any{
		"SELECT :a || @b || $a":         {sql.Named("a", "x"), sql.Named("b", "y")},
		"SELECT ?1 || ?2 || ?1":         {"x", "y"},
		"SELECT ? || ? || 'x'":          {"x", "y"},
		"SELECT $2 || $1 || $2":         {"y", "x"},
		"SELECT $b || $a || $b":         {sql.Named("a", "y"), sql.Named("b", "x")},
		"SELECT 1; SELECT ? || ? || ?1": {"x", "y"},
	} {
		if err := db.QueryRow(query, args...).Scan(&got); err != nil || got != "xyx" {
			t.Errorf("%s: %q %v", query, got, err)
		}
	}
	exec(t, db, "CREATE TABLE t (a); INSERT INTO t VALUES (?); INSERT INTO t VALUES (?), (?) -- end", 1, 2, 3)
	for query, args := range map[string][]any{
		"INSERT INTO t VALUES (?)":     {1, 2},
		"INSERT INTO t VALUES (?, ?)":  {1},
		"INSERT INTO t VALUES (:a)":    {sql.Named("b", 1)},
		"INSERT INTO t VALUES ($2)":    {1},
		"INSERT INTO t VALUES ($3)":    {1, 2},
		"SELECT :a, :b":                {sql.Named("a", 1), sql.Named("a", 2)},
		"SELECT :a, :c":                {1, sql.Named("a", 2)},
		"SELECT $1, $2":                {1},
		"SELECT ?; SELECT ? FROM none": {1},
	} {
		if _, err := db.Exec(query, args...); !errors.Is(err, kv.Invalid) {
			t.Errorf("%s: %v", query, err)
		}
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM t; -- more").Scan(&n); n != 3 || err != nil {
		t.Error(n, err)
	}
}

// TestTimesAreWrittenAsTheNameSays has each format of a time and a zone, and reads back what it
// wrote.
func TestTimesAreWrittenAsTheNameSays(t *testing.T) {
	at := time.Date(2026, 11, 22, 10, 20, 30, 123456789, time.UTC)
	kiev, err := time.LoadLocation("Europe/Kiev")
	if err != nil {
		t.Fatal(err)
	}
	for parameters, want := range map[string]struct {
		stored any
		read   time.Time
	}{
		"":                       {"2026-11-22 10:20:30.123456789+00:00", at},
		"?_time_format=sqlite":   {"2026-11-22 10:20:30.123456789+00:00", at},
		"?_time_format=datetime": {"2026-11-22 10:20:30", at.Truncate(time.Second)},
		"?_time_format=datetime&_timezone=Europe/Kiev":          {"2026-11-22 12:20:30", at.Truncate(time.Second).In(kiev)},
		"?_time_format=datetime&_loc=Europe/Kiev":               {"2026-11-22 10:20:30", at.Truncate(time.Second).In(kiev)},
		"?_timezone=Europe/Kiev":                                {"2026-11-22 12:20:30.123456789+02:00", at.In(kiev)},
		"?_loc=Europe/Kiev":                                     {"2026-11-22 10:20:30.123456789+00:00", at.In(kiev)},
		"?_time_integer_format=unix":                            {at.Unix(), at.Truncate(time.Second)},
		"?_time_integer_format=unix_milli":                      {at.UnixMilli(), at.Truncate(time.Millisecond)},
		"?_time_integer_format=unix_micro":                      {at.UnixMicro(), at.Truncate(time.Microsecond)},
		"?_time_integer_format=unix_nano&_timezone=Europe/Kiev": {at.UnixNano(), at.In(kiev)},
	} {
		t.Run("with "+parameters, func(t *testing.T) { // a name with # would be no path of a URI
			db := open(t, parameters)
			exec(t, db, "CREATE TABLE t (at TIMESTAMP)")
			exec(t, db, "INSERT INTO t VALUES (?)", at)
			var stored any
			if err := db.QueryRow("SELECT at || '' FROM t").Scan(&stored); err != nil || stored != fmt.Sprint(want.stored) {
				t.Errorf("stored is %v, want %v; %v", stored, want.stored, err)
			}
			var read time.Time
			if err := db.QueryRow("SELECT at FROM t").Scan(&read); err != nil || !read.Equal(want.read) ||
				read.Format(time.RFC3339) != want.read.Format(time.RFC3339) {
				t.Errorf("read is %v, want %v; %v", read, want.read, err)
			}
		})
	}
}

func TestTextsOfExpressionsAreTimesIfAskedFor(t *testing.T) {
	for parameters, isTime := range map[string]bool{"": false, "?_texttotime=1": true} {
		db := open(t, parameters)
		exec(t, db, "CREATE TABLE t (at TIMESTAMP, s TEXT); INSERT INTO t VALUES ('2026-11-22 10:20:30', 'no time')")
		var at, s, word any
		if err := db.QueryRow("SELECT max(at), max(s), '2026-like' FROM t").Scan(&at, &s, &word); err != nil {
			t.Fatal(err)
		}
		if _, ok := at.(time.Time); ok != isTime || s != "no time" || word != "2026-like" {
			t.Errorf("%q: %v, %v, %v", parameters, at, s, word)
		}
	}
}

// TestATimeoutThatAPragmaSetsEndsWithTheContext sets the time to wait as programs do, and has it be
// what a statement waits, no longer than its context.
func TestATimeoutThatAPragmaSetsEndsWithTheContext(t *testing.T) {
	db := open(t, "?_busy_timeout=1234")
	db.SetMaxOpenConns(2)
	conn := func() *sql.Conn {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	a, b := conn(), conn()
	var told int
	for _, step := range []struct {
		pragma string
		want   int
	}{{"PRAGMA busy_timeout", 1234}, {"PRAGMA busy_timeout = 600000", 600000}, {"PRAGMA busy_timeout", 600000},
		{"pragma main.busy_timeout(700000)", 700000}, {"PRAGMA busy_timeout", 700000}} {
		if err := b.QueryRowContext(t.Context(), step.pragma).Scan(&told); err != nil || told != step.want {
			t.Errorf("%s tells %d; %v", step.pragma, told, err)
		}
	}
	exec(t, a, "CREATE TABLE t (a); BEGIN IMMEDIATE")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.ExecContext(ctx, "INSERT INTO t VALUES (1)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
	exec(t, b, "PRAGMA busy_timeout = 0")
	if _, err := b.ExecContext(t.Context(), "INSERT INTO t VALUES (1)"); !errors.Is(err, kv.Busy) {
		t.Errorf("without waiting it ended with %v", err)
	}
	exec(t, a, "ROLLBACK")
}

func TestADefensiveConnectionCannotDamageTheFile(t *testing.T) {
	for parameters, refused := range map[string]bool{"?_defensive=1": true, "?_defensive=0": false} {
		db := open(t, parameters)
		exec(t, db, "CREATE TABLE t (a)")
		_, err := db.Exec("PRAGMA writable_schema = on; DELETE FROM sqlite_schema WHERE name = 't'")
		if (err != nil) != refused {
			t.Errorf("%s: %v", parameters, err)
		}
	}
	for parameters, refused := range map[string]bool{"?_dqs=0": true, "?_dqs=1": false, "": false} {
		if _, err := open(t, parameters).Exec(`SELECT "no name"`); (err != nil) != refused {
			t.Errorf("%s: %v", parameters, err)
		}
	}
}

func TestColumnTypesAreTold(t *testing.T) {
	db := open(t, "")
	exec(t, db, "CREATE TABLE t (i INTEGER, f DOUBLE, s VARCHAR(20), b BLOB, d DATETIME, o BOOL, x)")
	rows, err := db.Query("SELECT i, f, s, b, d, o, x, 1 + 1 FROM t")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	var names, scans []string
	for _, c := range types {
		names, scans = append(names, c.DatabaseTypeName()), append(scans, fmt.Sprint(c.ScanType()))
	}
	if want := []string{"INTEGER", "DOUBLE", "VARCHAR(20)", "BLOB", "DATETIME", "BOOL", "", ""}; !reflect.DeepEqual(names, want) {
		t.Errorf("%q", names)
	}
	if want := strings.Fields("sql.NullInt64 sql.NullFloat64 sql.NullString sql.RawBytes sql.NullTime sql.NullBool interface"); !reflect.DeepEqual(scans[:6], want[:6]) {
		t.Errorf("%q", scans)
	}
}

func TestAContextEndsAQuery(t *testing.T) {
	db := open(t, "")
	const endless = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n"
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := db.ExecContext(ctx, endless); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	var n int
	if err := db.QueryRowContext(ctx, endless).Scan(&n); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := db.Ping(); err != nil {
		t.Error(err)
	}
}

func TestTransactions(t *testing.T) {
	db := open(t, "?_journal_mode=wal&_txlock=immediate&_busy_timeout=0")
	exec(t, db, "CREATE TABLE t (a)")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Begin(); !errors.Is(err, kv.Busy) {
		t.Error(err)
	}
	exec(t, tx, "INSERT INTO t VALUES (1), (2), (3)")
	// A statement runs beside its own rows.
	s, err := tx.Prepare("SELECT a FROM t WHERE a >= ? ORDER BY a")
	if err != nil {
		t.Fatal(err)
	}
	outer, err := s.Query(1)
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for outer.Next() {
		var a, b int
		inner := s.QueryRow(3)
		if err := errors.Join(outer.Scan(&a), inner.Scan(&b)); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, fmt.Sprint(a, b))
	}
	if fmt.Sprint(pairs) != "[1 3 2 3 3 3]" || outer.Err() != nil {
		t.Error(pairs, outer.Err())
	}
	if err := errors.Join(outer.Close(), tx.Rollback()); err != nil {
		t.Error(err)
	}
	ro, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ro.Exec("INSERT INTO t VALUES (1)"); !errors.Is(err, kv.NotWritable) {
		t.Error(err)
	}
	if err := ro.Rollback(); err != nil {
		t.Error(err)
	}
	exec(t, db, "INSERT INTO t VALUES (1)")
	weaker := &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	if _, err := db.BeginTx(t.Context(), weaker); !errors.Is(err, kv.Unsupported) {
		t.Error(err)
	}
	db.SetMaxOpenConns(1)
	exec(t, db, "BEGIN") // it goes on when the connection goes back to the pool
	exec(t, db, "INSERT INTO t VALUES (2)")
	exec(t, db, "COMMIT")
}

func TestNamesOfDatabases(t *testing.T) {
	for parameters, want := range map[string]string{
		"?_foreign_keys=1&_sync=NORMAL&_cache_size=777":                             "1 1 777",
		"?_pragma=foreign_keys(on)&_pragma=synchronous(off)&_pragma=cache_size(55)": "1 0 55",
		"?_fk=off&_writable_schema=1":                                               "0 2 -2000",
	} {
		db := open(t, parameters)
		var fk, level, cache string
		err := errors.Join(db.QueryRow("PRAGMA foreign_keys").Scan(&fk), db.QueryRow("PRAGMA synchronous").Scan(&level),
			db.QueryRow("PRAGMA cache_size").Scan(&cache))
		if got := fk + " " + level + " " + cache; err != nil || got != want {
			t.Errorf("%s: %s, want %s, %v", parameters, got, want, err)
		}
	}
	for _, parameters := range []string{"?_unknown=1", "?_txlock=never", "?_sync=loud", "?_pragma=a(b);c", "?_busy_timeout=x",
		"?_busy_timeout=10000000000000", "?_pragma=wal_autocheckpoint(4294967296)",
		"?_loc=Nowhere/Atall", "?_timezone=Nowhere/Atall", "?_time_format=odd", "?_time_integer_format=unix_days", "?_inttotime=0", "?_defensive=x",
		"?_auto_vacuum=x", "?_query_only=x", "?_locking=loose", "?_secure_delete=slow"} {
		if _, err := sql.Open(sqldriver.Name, "a.db"+parameters); !errors.Is(err, kv.Invalid) {
			t.Errorf("%s: %v", parameters, err)
		}
	}
	db := sql.OpenDB(sqldriver.NewConnector(":memory:", &sqldriver.Options{Connected: func(ctx context.Context, c *sqlite.Conn) error {
		return c.Exec(ctx, "CREATE TABLE made (a); INSERT INTO made VALUES (x'00ff')")
	}}))
	defer db.Close()
	var b []byte
	if err := db.QueryRow("SELECT a FROM made").Scan(&b); err != nil || !bytes.Equal(b, []byte{0, 255}) {
		t.Error(b, err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sqldriver.Raw(conn, func(c *sqlite.Conn) error { return c.BackupTo(t.Context(), filepath.Join(t.TempDir(), "b.db")) }); err != nil {
		t.Error(err)
	}
}

// TestWhatFollowsALostTransactionIsRefused interrupts a write within a transaction, which SQLite
// rolls back: what the program does next in it must not be committed by itself.
func TestWhatFollowsALostTransactionIsRefused(t *testing.T) {
	db := open(t, "?_journal_mode=wal")
	db.SetMaxOpenConns(1)
	exec(t, db, "CREATE TABLE t (a)")
	running := func() {} // is called while a statement runs
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := sqldriver.Raw(conn, func(c *sqlite.Conn) error {
		return c.OnProgress(func() error { running(); return nil })
	}); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil { // back to the pool
		t.Fatal(err)
	}
	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		exec(t, tx, "INSERT INTO t VALUES (1)")
		ctx, cancel := context.WithCancel(t.Context())
		running = cancel
		_, err = tx.ExecContext(ctx, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n) INSERT INTO t SELECT i FROM n")
		running = func() {}
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := tx.Exec("INSERT INTO t VALUES (2)"); !errors.Is(err, kv.Closed) {
			t.Errorf("the next statement: %v", err)
		}
		if err := tx.QueryRow("SELECT count(*) FROM t").Scan(new(int)); !errors.Is(err, kv.Closed) {
			t.Errorf("the next query: %v", err)
		}
		_ = end(tx)
		n := -1
		if err := db.QueryRow("SELECT count(*) FROM t").Scan(&n); n != 0 || err != nil {
			t.Errorf("%d rows are there, %v", n, err)
		}
	}
}

func TestTypesFollowTheSchema(t *testing.T) {
	db := open(t, "")
	db.SetMaxOpenConns(1)
	exec(t, db, "CREATE TABLE t (a BOOLEAN); INSERT INTO t VALUES (7)")
	s, err := db.Prepare("SELECT * FROM t")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, want := range []any{true, int64(7)} {
		var got any
		if err := s.QueryRow().Scan(&got); got != want || err != nil {
			t.Errorf("%v, want %v; %v", got, want, err)
		}
		exec(t, db, "DROP TABLE t; CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (7)")
	}
}

// TestATimeKeepsItsInstant has zones as they were before they had whole minutes, and formats that
// have no zone.
func TestATimeKeepsItsInstant(t *testing.T) {
	for parameters, unit := range map[string]time.Duration{"": 1, "?_timezone=Europe/Kiev": 1, "?_time_format=datetime": time.Second,
		"?_time_integer_format=unix_nano": 1} {
		db := open(t, parameters)
		exec(t, db, "CREATE TABLE t (at TIMESTAMP)")
		for _, offset := range []int{0, 1172, -1521, 3600} {
			at := time.Date(1900, 1, 2, 3, 4, 5, 6, time.FixedZone("LMT", offset)).Truncate(unit)
			exec(t, db, "DELETE FROM t")
			exec(t, db, "INSERT INTO t VALUES (?)", at)
			var got time.Time
			if err := db.QueryRow("SELECT at FROM t").Scan(&got); err != nil || !got.Equal(at) {
				t.Errorf("%s, offset %d s: %v, want %v; %v", parameters, offset, got, at, err)
			}
		}
	}
}

// TestAReadOnlyTransactionLeavesTheConnectionAsItWas has one that could not write before.
func TestAReadOnlyTransactionLeavesTheConnectionAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	for _, parameters := range []string{"", "?_query_only=1"} {
		writes := parameters == "" // and makes the table, which the second finds
		db, err := sql.Open(sqldriver.Name, path+parameters)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		if writes {
			exec(t, db, "CREATE TABLE t (a)")
		}
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		_, inside := tx.Exec("INSERT INTO t VALUES (1)")
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		if _, err := db.Exec("INSERT INTO t VALUES (1)"); !errors.Is(inside, kv.NotWritable) || errors.Is(err, kv.NotWritable) == writes {
			t.Errorf("%q: within it %v, behind it %v", parameters, inside, err)
		}
	}
}

// TestAConnectionThatEndedIsReplaced has a program close the one beneath a pool's, and a callback
// end its goroutine.
func TestAConnectionThatEndedIsReplaced(t *testing.T) {
	db := open(t, "")
	db.SetMaxOpenConns(1)
	exec(t, db, "CREATE TABLE t (a)")
	within := func(fn func(*sqlite.Conn) error) {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := sqldriver.Raw(c, fn); err != nil {
			t.Error(err)
		}
	}
	within((*sqlite.Conn).Close)
	exec(t, db, "INSERT INTO t VALUES (1)")
	if instrumented {
		return // nobody gives back what SQLite holds then, which the address sanitizer tells
	}
	within(func(c *sqlite.Conn) error {
		var all sync.WaitGroup
		all.Go(func() {
			_ = c.OnAuthorize(func(sqlite.Access) sqlite.Decision { runtime.Goexit(); return sqlite.Allow })
			_ = c.Exec(t.Context(), "SELECT 1")
		})
		all.Wait()
		return nil
	})
	exec(t, db, "INSERT INTO t VALUES (2)")
}
