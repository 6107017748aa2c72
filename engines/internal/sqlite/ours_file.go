package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

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
	info, err := os.Stat(s.path)
	switch {
	case err == nil && info.IsDir():
		return false, &driver.Error{Kind: driver.Invalid, Err: errors.New("it is a folder"), Hint: "name a file"}
	case err == nil || s.readOnly || s.options.Table != "":
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

// protect gives the database's permissions to the file -shm, where there is one; it stays as long
// as the store is open. Not every build of SQLite creates it with them. Another user's process may
// have created it: then it is his.
func (s *Store) protect() error {
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

// unfinished returns the name of a companion file that holds commits, or "".
func (s *Store) unfinished() (string, error) {
	files, err := s.Files()
	if err != nil {
		return "", err
	}
	for _, f := range files[1:] {
		info, err := os.Stat(f)
		if err == nil && info.Size() > 0 && !strings.HasSuffix(f, "-shm") {
			return f, nil
		}
	}
	return "", nil
}

// checkCompanions refuses to read the database alone, as SQLite does under immutable, where it lacks
// commits.
func (s *Store) checkCompanions() error {
	if !s.options.Immutable {
		return nil
	}
	f, err := s.unfinished()
	if err != nil || f == "" {
		return err
	}
	return &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("%s holds commits: the database was not closed", f),
		Hint: "open it once where it may be written to, or leave immutable out"}
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
		if f, err := s.unfinished(); f != "" || err != nil {
			return err
		}
	}
	return &driver.Error{Kind: driver.Corrupt, Err: errors.New("the file ends within a page"), Hint: hints[driver.Corrupt]}
}

// heads are how files of other engines begin: at an offset stands a text.
var heads = []struct {
	engine string
	offset int
	text   string
}{
	{"bbolt", 16, "\xed\xda\x0c\xed"},
	{"bbolt", 16, "\xed\x0c\xda\xed"},
	{"duckdb", 8, "DUCK"},
	{"bunt", 0, "*2\r\n$"},
	{"bunt", 0, "*3\r\n$"},
}

// foreign tells what a file is that SQLite does not take for one of its own. SQLite: closing the
// file drops locks that this process has on it, but nobody has one on such a file.
func (s *Store) foreign(err error) error {
	head := make([]byte, 32)
	if f, ferr := os.Open(s.path); ferr == nil {
		n, _ := f.Read(head)
		head = head[:n]
		f.Close()
	}
	for _, h := range heads {
		if len(head) > h.offset && bytes.HasPrefix(head[h.offset:], []byte(h.text)) {
			return &driver.Error{Kind: driver.Invalid, Err: fmt.Errorf("a file of %s, not of SQLite", h.engine),
				Hint: "open it as " + h.engine + ":" + s.path}
		}
	}
	return &driver.Error{Kind: driver.Corrupt, Err: err,
		Hint: "name another file if it is one of another program; otherwise restore a backup"}
}
