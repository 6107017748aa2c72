package upstream

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

var sqliteFullComesBack = fault{module: "modernc.org/sqlite", defence: "engines/internal/sqlite/ours_log.go",
	sentence: "a commit that ended with SQLITE_FULL, and was rolled back, is there if power fails amid the next one"}

// TestSQLiteCommitsWhatFoundNoSpace has a commit end amid its page with no space, and another one
// begin behind it, of whose page the second half is on the disk when power fails, and of the first
// what the one before has written.
func TestSQLiteCommitsWhatFoundNoSpace(t *testing.T) {
	for _, amid := range []bool{false, true} {
		got := sqliteAfterFull(t, amid)
		if amid {
			sqliteFullComesBack.report(t, got == "no space", "the row behind the others: "+got)
		} else if got != "the next one" {
			t.Errorf("where all of the next commit is there: got %q", got)
		}
	}
}

// sqliteAfterFull returns the last row of a table of five after a cut amid the commit behind one
// without space, or behind it.
func sqliteAfterFull(t *testing.T, amid bool) (last string) {
	t.Helper()
	disk := powertest.NewDisk(t, nil)
	db := sqliteHandle(t, disk.Dir(), []string{"page_size=8192", "journal_mode=WAL", "synchronous=FULL"})
	insert := func(value string) error {
		_, err := db.Exec("INSERT INTO t VALUES(?)", value)
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) []byte {
		data, err := exec.Command("cat", filepath.Join(disk.Dir(), name)).Output() // this process would lose its locks
		must(err)
		return data
	}
	_, err := db.Exec("CREATE TABLE t(x)")
	must(err)
	for range 4 { // with which the second half of the page is full
		must(insert(strings.Repeat("0", 1100)))
	}
	at := len(read("db-wal"))
	disk.Arm(powerfs.Fault{Op: powerfs.OnWrite, Nth: 2, Err: syscall.ENOSPC, Short: true, Match: "*-wal"})
	if err := insert("no space"); err == nil || !strings.Contains(err.Error(), "full") {
		t.Fatalf("got %v, want a full disk", err)
	}
	failed := read("db-wal")
	must(insert("the next one"))
	log := read("db-wal")
	if amid {
		copy(log[at:], failed[at:])
	}
	left := t.TempDir()
	must(os.WriteFile(filepath.Join(left, "db"), read("db"), 0o600))
	must(os.WriteFile(filepath.Join(left, "db-wal"), log, 0o600))
	err = sqliteHandle(t, left, nil).QueryRow("SELECT x FROM t WHERE length(x) < 100").Scan(&last)
	if err == sql.ErrNoRows {
		return "none"
	}
	must(err)
	return last
}
