package sqlitekv

import (
	"unsafe"

	"modernc.org/libc"
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
