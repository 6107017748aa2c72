package buntkv

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/assaydb/assay/kv/driver"
)

// claim finds or makes the file, locks it, for BuntDB does not, and opens it. Who only reads makes no
// lock: where there is none, nobody has ever opened the file for writing.
func (s *store) claim(c driver.Config) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE
	if c.Mode == driver.ReadOnly {
		flags = os.O_RDONLY
	} else if err := driver.MakeDirs(filepath.Dir(c.Path)); err != nil {
		return nil, err
	}
	err := recognise(c.Path, flags)
	if err == nil {
		s.path, err = filepath.EvalSymlinks(c.Path)
	}
	if err != nil {
		return nil, err
	}
	s.lock = flock.New(s.path+".lock", flock.SetFlag(flags))
	var locked bool
	if c.Mode == driver.ReadOnly {
		if locked, err = s.lock.TryRLock(); errors.Is(err, fs.ErrNotExist) {
			locked, err = true, nil
		}
	} else {
		locked, err = s.lock.TryLock()
	}
	switch {
	case err != nil:
		return nil, err
	case !locked:
		return nil, &driver.Error{Kind: driver.Busy, Err: errors.New("the file is locked")}
	}
	if c.Mode != driver.ReadOnly {
		if err := os.Remove(s.path + compacting); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, s.lock.Unlock())
		}
	}
	f, err := os.OpenFile(s.path, flags, 0)
	if err != nil {
		return nil, errors.Join(err, s.lock.Unlock())
	}
	return f, nil
}

// firstCommands are all that BuntDB writes at the start of a file, up to the first thing that
// varies.
var firstCommands = []string{
	"*3\r\n$3\r\nset\r\n$", "*5\r\n$3\r\nset\r\n$", "*2\r\n$3\r\ndel\r\n$", "*1\r\n$7\r\nflushdb\r\n"}

// recognise opens the file and returns an error if it is nothing that BuntDB has written, or begun
// to: BuntDB would empty it.
func recognise(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return notAFile(err)
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return notAFile(err)
	}
	// BuntDB skips zero bytes between commands; a power loss can leave some.
	text := strings.ToLower(strings.TrimLeft(string(head[:n]), "\x00"))
	for _, c := range firstCommands {
		if strings.HasPrefix(text, c) || strings.HasPrefix(c, text) {
			return nil
		}
	}
	return corrupt("the file does not begin as one of BuntDB's does")
}

func notAFile(err error) error {
	if errors.Is(err, syscall.EISDIR) {
		return &driver.Error{Kind: driver.Invalid, Err: err, Hint: "name a file, not a folder"}
	}
	return err
}
