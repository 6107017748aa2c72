//go:build cgo

package sqliteckv

/*
#include <stdint.h>
#include "sqlite.h"

static int checkpoint(void *pages, sqlite3 *db, const char *name, int n) {
	if (n < (intptr_t)pages)
		return 0;
	int rc = sqlite3_wal_checkpoint_v2(db, name, 0, NULL, NULL);
	return rc == 1034 ? rc : 0; // sqlite.Checkpointed
}

static void checkpoint_at(sqlite3 *db, int pages) {
	sqlite3_wal_hook(db, checkpoint, (void *)(intptr_t)pages);
}
*/
import "C"

// CheckpointAt has every commit that leaves pages or more in the log begin a checkpoint.
func (c *conn) CheckpointAt(pages int) { C.checkpoint_at(c.db, C.int(pages)) }
