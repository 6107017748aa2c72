package buntkv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/tidwall/buntdb"

	"github.com/assaydb/assay/kv/driver"
)

// openFile locks and opens the file, and reads it.
func (s *store) openFile(c driver.Config) error {
	file, err := s.claim(c)
	if err != nil {
		return err
	}
	if readOnly := c.Mode == driver.ReadOnly; readOnly || s.options.Frames {
		err = s.openFramed(file, readOnly)
	} else {
		err = s.openPlain()
	}
	if s.log == nil || err != nil {
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		if s.gate.db != nil {
			err = errors.Join(err, s.gate.db.Close()) // it has a goroutine
		}
		return errors.Join(err, s.lock.Unlock())
	}
	if s.log != nil {
		var ctx context.Context
		ctx, s.log.stop = context.WithCancel(context.Background())
		s.log.done.Go(func() { s.background(ctx) })
	}
	return nil
}

// openPlain refuses a file that was not closed by a store with frames: to go on behind a frame
// would be taken for something torn.
func (s *store) openPlain() (err error) {
	defer driver.Recovered(&err, corrupt) // as in load
	if s.gate.db, err = buntdb.Open(s.path); err != nil {
		return classify(err)
	}
	if err := s.gate.db.SetConfig(s.options.config()); err != nil {
		return err
	}
	return s.gate.db.View(refuseUnclosed)
}

// claim finds or makes the file, locks it, for BuntDB does not, and opens it. Who only reads makes
// no lock: where there is none, nobody has ever opened the file for writing.
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
	try := s.lock.TryLock
	if c.Mode == driver.ReadOnly {
		try = s.lock.TryRLock
	}
	switch locked, err := try(); {
	case c.Mode == driver.ReadOnly && errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !locked:
		return nil, &driver.Error{Kind: driver.Busy, Err: errors.New("the file is locked")}
	}
	if c.Mode != driver.ReadOnly {
		err = os.Remove(s.path + compacting)
	}
	var f *os.File
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(s.path, flags, 0)
	}
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
		return err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
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

// classify tells what BuntDB says of a file that it loads: if it is no error of the operating
// system it is about the content.
func classify(err error) error {
	var path *fs.PathError
	var errno syscall.Errno
	if err == nil || errors.As(err, &path) || errors.As(err, &errno) {
		return err
	}
	return corrupt(err)
}

func corrupt(cause any) error {
	return &driver.Error{Kind: driver.Corrupt, Err: fmt.Errorf("bunt: %v", cause),
		Hint: "restore a backup, or name another file"}
}
