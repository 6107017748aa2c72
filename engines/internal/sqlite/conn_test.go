package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv/driver"
)

func openStore(t *testing.T, engine string, params map[string]string) *sqlite.Store {
	t.Helper()
	return openStoreAt(t, engine, filepath.Join(t.TempDir(), "db"), params)
}

func openStoreAt(t *testing.T, engine, path string, params map[string]string) *sqlite.Store {
	t.Helper()
	d, ok := driver.Lookup(engine)
	if !ok {
		t.Fatalf("no engine %q", engine)
	}
	s, err := d.Open(t.Context(), driver.Config{Path: path, Mode: driver.Shared, Params: params})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.(*sqlite.Store)
}

func commitsRunUnderTheLevelOfTheirClass(t *testing.T, engine string) {
	for _, journal := range []string{"WAL", "DELETE"} {
		s := openStore(t, engine, map[string]string{"journal_mode": journal})
		for _, d := range driver.Durabilities {
			tx, err := s.Begin(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			got, err := sqlite.ConnOf(tx).Text("PRAGMA synchronous")
			if want := fmt.Sprint(s.LevelFor(d)); err != nil || got != want {
				t.Errorf("%s, %v: synchronous is %s, %v, want %s", journal, d, got, err, want)
			}
			if err := tx.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func anEndedContextInterruptsALongStatement(t *testing.T, engine string) {
	s := openStore(t, engine, nil)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Reading(ctx, func(c *sqlite.TestConn) error {
		cancel()
		_, err := c.Text("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")
		return err
	})
	if driver.KindOf(err) != driver.Canceled {
		t.Fatalf("got %v, want canceled", err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Fatalf("check on the interrupted connection: %v", err)
	}
}

func aTransactionThatSQLiteRolledBackTakesNoMoreWrites(t *testing.T, engine string) {
	s := openStore(t, engine, nil)
	put := func(key, value string) []driver.Op { return []driver.Op{{Key: []byte(key), Value: []byte(value)}} }
	if err := driver.Apply(t.Context(), s, put("a", "1"), driver.Flushed); err != nil {
		t.Fatal(err)
	}
	if err := s.Writer().Exec("CREATE TEMP TRIGGER big BEFORE INSERT ON kv WHEN octet_length(NEW.v) > 1000 " +
		"BEGIN SELECT RAISE(ROLLBACK, 'as on some full disks'); END"); err != nil {
		t.Fatal(err)
	}
	tx, err := s.Begin(t.Context(), driver.Flushed)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Put([]byte("b"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	if err := tx.Put([]byte("big"), []byte(strings.Repeat("x", 2000))); err == nil ||
		driver.KindOf(err) == driver.Closed {
		t.Fatalf("put that SQLite answers with a rollback: got %v, want its error", err)
	}
	for what, err := range map[string]error{
		"put": tx.Put([]byte("c"), nil), "delete": tx.Delete([]byte("a")), "commit": tx.Commit()} {
		if err == nil {
			t.Errorf("%s in a transaction that was rolled back: no error", what)
		}
	}
	if err := tx.Close(); err != nil {
		t.Fatal(err)
	}
	if err := driver.Apply(t.Context(), s, put("d", "4"), driver.Flushed); err != nil {
		t.Fatalf("the store is not usable afterwards: %v", err)
	}
	r, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for key, want := range map[string]error{"a": nil, "b": driver.NotFound, "c": driver.NotFound, "d": nil} {
		if _, err := r.Get(nil, []byte(key)); err != want {
			t.Errorf("get %s: got %v, want %v", key, err, want)
		}
	}
}

func idleConnectionsAreBoundedAndLentOnesAreNot(t *testing.T, engine string) {
	s := openStore(t, engine, nil)
	var readers []driver.Reader
	for range 2 * sqlite.MaxIdle {
		r, err := s.Snapshot(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	for _, r := range readers {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if s.Idle() != sqlite.MaxIdle {
		t.Errorf("%d idle connections, want %d", s.Idle(), sqlite.MaxIdle)
	}
}
