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

// The database's file, and where the log's index lies in memory.
static int log_index(sqlite3 *db, int size, sqlite3_file **file, void volatile **region) {
	int rc = sqlite3_file_control(db, NULL, 7, file); // SQLITE_FCNTL_FILE_POINTER
	return rc != 0 ? rc : (*file)->methods->shm_map(*file, 0, size, 0, region);
}

static int committed(sqlite3 *db, int frames, int size, uint32_t *n) {
	sqlite3_file *file;
	void volatile *region;
	int rc = log_index(db, size, &file, &region);
	if (rc == 0) {
		*n = *(uint32_t volatile *)((char volatile *)region + frames);
	}
	return rc;
}

static int copy_all(sqlite3 *db, int n, int copied, int size) {
	sqlite3_file *file;
	void volatile *region;
	int rc = log_index(db, size, &file, &region);
	if (rc != 0 || (rc = file->methods->shm_lock(file, n, 1, 2 | 8)) != 0) { // SQLITE_SHM_LOCK, SQLITE_SHM_EXCLUSIVE
		return rc;
	}
	*(uint32_t volatile *)((char volatile *)region + copied) = 0;
	file->methods->shm_lock(file, n, 1, 1 | 8); // SQLITE_SHM_UNLOCK
	return rc;
}
*/
import "C"

import "github.com/assaydb/assay/engines/internal/sqlite"

// CheckpointAt has every commit that leaves pages or more in the log end with CheckpointDue.
func (c *conn) CheckpointAt(pages int) { C.checkpoint_at(c.db, C.int(pages)) }

// Committed returns how many frames of the log are committed.
func (c *conn) Committed() (frames uint32, rc int32) {
	var n C.uint32_t
	rc = int32(C.committed(c.db, sqlite.FramesInShm, sqlite.ShmRegion, &n))
	return uint32(n), rc
}

// CopyAll has the next checkpoint copy the whole log.
func (c *conn) CopyAll() int32 {
	return int32(C.copy_all(c.db, sqlite.CheckpointLock, sqlite.CopiedInShm, sqlite.ShmRegion))
}

// KeepLog says whether the log stays as it is when the last connection is closed.
func (c *conn) KeepLog(keep bool) {
	var on C.int
	if keep {
		on = 1
	}
	C.keep_log(c.db, on)
}
