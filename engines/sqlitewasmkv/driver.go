// Package sqlitewasmkv is the engine "sqlite-wasm": an SQLite database by github.com/ncruces/go-sqlite3, which is SQLite
// compiled to WebAssembly and that translated to Go, with its files and locks written in Go.
//
// What a store is, what its commits promise and how it is locked is told in engines/internal/sqlite, which all builds of
// SQLite share: in WAL mode Synced commits run under synchronous=FULL and Flushed ones under NORMAL, and several
// processes may read and write. The files are those of the engine "sqlite".
//
// Every connection has a memory of its own, as a WebAssembly module has: it grows with the largest value and the cache
// and is given back when the connection is closed.
package sqlitewasmkv

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/assaydb/assay/engines/internal/sqlite"
	"github.com/assaydb/assay/kv/driver"
)

func init() { driver.Register(library) }

var library = &sqlite.Library{
	Name:    "sqlite-wasm",
	Summary: "SQLite's B-tree with write-ahead log or rollback journal, by WebAssembly translated to Go; several processes at once",
	Modules: []string{"github.com/ncruces/go-sqlite3", "github.com/ncruces/go-sqlite3-wasm/v6"},
	PureGo:  true,
	// go-sqlite3 compiles SQLite with SQLITE_DEFAULT_WAL_SYNCHRONOUS=1.
	LevelVaries: true,
	Connect:     connect,
	Opened:      protect,
}

// protect gives the database's permissions to the file -shm, where there is one; it stays as long as the store is open.
// go-sqlite3 creates it with those that the umask admits. Another user's process may have created it: then it is his.
func protect(s *sqlite.Store) error {
	files, err := s.Files()
	if err != nil {
		return err
	}
	info, err := os.Stat(files[0])
	if err != nil {
		return err
	}
	err = os.Chmod(files[0]+"-shm", info.Mode().Perm())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return err
}
