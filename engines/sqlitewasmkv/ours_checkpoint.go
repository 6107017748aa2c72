package sqlitewasmkv

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/assaydb/assay/engines/internal/sqlite"
)

// CheckpointAt has every commit that leaves pages or more in the log begin a checkpoint.
// go-sqlite3 allocates four bytes for each call of the hook, which is for each commit.
func (c *conn) CheckpointAt(pages int) {
	c.db.WALHook(func(db *sqlite3.Conn, schema string, n int) error {
		if n < pages {
			return nil
		}
		_, _, err := db.WALCheckpoint(schema, sqlite3.CHECKPOINT_PASSIVE)
		if sqlite.Checkpointed(c.result(err)) != sqlite.OK {
			return err
		}
		return nil
	})
}
