package sqlitewasmkv

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/assaydb/assay/engines/internal/sqlite"
)

// CheckpointAt has every commit that leaves pages or more in the log end with CheckpointDue.
// go-sqlite3 allocates four bytes for each call of the hook, which is for each commit.
func (c *conn) CheckpointAt(pages int) {
	c.db.WALHook(func(_ *sqlite3.Conn, _ string, n int) error {
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
