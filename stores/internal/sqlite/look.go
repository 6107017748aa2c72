package sqlite

import (
	"database/sql"

	"github.com/assaydb/assay/kv/driver"
)

// Look is called before the file at an absolute path is opened to be read alone, and what it
// returns when it is closed: see [driver.LookAtSQLite]. What fails leaves an empty log: that is no
// error of a look.
func Look(path string) (end func() error) {
	return driver.LookAtSQLite(path, func() error {
		db, err := sql.Open(PureGo, URL(path, "mode=rw"))
		if err != nil {
			return nil
		}
		_, _ = db.Exec("PRAGMA schema_version") // SQLite: who reads opens the log
		_ = db.Close()
		return nil
	})
}
