package driver

import (
	"errors"
	"io/fs"
	"os"
)

// LookAtSQLite is called before the SQLite file at path is opened to be read alone. It returns what
// is to be called when it is closed: reopen opens the file for writing, reads, and closes it.
//
// SQLite: where the files -wal and -shm of a file in WAL mode are missing, one who only reads makes
// them, and leaves them. One who may write removes them when it is closed, if nobody else has the
// file open, under a lock that keeps others from opening it meanwhile. So reopen is called if there
// was no log before, and there is one without anything in it.
func LookAtSQLite(path string, reopen func() error) (end func() error) {
	log := path + "-wal"
	if _, err := os.Stat(log); !errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }
	}
	return func() error {
		if info, err := os.Stat(log); err != nil || info.Size() > 0 {
			return nil
		}
		return reopen()
	}
}
