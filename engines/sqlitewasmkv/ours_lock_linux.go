package sqlitewasmkv

import (
	"golang.org/x/sys/unix"

	"github.com/assaydb/assay/engines/internal/sqlite"
)

// lockCheckpoints takes the lock of who checkpoints, in the file -shm that a connection has open,
// which does not checkpoint itself. go-sqlite3 takes its own by the same calls.
func lockCheckpoints(shm uintptr) (unlock func(), err error) {
	set := func(kind int16) error {
		return unix.FcntlFlock(shm, unix.F_OFD_SETLK, &unix.Flock_t{Type: kind,
			Start: sqlite.LocksInShm + sqlite.CheckpointLock, Len: 1})
	}
	return func() { _ = set(unix.F_UNLCK) }, set(unix.F_WRLCK) // nothing refuses to unlock
}
