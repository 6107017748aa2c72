package sqlitekv

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/assaydb/assay/engines/internal/sqlite"
)

// CheckpointAt has every commit that leaves pages or more in the log begin a checkpoint.
func (c *conn) CheckpointAt(pages int) {
	// A function of C is the address of its code, which is how Go begins a function's value.
	f := struct {
		f func(tls *libc.TLS, pages, db, name uintptr, n int32) int32
	}{checkpoint}
	lib.Xsqlite3_wal_hook(c.tls, c.db, *(*uintptr)(unsafe.Pointer(&f)), uintptr(pages))
}

func checkpoint(tls *libc.TLS, pages, db, name uintptr, n int32) int32 {
	if uintptr(n) < pages {
		return sqlite.OK
	}
	return sqlite.Checkpointed(lib.Xsqlite3_wal_checkpoint_v2(tls, db, name, lib.SQLITE_CHECKPOINT_PASSIVE, 0, 0))
}
