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
		rc, err := c.checkpoint(schema)
		if sqlite.Checkpointed(rc) != sqlite.OK {
			return err
		}
		return nil
	})
}

func (c *conn) checkpoint(schema string) (rc int32, err error) {
	defer c.outOfMemory(&rc)
	_, _, err = c.db.WALCheckpoint(schema, sqlite3.CHECKPOINT_PASSIVE)
	return c.result(err), err
}
