package upstream

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/assaydb/assay/lab/powertest"
)

var sqliteCutsUnsynced = fault{module: "modernc.org/sqlite", defence: "engines/internal/sqlite/maintain.go",
	sentence: "with journal_mode=DELETE and synchronous=FULL the file is cut behind the removal of the journal, which " +
		"is not synced: a power cut may leave the journal and a file whose last pages are zeroes in part"}

// sqliteStore is a table of rows of about a page each, of which the first half is deleted, so that
// the file can be cut.
type sqliteStore struct {
	rows    int
	pragmas []string
	vacuums bool
}

func openSQLite(dir string, pragmas []string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", filepath.Join(dir, "db"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	for _, p := range pragmas {
		if _, err := db.Exec("PRAGMA " + p); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

func (s sqliteStore) work(dir string, log *powertest.Log[string]) error {
	db, err := openSQLite(dir, s.pragmas)
	if err != nil {
		return err
	}
	statements := []string{
		"CREATE TABLE t(n INTEGER PRIMARY KEY, x BLOB)",
		fmt.Sprintf("WITH RECURSIVE s(n) AS (VALUES(1) UNION ALL SELECT n+1 FROM s WHERE n < %d) "+
			"INSERT INTO t SELECT n, zeroblob(900) FROM s", s.rows),
		fmt.Sprintf("DELETE FROM t WHERE n <= %d", s.rows/2),
	}
	if s.vacuums {
		statements = append(statements, "VACUUM")
	}
	for _, text := range statements {
		log.Try(text)
		if _, err := db.Exec(text); err != nil {
			return errors.Join(err, db.Close())
		}
		log.Done(text)
	}
	return db.Close()
}

// check objects to what is damaged, and to a number of rows that no commit left.
func (s sqliteStore) check(dir string, _ powertest.History[string]) error {
	db, err := openSQLite(dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	var found string
	if err := db.QueryRow("PRAGMA integrity_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return errors.New(found)
	}
	var rows int
	if err := db.QueryRow("SELECT count(*) FROM t WHERE x = zeroblob(900)").Scan(&rows); err != nil {
		return err
	}
	if rows != 0 && rows != s.rows && rows != s.rows/2 { // at FULL the last commit may be lost
		return fmt.Errorf("%d rows", rows)
	}
	return nil
}

// TestSQLiteCutsTheFileBehindAJournalThatMayComeBack cuts the power at every moment of the
// statement that cuts the file.
func TestSQLiteCutsTheFileBehindAJournalThatMayComeBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken bool
		sqliteStore
	}{
		{"VACUUM at FULL", true, sqliteStore{14, []string{"page_size=1024", "synchronous=FULL"}, true}},
		{"auto_vacuum at FULL", true,
			sqliteStore{12, []string{"page_size=1024", "auto_vacuum=FULL", "synchronous=FULL"}, false}},
		{"a page for each block", false, sqliteStore{14, []string{"page_size=4096", "synchronous=FULL"}, true}},
		{"VACUUM at EXTRA", false, sqliteStore{14, []string{"page_size=1024", "synchronous=EXTRA"}, true}},
		{"auto_vacuum at EXTRA", false,
			sqliteStore{12, []string{"page_size=1024", "auto_vacuum=FULL", "synchronous=EXTRA"}, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && !c.vacuums {
				t.Skip("a commit makes the same cut instead of VACUUM: without -short")
			}
			before := 2 // of the statements; the next one cuts the file
			if c.vacuums {
				before = 3
			}
			states, objections := powertest.EveryCut(t, powertest.Case[string]{Work: c.work, Check: c.check}, before)
			how := fmt.Sprintf("%d of %d states are broken", len(objections), states)
			if len(objections) > 0 {
				how += ", such as " + objections[0]
			}
			switch {
			case c.broken:
				sqliteCutsUnsynced.report(t, len(objections) > 0, how)
			case len(objections) > 0:
				t.Error(how)
			default:
				t.Log(how)
			}
		})
	}
}
