package sqlitekv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/kv/driver"
)

func openStore(t *testing.T, params map[string]string) *Store {
	t.Helper()
	s, err := Driver{}.Open(t.Context(), driver.Config{Path: filepath.Join(t.TempDir(), "db"), Mode: driver.Shared, Params: params})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.(*Store)
}

func TestANewConnectionHasTheLevelThatConnAssumes(t *testing.T) {
	s := openStore(t, nil)
	got, err := s.writer.text("PRAGMA synchronous")
	if want := fmt.Sprint(int(s.writer.level)); err != nil || got != want {
		t.Fatalf("synchronous: got %s, %v, want %s", got, err, want)
	}
}

func TestCommitsRunUnderTheLevelOfTheirClass(t *testing.T) {
	for _, journal := range []string{journalWAL, journalDelete} {
		s := openStore(t, map[string]string{"journal_mode": journal})
		for _, d := range driver.Durabilities {
			tx, err := s.Begin(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tx.(*txn).c.text("PRAGMA synchronous")
			if want := fmt.Sprint(int(levelFor(journal, "", d))); err != nil || got != want {
				t.Errorf("%s, %v: synchronous is %s, %v, want %s", journal, d, got, err, want)
			}
			if err := tx.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestPromisesFollowSQLitesDocumentation(t *testing.T) {
	no := driver.Promise{}
	flushed, flushedIntact := driver.Promise{Supported: true, Class: driver.Flushed}, driver.Promise{Supported: true, Class: driver.Flushed, Intact: true}
	synced := driver.Promise{Supported: true, Class: driver.Synced, Intact: true}
	for _, c := range []struct {
		journal, synchronous string
		want                 [3]driver.Promise
	}{
		{journalWAL, "", [3]driver.Promise{synced, flushedIntact, flushedIntact}},
		{journalWAL, "OFF", [3]driver.Promise{no, flushed, flushed}},
		{journalWAL, "NORMAL", [3]driver.Promise{no, flushedIntact, flushedIntact}},
		{journalWAL, "FULL", [3]driver.Promise{synced, synced, synced}},
		{journalWAL, "EXTRA", [3]driver.Promise{synced, synced, synced}},
		{journalDelete, "", [3]driver.Promise{synced, flushed, flushed}},
		{journalDelete, "OFF", [3]driver.Promise{no, flushed, flushed}},
		{journalDelete, "NORMAL", [3]driver.Promise{no, flushed, flushed}},
		{journalDelete, "FULL", [3]driver.Promise{no, flushedIntact, flushedIntact}},
		{journalDelete, "EXTRA", [3]driver.Promise{synced, synced, synced}},
	} {
		if got := capsOf(c.journal, c.synchronous).Promises; got != c.want {
			t.Errorf("%s %q:\n got %+v\nwant %+v", c.journal, c.synchronous, got, c.want)
		}
	}
}

func TestAnEndedContextInterruptsALongStatement(t *testing.T) {
	s := openStore(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.reading(ctx, func(c *conn, _ *waiter) error {
		cancel()
		_, err := c.texts("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")
		return err
	})
	if driver.KindOf(err) != driver.Canceled {
		t.Fatalf("got %v, want canceled", err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Fatalf("check on the interrupted connection: %v", err)
	}
}

func TestATransactionThatSQLiteRolledBackTakesNoMoreWrites(t *testing.T) {
	s := openStore(t, nil)
	put := func(key, value string) []driver.Op { return []driver.Op{{Key: []byte(key), Value: []byte(value)}} }
	if err := s.Apply(t.Context(), put("a", "1"), driver.Flushed); err != nil {
		t.Fatal(err)
	}
	if err := s.writer.exec("PRAGMA max_page_count = 20"); err != nil {
		t.Fatal(err)
	}
	tx, err := s.Begin(t.Context(), driver.Flushed)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Put([]byte("b"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	if err := tx.Put([]byte("big"), []byte(strings.Repeat("x", 1<<20))); driver.KindOf(err) != driver.Full {
		t.Fatalf("put of more than fits: got %v, want full", err)
	}
	if err := tx.(*txn).c.rollback(); err != nil { // as SQLite does on some full disks
		t.Fatal(err)
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
	if err := s.Apply(t.Context(), put("d", "4"), driver.Flushed); err != nil {
		t.Fatalf("the store is not usable afterwards: %v", err)
	}
	r, err := s.Snapshot()
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

func TestIdleConnectionsAreBoundedAndLentOnesAreNot(t *testing.T) {
	s := openStore(t, nil)
	var readers []driver.Reader
	for range 2 * maxIdle {
		r, err := s.Snapshot()
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
	if len(s.idle) != maxIdle {
		t.Errorf("%d idle connections, want %d", len(s.idle), maxIdle)
	}
}

func TestEveryResultCodeHasItsKind(t *testing.T) {
	for _, c := range []struct {
		rc    int32
		errno syscall.Errno
		want  driver.Kind
	}{
		{lib.SQLITE_BUSY, 0, driver.Busy},
		{lib.SQLITE_BUSY_SNAPSHOT, 0, driver.Busy},
		{lib.SQLITE_LOCKED, 0, driver.Busy},
		{lib.SQLITE_CORRUPT, 0, driver.Corrupt},
		{lib.SQLITE_NOTADB, 0, driver.Corrupt},
		{lib.SQLITE_IOERR_CORRUPTFS, 0, driver.Corrupt},
		{lib.SQLITE_FULL, 0, driver.Full},
		{lib.SQLITE_READONLY, 0, driver.NotWritable},
		{lib.SQLITE_READONLY_DIRECTORY, 0, driver.NotWritable},
		{lib.SQLITE_PERM, 0, driver.Permission},
		{lib.SQLITE_TOOBIG, 0, driver.TooLarge},
		{lib.SQLITE_INTERRUPT, 0, driver.Canceled},
		{lib.SQLITE_CANTOPEN, syscall.ENOENT, driver.Missing},
		{lib.SQLITE_CANTOPEN, syscall.EACCES, driver.Permission},
		{lib.SQLITE_IOERR_WRITE, syscall.ENOSPC, driver.Full},
		{lib.SQLITE_IOERR_FSYNC, syscall.EIO, driver.Other},
		{lib.SQLITE_ERROR, syscall.ENOENT, driver.Other},
	} {
		err := classify(c.rc, "text", c.errno)
		if driver.KindOf(err) != c.want {
			t.Errorf("%d, %v: got %v, want %v", c.rc, c.errno, driver.KindOf(err), c.want)
		}
		if c.errno != 0 && c.rc != lib.SQLITE_ERROR && !errors.Is(err, c.errno) {
			t.Errorf("%d: %v does not wrap %v", c.rc, err, c.errno)
		}
	}
}
