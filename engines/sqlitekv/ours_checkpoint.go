package sqlitekv

import (
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/engines/internal/sqlite"
)

// CheckpointAt has every commit that leaves pages or more in the log end with CheckpointDue.
func (c *conn) CheckpointAt(pages int) {
	// A function of C is the address of its code, which is how Go begins a function's value.
	f := struct {
		f func(tls *libc.TLS, pages, db, name uintptr, n int32) int32
	}{due}
	lib.Xsqlite3_wal_hook(c.tls, c.db, *(*uintptr)(unsafe.Pointer(&f)), uintptr(pages))
}

func due(_ *libc.TLS, pages, _, _ uintptr, n int32) int32 {
	if uintptr(n) < pages {
		return sqlite.OK
	}
	return sqlite.CheckpointDue
}

// index returns the database's file, its methods, and where the log's index lies in memory.
func (c *conn) index() (file uintptr, methods *lib.Tsqlite3_io_methods, region uintptr, rc int32) {
	out := libc.Xmalloc(c.tls, types.Size_t(unsafe.Sizeof(uintptr(0))))
	if out == 0 {
		return 0, nil, 0, sqlite.NoMem
	}
	defer libc.Xfree(c.tls, out)
	rc = lib.Xsqlite3_file_control(c.tls, c.db, 0, lib.SQLITE_FCNTL_FILE_POINTER, out)
	if rc != sqlite.OK {
		return 0, nil, 0, rc
	}
	file = *at[uintptr](out)
	methods = at[lib.Tsqlite3_io_methods](at[lib.Tsqlite3_file](file).FpMethods)
	shmMap := function[func(_ *libc.TLS, file uintptr, n, size, grow int32, out uintptr) int32](methods.FxShmMap)
	rc = shmMap(c.tls, file, 0, sqlite.ShmRegion, 0, out)
	return file, methods, *at[uintptr](out), rc
}

// Committed returns how many frames of the log are committed.
func (c *conn) Committed() (frames uint32, rc int32) {
	_, _, region, rc := c.index()
	if rc != sqlite.OK {
		return 0, rc
	}
	return *at[uint32](region + sqlite.FramesInShm), rc
}

// CopyAll has the next checkpoint copy the whole log.
func (c *conn) CopyAll() int32 {
	file, methods, region, rc := c.index()
	if rc != sqlite.OK {
		return rc
	}
	lock := function[func(_ *libc.TLS, file uintptr, n, count, flags int32) int32](methods.FxShmLock)
	rc = lock(c.tls, file, sqlite.CheckpointLock, 1, lib.SQLITE_SHM_LOCK|lib.SQLITE_SHM_EXCLUSIVE)
	if rc != sqlite.OK {
		return rc
	}
	*at[uint32](region + sqlite.CopiedInShm) = 0
	lock(c.tls, file, sqlite.CheckpointLock, 1, lib.SQLITE_SHM_UNLOCK|lib.SQLITE_SHM_EXCLUSIVE)
	return rc
}

// KeepLog says whether the log stays as it is when the last connection is closed.
func (c *conn) KeepLog(keep bool) {
	var on int32
	if keep {
		on = 1
	}
	args := libc.NewVaList(on, uintptr(0))
	defer libc.Xfree(c.tls, args)
	lib.Xsqlite3_db_config(c.tls, c.db, lib.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, args)
}
