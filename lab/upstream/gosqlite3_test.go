package upstream

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/assaydb/assay/lab/powerfs"
	"github.com/assaydb/assay/lab/powertest"
)

var goSQLite3SyncsNoFolder = fault{module: "github.com/ncruces/go-sqlite3", defence: "engines/internal/sqlite/driver.go",
	sentence: "a sync of a new journal or log is to sync its folder, too: the folder is opened, and the file is synced " +
		"once more"}

// TestGoSQLite3SyncsNoFolder makes a table on a disk on which no folder can be synced: who syncs
// one is told.
func TestGoSQLite3SyncsNoFolder(t *testing.T) {
	for name, create := range map[string]func(path string) error{
		"go-sqlite3": func(path string) error {
			db, err := sqlite3.Open(path)
			if err != nil {
				return err
			}
			return errors.Join(db.Exec("CREATE TABLE t(x)"), db.Close())
		},
		"modernc.org/sqlite": func(path string) error {
			db, err := openSQLite(filepath.Dir(path), nil)
			if err != nil {
				return err
			}
			_, err = db.Exec("CREATE TABLE t(x)")
			return errors.Join(err, db.Close())
		},
	} {
		disk := powertest.NewDisk(t, nil)
		disk.Arm(powerfs.Fault{Op: powerfs.OnSync, Nth: 1, Err: syscall.EIO, Match: ".", Sticky: true})
		err := create(filepath.Join(disk.Dir(), "db"))
		how := fmt.Sprintf("CREATE TABLE: %v; %d syncs of a folder failed", err, disk.Failed())
		if name == "go-sqlite3" {
			goSQLite3SyncsNoFolder.report(t, err == nil && disk.Failed() == 0, how)
		} else if disk.Failed() == 0 {
			t.Errorf("%s: %s", name, how)
		}
	}
}
