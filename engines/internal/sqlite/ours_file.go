package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/assaydb/assay/kv/detect"
	"github.com/assaydb/assay/kv/driver"
)

// creating makes sure that no store of this process uses a file while createFile still has it open.
// SQLite: closing any descriptor of a file drops all locks that the process has on it.
var creating sync.Mutex

// createFile creates the database as an empty file with its missing parent folders, for this user
// only, and reports whether it did. SQLite would create it for everyone that the umask admits. What
// is opened as it is must exist.
func (s *Store) createFile() (created bool, err error) {
	creating.Lock()
	defer creating.Unlock()
	if _, err := os.Stat(s.path); err == nil || s.readOnly || s.options.Table != "" {
		return false, err
	}
	if err := driver.MakeDirs(filepath.Dir(s.path)); err != nil {
		return false, err
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// protect gives the database's permissions to the file -shm, where there is one that has others; it
// stays as long as the store is open. Not every build of SQLite creates it with them. Another
// user's process may have created it: then it is his. It also says whether the log may have a hole.
func (s *Store) protect(hole bool) error {
	want, have, err := s.modes()
	if hole {
		want ^= holed
	}
	if err == nil && have != want {
		err = os.Chmod(s.path+"-shm", want)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return err
}

// holed is the permission to execute the file -shm, which means nothing to anybody else. Where it
// is not as the database's, the log may have a hole. It can be told where nothing can be written.
const holed fs.FileMode = 0o100

// marked reports whether somebody has said that the log may have a hole.
func (s *Store) marked() bool {
	database, shm, err := s.modes()
	return err == nil && (database^shm)&holed != 0
}

// modes returns the permissions of the database and of the file -shm.
func (s *Store) modes() (database, shm fs.FileMode, err error) {
	a, err := os.Stat(s.path)
	if err != nil {
		return 0, 0, err
	}
	b, err := os.Stat(s.path + "-shm")
	if err != nil {
		return 0, 0, err
	}
	return a.Mode().Perm(), b.Mode().Perm(), nil
}

// unfinished returns the name of a companion file that holds commits, or "".
func (s *Store) unfinished() string {
	for _, f := range []string{s.path + "-wal", s.path + "-journal"} {
		if info, err := os.Stat(f); err == nil && info.Size() > 0 {
			return f
		}
	}
	return ""
}

// checkLength refuses a database that has lost the end of its last page. SQLite: such a page reads
// as if zeros followed, and integrity_check does not notice. While another process extends the file
// it may have such a length, and a companion file that holds commits; the second look is for one
// that was done in between.
func (s *Store) checkLength(c *conn) error {
	for range 2 {
		info, err := os.Stat(s.path)
		if err != nil {
			return err
		}
		over, err := c.text(fmt.Sprintf("SELECT %d %% page_size FROM pragma_page_size", info.Size()))
		if err != nil || over == "0" {
			return err
		}
		if s.unfinished() != "" {
			return nil
		}
	}
	return &driver.Error{Kind: driver.Corrupt, Err: errors.New("the file ends within a page"),
		Hint: hints[driver.Corrupt]}
}

var errNotADB = errors.New("not an SQLite database")

// foreign tells what a file is that SQLite does not take for one of its own. SQLite: closing the
// file drops locks that this process has on it, but nobody has one on such a file.
func (s *Store) foreign(err error) error {
	if found, ferr := detect.Path(s.path); ferr == nil && found.Engine != "sqlite" {
		return unfit("open it as "+found.Engine+":"+s.path, "a file of %s, not of SQLite", found.Engine)
	}
	return &driver.Error{Kind: driver.Corrupt, Err: err,
		Hint: "name another file if it is one of another program; otherwise restore a backup"}
}
