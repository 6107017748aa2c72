package sqlitewasmkv

import (
	"encoding/binary"
	"io"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/assaydb/assay/engines/internal/sqlite"
)

// CheckpointAt has every commit that leaves pages or more in the log end with CheckpointDue.
// go-sqlite3 allocates four bytes for each call of the hook, which is for each commit.
//
// The first commit of a connection also syncs the folder, in which the log may be new. SQLite asks
// for that with the first sync of a log; go-sqlite3 v0.35.6 opens the folder then and syncs the log
// once more.
func (c *conn) CheckpointAt(pages int) {
	named := false
	c.db.WALHook(func(db *sqlite3.Conn, _ string, n int) error {
		if !named {
			if err := c.told.onSync.Dir(filepath.Dir(db.Filename("").String())); err != nil {
				return sqlite3.ExtendedErrorCode(sqlite.IOErrFsync)
			}
			named = true
		}
		if n < pages {
			return nil
		}
		return sqlite3.ExtendedErrorCode(sqlite.CheckpointDue)
	})
}

// shm is what go-sqlite3 has of a file -shm: the file, which is as its mapped memory.
type shm interface {
	io.ReaderAt
	io.WriterAt
	Fd() uintptr
}

// index returns the file of the log's index.
func (c *conn) index() (shm, error) {
	file, err := c.db.FileControl("", sqlite3.FCNTL_FILE_POINTER)
	if err != nil {
		return nil, err
	}
	if shared, _ := file.(vfs.FileSharedMemory); shared != nil {
		if f, ok := shared.SharedMemory().(shm); ok {
			return f, nil
		}
	}
	return nil, sqlite3.IOERR_SHMMAP
}

// Committed returns how many frames of the log are committed.
func (c *conn) Committed() (frames uint32, rc int32) {
	f, err := c.index()
	if err != nil {
		return 0, c.result(err)
	}
	var got [4]byte
	if _, err := f.ReadAt(got[:], sqlite.FramesInShm); err != nil {
		return 0, c.result(sqlite3.IOERR_READ)
	}
	return binary.LittleEndian.Uint32(got[:]), sqlite.OK // as Wasm's memory is
}

// CopyAll has the next checkpoint copy the whole log.
func (c *conn) CopyAll() int32 {
	f, err := c.index()
	if err != nil {
		return c.result(err)
	}
	unlock, err := lockCheckpoints(f.Fd())
	if err != nil {
		return c.result(sqlite3.BUSY)
	}
	_, err = f.WriteAt(make([]byte, 4), sqlite.CopiedInShm)
	if unlock(); err != nil {
		return c.result(sqlite3.IOERR_WRITE)
	}
	return sqlite.OK
}

// KeepLog says whether the log stays as it is when the last connection is closed.
func (c *conn) KeepLog(keep bool) {
	_, _ = c.db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, keep) // SQLite has it since 3.16
}
