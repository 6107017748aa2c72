package upstream

import (
	"context"
	"database/sql"
	"fmt"
	"syscall"
	"testing"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

var sqliteCountsUnsynced = fault{module: "modernc.org/sqlite", defence: "engines/internal/sqlite/ours_log.go",
	sentence: "a checkpoint that a reader holds back counts pages as copied that it did not sync: if the sync of the " +
		"next one fails once, and no call tells of that, they are lost when the log begins anew and power fails"}

// TestSQLiteCountsPagesAsCopiedThatAreNotSynced holds a checkpoint back by a reader, in some cases
// with a failed sync in the next one, and goes on until the log has begun anew.
func TestSQLiteCountsPagesAsCopiedThatAreNotSynced(t *testing.T) {
	for _, c := range []struct{ reads, fails bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		name := fmt.Sprintf("a reader %v, a failed sync %v", c.reads, c.fails)
		t.Run(name, func(t *testing.T) {
			got, told := sqliteAfterCheckpoints(t, c.reads, c.fails)
			how := fmt.Sprintf("after the cut, in place of the value 1: %s; commits that returned an error: %d", got, told)
			switch {
			case c.reads && c.fails:
				sqliteCountsUnsynced.report(t, got != "1" && told == 0, how)
			case got != "1":
				t.Error(how)
			}
		})
	}
}

// sqliteAfterCheckpoints sets one table's value to 1 and changes another table's, and returns what
// the first is after a cut, and how many commits failed.
func sqliteAfterCheckpoints(t *testing.T, reads, fails bool) (found string, told int) {
	t.Helper()
	disk := powertest.NewDisk(t, nil)
	pragmas := []string{"journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=4"}
	writer := sqliteHandle(t, disk.Dir(), pragmas)
	write := func(text string) {
		if _, err := writer.Exec(text); err != nil {
			told++
			t.Logf("%s: %v", text, err)
		}
	}
	write("CREATE TABLE a(x)")
	write("CREATE TABLE b(x)")
	write("INSERT INTO a VALUES(0)")
	write("INSERT INTO b VALUES(0)")
	write("PRAGMA wal_checkpoint(TRUNCATE)")
	write("UPDATE a SET x = 1")
	if reads {
		read, err := sqliteHandle(t, disk.Dir(), nil).BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
		if err == nil {
			err = read.QueryRow("SELECT x FROM a").Scan(new(string))
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 5 { // the log is copied up to what is read
			write("UPDATE b SET x = x + 1")
		}
		if err := read.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	if fails {
		disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Err: syscall.EIO, Match: "db"})
	}
	for range 20 { // it is copied to its end, and begun anew
		write("UPDATE b SET x = x + 1")
	}
	if n := disk.Failed(); n != map[bool]int{true: 1}[fails] {
		t.Fatalf("%d syncs failed", n)
	}
	if err := sqliteHandle(t, disk.Cut(t), nil).QueryRow("SELECT x FROM a").Scan(&found); err != nil {
		found = err.Error()
	}
	return found, told
}

func sqliteHandle(t *testing.T, dir string, pragmas []string) *sql.DB {
	t.Helper()
	db, err := openSQLite(dir, pragmas)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
