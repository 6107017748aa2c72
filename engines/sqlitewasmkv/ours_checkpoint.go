package sqlitewasmkv

import (
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/assaydb/assay/engines/internal/sqlite"
)

// CheckpointAt has every commit that leaves pages or more in the log end with CheckpointDue.
// go-sqlite3 allocates four bytes for each call of the hook, which is for each commit.
//
// The first commit of a connection also syncs the folder, in which the log may be new. SQLite asks
// for that with the first sync of a log; go-sqlite3 v0.35.6 opens the folder then and syncs the log
// once more.
func (c *conn) CheckpointAt(pages int) {
	named := false
	c.db.WALHook(func(db *sqlite3.Conn, _ string, n int) error {
		if !named {
			if err := c.told.onSync.Dir(filepath.Dir(db.Filename("").String())); err != nil {
				return sqlite3.ExtendedErrorCode(sqlite.IOErrFsync)
			}
			named = true
		}
		if n < pages {
			return nil
		}
		return sqlite3.ExtendedErrorCode(sqlite.CheckpointDue)
	})
}

// KeepLog says whether the log stays as it is when the last connection is closed.
func (c *conn) KeepLog(keep bool) {
	_, _ = c.db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, keep) // SQLite has it since 3.16
}
