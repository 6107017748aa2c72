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
	sentence: "a commit that ended with SQLITE_FULL, and was rolled back, is there after a kill, or if power fails " +
		"amid the next one"}

// TestSQLiteCommitsWhatFoundNoSpace has a commit end amid its page with no space. A log that began
// anew with it has the end of that page from its last round, so that all of the commit is there.
// One that did not has it from the next commit, if power fails when the second half of that one's
// page is on the disk, and the first as the one before has written it.
func TestSQLiteCommitsWhatFoundNoSpace(t *testing.T) {
	for _, moment := range []string{"at once", "amid the next"} {
		got := sqliteAfterFull(t, moment)
		sqliteFullComesBack.report(t, got == "no space", moment+", the row behind the others: "+got)
	}
	if got := sqliteAfterFull(t, "behind the next"); got != "the next one" {
		t.Errorf("where all of the next commit is there: got %q", got)
	}
}

// sqliteAfterFull returns the last row of a table of five that is left of a commit without space at
// a moment.
func sqliteAfterFull(t *testing.T, moment string) (last string) {
	t.Helper()
	disk := powertest.NewDisk(t, nil)
	settings, nth := []string{"page_size=8192", "journal_mode=WAL", "synchronous=FULL"}, uint64(2)
	if moment == "at once" {
		settings, nth = append(settings, "wal_autocheckpoint=1"), 3 // which is behind the log's header
	}
	db := sqliteHandle(t, disk.Dir(), settings)
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
	disk.Arm(powerfs.Fault{Op: powerfs.OnWrite, Nth: nth, Err: syscall.ENOSPC, Short: true, Match: "*-wal"})
	if err := insert("no space"); err == nil || !strings.Contains(err.Error(), "full") {
		t.Fatalf("got %v, want a full disk", err)
	}
	failed := read("db-wal")
	log := failed
	if moment != "at once" {
		must(insert("the next one"))
		log = read("db-wal")
	}
	if moment == "amid the next" {
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
