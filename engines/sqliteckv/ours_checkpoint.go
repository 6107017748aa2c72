//go:build cgo

package sqliteckv

/*
#include <stdint.h>
#include "sqlite.h"

static int due(void *pages, sqlite3 *db, const char *name, int n) {
	return n < (intptr_t)pages ? 0 : 27; // sqlite.CheckpointDue
}

static void checkpoint_at(sqlite3 *db, int pages) {
	sqlite3_wal_hook(db, due, (void *)(intptr_t)pages);
}

static void keep_log(sqlite3 *db, int keep) {
	sqlite3_db_config(db, 1006, keep, NULL); // SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE
}
*/
import "C"

// CheckpointAt has every commit that leaves pages or more in the log end with CheckpointDue.
func (c *conn) CheckpointAt(pages int) { C.checkpoint_at(c.db, C.int(pages)) }

// KeepLog says whether the log stays as it is when the last connection is closed.
func (c *conn) KeepLog(keep bool) {
	var on C.int
	if keep {
		on = 1
	}
	C.keep_log(c.db, on)
}
